#pragma once

// The order in which a module is written down, on the wire and as text: it depends on the program
// only, not on the order in which its parts were made or on their numbers in memory.

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/ir/module.h"

namespace intent {

// A pre-order walk over a function's body.
struct FunctionOrder {
  std::vector<const Op*> ops;
  std::vector<const Block*> blocks;  // the body first, each before its operations
  std::vector<ValueId> values;       // block arguments on entry, results at their operation
  std::vector<uint32_t> number;      // by value id: position in `values`, kNoValue if not there
};
FunctionOrder OrderOf(const Function& function);

// Constexpr nodes in the order of their first use by operations, operands before users, equal ones
// merged, unused ones left out. Fields that a node's kind does not use are zero.
struct ConstexprOrder {
  std::vector<ConstexprNode> nodes;  // operands refer to this list
  std::vector<ConstexprId> number;   // by id in the module; kNoConstexpr if unused
  std::vector<bool> named;           // by position in `nodes`: used by an operation's attribute
};
// `functions`: in the order in which they are written.
ConstexprOrder OrderConstexprs(const Module& module,
                               const std::vector<const FunctionOrder*>& functions);

// Operands that a constexpr operation takes.
int ConstexprArity(ConstexprOp op);

// Calls `visit` for each constexpr reference in `attributes`, in the order of their fields.
void ForEachConstexpr(const Attributes& attributes, const std::function<void(ConstexprId)>& visit);

// `type` with SSA values in extents replaced by their numbers.
Type Renumbered(const Type& type, const std::vector<uint32_t>& number);

// Alias groups numbered by their first use, by parameter; -1: none.
std::vector<int32_t> AliasGroups(const Function& function);

}  // namespace intent
