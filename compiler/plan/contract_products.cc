#include "compiler/plan/contract_products.h"

#include <unordered_map>

namespace intent::plan {

bool ContractsProducts(const Function& function, const Op& reduce) {
  if (reduce.attr<ReduceAttr>().combine != CombineKind::kAdd) return false;
  const Op* start = function.value(reduce.operands[1]).op;
  if (start != nullptr && start->kind == OpKind::kFull) {
    start = function.value(start->operands[0]).op;
  }
  if (start == nullptr || start->kind != OpKind::kConstant ||
      start->attr<ConstantAttr>().value.bits != 0) {
    return false;
  }
  std::unordered_map<ValueId, int> uses;
  ForEachOp(function.body, [&](const Op& op) {
    for (ValueId operand : op.operands) ++uses[operand];
  });
  for (ValueId value = reduce.operands[0]; uses[value] == 1;) {
    const Op* member = function.value(value).op;
    if (member == nullptr) return false;
    switch (member->kind) {
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kBroadcast:
        value = member->operands[0];
        break;
      case OpKind::kBinary:
        // Casts in between give members that are no products.
        return member->attr<BinaryAttr>().kind == BinaryKind::kMul;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace intent::plan
