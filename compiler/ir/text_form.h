#pragma once

// Which form an operation takes in textual KIR: shared by printer and parser. Thread-safe.

#include <span>
#include <string_view>

#include "compiler/ir/module.h"

namespace intent {

// The index relation among an operation's attributes, or null.
const IndexAttr* IndexOf(const Op& op);

// Operands before those of the index: the resource, then what is stored, expected and desired.
size_t LeadingOperands(OpKind kind);

// Keywords of the regions of structured operations, in order; empty for others.
std::span<const std::string_view> RegionKeywords(OpKind kind);

// Whether operands, regions and block arguments fit the form that the operation's kind has in
// parse.h; if not, it is written as `generic`.
bool FitsForm(const Function& function, const Op& op);

}  // namespace intent
