#pragma once

// The extents and types of one function from the wire. Part of the codec. Thread-safe.

#include <optional>
#include <vector>

#include "compiler/ir/codec.h"
#include "intent/kir/v1/kir.pb.h"

namespace intent::wire {

// Shared by all functions of a module: what types and extents may still cost.
struct TypeBudget {
  size_t extent_work;
  size_t type_entries;
};

struct TypeContext {
  const std::vector<ValueId>& values;  // by wire number
  size_t symbols;
  size_t constexprs;  // parameters of the module
};

// Fills `types` with the function's table, extents in normal form, values by their ids in memory.
std::optional<Diagnostic> ReadTypes(const intent::kir::v1::Function& function,
                                    const TypeContext& context, const DecodeLimits& limits,
                                    TypeBudget* budget, std::vector<Type>* types);

}  // namespace intent::wire
