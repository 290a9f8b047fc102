#pragma once

// Runs the interpreter on what Bind has made of a call, so that it is called like compiled code.
// Thread-safe for one module.

#include <atomic>
#include <optional>

#include "compiler/ir/module.h"
#include "compiler/runtime/bind_arguments.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent {

// `manifest` describes `module`, which is specialised; its target says whether the run is checked.
// `call` was bound to it. Nothing: it ran to its end.
std::optional<execute::v1::RunError> RunInterpreted(const Module& module,
                                                    const compile::v1::Manifest& manifest,
                                                    const BoundCall& call,
                                                    const std::atomic<bool>* cancel);

}  // namespace intent
