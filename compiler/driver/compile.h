#pragma once

// The compiler's front door: everything a compile may depend on is in CompileInput, the same struct
// that the key is made of (style.md 16). Prepare verifies, specialises and canonicalises; Compile
// lowers a prepared module for its target. Both run inside a compile worker, one at a time per
// thread, on untrusted input.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"
#include "compiler/specialize/binding.h"
#include "compiler/target/target.h"

namespace intent {

namespace cuda {
class Nvrtc;
}

enum class Numerics : uint8_t { kSource, kRelaxedNormalization };
enum class Bounds : uint8_t { kGuard, kTrust };

// What a CUDA kernel may take at most; see intent.compile.v1.ResourceBudget.
struct ResourceBudget {
  std::optional<uint32_t> registers, local_bytes, shared_bytes;
};

struct CompileOptions {
  Numerics numerics = Numerics::kSource;
  bool online_reduction = true;
  Bounds bounds = Bounds::kGuard;
  int opt_level =
      2;  // 0: plain total lowering, scalar, materialised; 1: quick code generation; 2: everything
  std::vector<std::string> disabled_passes;  // sorted, unique; for tests and bug reports
  bool keep_source = false;  // also return the tile program and the generated source as payloads
  ResourceBudget budget;
  bool keep_ptx = false;  // CUDA: also return the PTX as a payload
};

struct CompileInput {
  std::string module;             // serialised KIR, at most Limits::module_bytes
  std::vector<Binding> bindings;  // sorted by parameter, unique
  Target target;                  // resolved: no "native"
  CompileOptions options;
};

// One named time of a compile, in nanoseconds.
struct StageTime {
  std::string stage;
  int64_t nanoseconds = 0;
};

struct Prepared {
  // Verified, specialised, canonical: no constexprs, no dead code. Ordinals are positions in it, as
  // equal canonical modules share one artifact; see OrdinalsInArtifacts.
  std::unique_ptr<Module> module;
  std::string canonical_kir;  // its deterministic bytes: what the canonical key hashes
  std::vector<StageTime> times;
  std::string dump;  // what each pass left, with CompileOptions::keep_source
};

// A finished compile. `manifest` is a serialised intent.compile.v1.Manifest (by ordinal, no
// author's text).
struct CompiledArtifact {
  std::string manifest;
  std::vector<std::pair<std::string, std::string>>
      payloads;  // "object", "shared_object", "kir", "report"; "cubin", "ptx"; "tile", "llvm",
                 // "cuda", "passes"
  std::vector<StageTime> times;
};

// Compilers that are not part of this program.
struct CompileTools {
  const cuda::Nvrtc* nvrtc = nullptr;  // null: nothing is compiled for CUDA
};

using Diagnostics = std::vector<Diagnostic>;

struct CompileLimits {
  size_t module_bytes = 16u << 20;
  size_t operations = 100'000;
};

// Diagnostics: the user's module is at fault. Status: the environment is (kCancelled,
// kResourceExhausted, kInternal).
absl::StatusOr<std::variant<Prepared, Diagnostics>> Prepare(const CompileInput& input,
                                                            const std::atomic<bool>* cancel);
absl::StatusOr<std::variant<CompiledArtifact, Diagnostics>> Compile(const CompileInput& input,
                                                                    Prepared prepared,
                                                                    const std::atomic<bool>* cancel,
                                                                    const CompileTools& tools = {});

// Identity of everything in this process that can change an artifact of its own: digests of our
// worker's own image, of libLLVM, and the format versions. Computed once; thread-safe.
const std::string& CompilerFingerprint();

// The same with the NVRTC that makes CUDA artifacts; those of other targets do not depend on it.
std::string CudaFingerprint(const cuda::Nvrtc& nvrtc);

}  // namespace intent
