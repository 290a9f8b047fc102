#pragma once

// Constexpr bindings of the command line: by name or position, in the module's kinds.

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/module.h"
#include "compiler/specialize/binding.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent::client {

// Sorted by parameter. InvalidArgument when there is no such constexpr or the text is none of its
// values; an enum's member may be given by its name.
absl::StatusOr<std::vector<Binding>> ParseBindings(const Module& module, const SourceMap& map,
                                                   const std::map<std::string, std::string>& flags);

std::vector<compile::v1::Binding> ToWire(const std::vector<Binding>& bindings);

}  // namespace intent::client
