#pragma once

// Artifacts of the interpreter target: canonical KIR, run by compiler/interp.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "intent/compile/v1/compile.pb.h"
#include "server/worker/executable.h"

namespace intent {

absl::StatusOr<std::unique_ptr<Executable>> MakeInterpreted(compile::v1::Manifest manifest,
                                                            const std::string& kir);

}  // namespace intent
