#include "compiler/cpu/llvm_status.h"

#include <llvm/Support/Error.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

namespace intent::cpu {

absl::Status ToStatus(absl::StatusCode code, llvm::Error error) {
  if (!error) return absl::OkStatus();
  return absl::Status(code, llvm::toString(std::move(error)));
}

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

}  // namespace intent::cpu
