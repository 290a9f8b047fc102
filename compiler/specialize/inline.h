#pragma once

#include <memory>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/specialize/bind.h"

namespace intent::specialize {

// The module's kernel as a function of its own: calls inlined, constexpr arms chosen, constexpr
// references replaced, symbols of helpers bound by their arguments. Null if anything was reported.
std::unique_ptr<Function> InlineKernel(const Module& module,
                                       const std::vector<ConstexprValue>& parameters,
                                       const std::vector<ConstexprResult>& nodes,
                                       DiagnosticSink* sink);

}  // namespace intent::specialize
