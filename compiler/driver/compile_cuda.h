#pragma once

// The second half of a compile for a CUDA target: a prepared module becomes CUDA C++, NVRTC makes a
// cubin of it, and the manifest says how that is launched and what it takes.

#include <atomic>
#include <variant>

#include "absl/status/statusor.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/pass_runner.h"

namespace intent {

// As Compile. Without an NVRTC that knows the architecture the target is not known (E1002).
absl::StatusOr<std::variant<CompiledArtifact, Diagnostics>> CompileForCuda(
    const CompileInput& input, Prepared prepared, const std::atomic<bool>* cancel,
    const CompileTools& tools, PassRunner& passes);

}  // namespace intent
