#pragma once

// The values of constexpr parameters and expressions under a set of bindings.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/specialize/binding.h"

namespace intent::specialize {

// Values by parameter; reports E0702 and E0703 and gives nullopt.
std::optional<std::vector<ConstexprValue>> BindParameters(const Module& module,
                                                          const std::vector<Binding>& bindings,
                                                          DiagnosticSink* sink);

// The value of every expression or, because an arm that is not chosen may hold anything, why it has
// none: only its use is an error (E0704).
using ConstexprResult = std::variant<ConstexprValue, std::string>;
std::vector<ConstexprResult> EvaluateNodes(const Module& module,
                                           const std::vector<ConstexprValue>& parameters);

}  // namespace intent::specialize
