#pragma once

// Walks a verified tile program and builds one LLVM function for the kernel and one for each
// parallel body. Internal to the CPU back end; one use per emitter.
//
// Every function returns an intent_status. Failures leave through the function's exit block, which
// gives back what it took from the arena. Entry points that foreign code calls (the kernel, tasks)
// are thin wrappers that set the floating-point environment and call the body.

#include <memory>

#include "absl/status/status.h"
#include "compiler/target/target.h"
#include "compiler/tile/tile_ir.h"

namespace llvm {
class Module;
}

namespace intent::cpu {

// kUnimplemented: an operation on a dtype that this back end does not serve.
absl::Status EmitModule(const tile::Program& program, const Target& target,
                        const std::string& entry_symbol, llvm::Module* module);

}  // namespace intent::cpu
