#pragma once

// Targets by names of our own table (decisions.md B.20): never raw strings to LLVM.
//   "interp"                                     the interpreter
//   "interp+check", "interp+check+laws"          its checked mode, and sampled laws (docs/checked-mode.md)
//   "x86-64-v2" | "x86-64-v3" | "x86-64-v4"      an object for that level
//   "native"                                     resolved by whoever executes to one of these
//   "x86-64-v4+avx512bf16+avx512fp16" ...        a level with extra features of our table, sorted
//   "aarch64" | "aarch64+lse"                    Armv8.0 with NEON; with atomic instructions
//   "sm_80" ... "sm_120", "sm_90a"               CUDA
// A Target is a value: parse, print, compare.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace intent {

enum class TargetKind : uint8_t { kInterpreter, kCpu, kCuda };

struct Target {
  TargetKind kind = TargetKind::kCpu;
  std::string base;                   // "interp", "x86-64-v3", "aarch64", "sm_90a"
  std::vector<std::string> features;  // sorted, unique: beyond the base
  bool operator==(const Target&) const = default;

  std::string ToString() const;  // round-trips through ParseTarget
  bool Has(std::string_view feature) const;
};

// Refuses unknown names with kInvalidArgument naming the table. "native" resolves to HostTarget().
absl::StatusOr<Target> ParseTarget(std::string_view text);

// The names of all CUDA targets of the table.
std::vector<std::string> CudaTargets();

// The host's own CPU target: the highest level it has and the extra features of our table. Detected
// once.
const Target& HostTarget();

// Empty if code for `target` may run on this host; otherwise what is missing.
std::string MissingOnHost(const Target& target);

// For the LLVM back end: triple, cpu name and feature string ("+avx2,+fma,...").
struct LlvmTargetNames {
  std::string triple, cpu, features;
};
LlvmTargetNames LlvmNames(const Target& target);
// Widest vector the CPU's emitter should use, in bits, and whether hardware FMA and F16C exist.
struct CpuFacts {
  int vector_bits = 128;
  int vector_registers = 16;
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;
  bool aarch64 = false;
};
CpuFacts FactsOf(const Target& target);

}  // namespace intent
