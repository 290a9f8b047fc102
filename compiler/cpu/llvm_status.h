#pragma once

// Foreign errors are translated on the line they enter.

#include "absl/status/status.h"

namespace llvm {
class Error;
}

namespace intent::cpu {

// Consumes the error. OK for success.
absl::Status ToStatus(absl::StatusCode code, llvm::Error error);

// LLVM's targets, registered once per process. Thread-safe.
void InitializeLlvm();

}  // namespace intent::cpu
