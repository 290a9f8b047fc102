#pragma once

// The optimiser's passes and code generation for one module.

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace intent::cpu {

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target,
                                                                       int opt_level);

// Our short pipeline, or LLVM's default O2. After a cancel it returns early with kCancelled.
absl::Status Optimize(llvm::Module* module, llvm::TargetMachine* machine, int opt_level,
                      bool default_pipeline, const std::atomic<bool>* cancel);

absl::StatusOr<std::string> GenerateObject(llvm::Module* module, llvm::TargetMachine* machine);

}  // namespace intent::cpu
