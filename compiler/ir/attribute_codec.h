#pragma once

// Attributes of one operation to and from the wire. Part of the codec. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "intent/kir/v1/kir.pb.h"

namespace intent::wire {

// How references in attributes are numbered on the wire, by id in the module.
struct WriteContext {
  const std::vector<ConstexprId>& constexprs;
  const std::vector<uint32_t>& functions;
};
void WriteAttributes(const Op& op, const WriteContext& context,
                     intent::kir::v1::Operation* operation);

struct ReadContext {
  size_t constexpr_nodes;
  size_t functions;
  size_t symbols;    // of the operation's function
  size_t list_size;  // most entries of a list
};
// Nothing, with `error` set, if the operation does not carry the attributes of `kind` or they refer
// to something that is not there.
std::optional<Attributes> ReadAttributes(const intent::kir::v1::Operation& operation, OpKind kind,
                                         const ReadContext& context, Diagnostic* error);

}  // namespace intent::wire
