#pragma once

// The CPU back end: a tile program becomes a relocatable ELF object whose entry has the C ABI of
// compiler/driver/intent_call.h. Arithmetic follows the seed bit for bit: no fast-math flag is ever
// set, a multiply and an add fuse only where the program says kFma, subnormals live, integers never
// trap. The object imports nothing beyond the allowlist of imports.h.
//
// Thread-safe; every call has an LLVM context of its own. The program must have passed VerifyTile.

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "compiler/tile/tile_ir.h"

namespace intent::cpu {

struct EmitOptions {
  int opt_level = 2;              // 0: quick code; 1: cheap passes, quick code; 2: everything
  bool keep_ir = false;           // also return the optimised LLVM IR as text
  bool default_pipeline = false;  // LLVM's own O2 instead of ours: for measurements
  const std::atomic<bool>* cancel = nullptr;  // asked between stages and passes
};

struct CpuObject {
  std::string object;
  std::string llvm_ir;  // if asked for
  std::string entry_symbol = "intent_kernel";
  int64_t ir_nanoseconds = 0;       // building LLVM IR
  int64_t passes_nanoseconds = 0;   // optimising it
  int64_t codegen_nanoseconds = 0;  // selecting and encoding instructions
};

// kUnimplemented names an operation on a dtype that this back end does not serve; kCancelled;
// kInternal: LLVM refused what we built, or the program was lowered for units of threads.
absl::StatusOr<CpuObject> EmitObject(const tile::Program& program, const Target& target,
                                     const EmitOptions& options);

}  // namespace intent::cpu
