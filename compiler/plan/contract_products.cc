#include "compiler/plan/contract_products.h"

#include <algorithm>
#include <vector>

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
  // The members back to the multiplication; casts in between give members that are no products.
  std::vector<ValueId> way = {reduce.operands[0]};
  for (bool product = false; !product;) {
    const Op* member = function.value(way.back()).op;
    if (member == nullptr) return false;
    switch (member->kind) {
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kBroadcast:
        way.push_back(member->operands[0]);
        break;
      case OpKind::kBinary:
        if (member->attr<BinaryAttr>().kind != BinaryKind::kMul) return false;
        product = true;
        break;
      default:
        return false;
    }
  }
  size_t uses = 0;
  ForEachOp(function.body, [&](const Op& op) {
    for (ValueId operand : op.operands) uses += std::count(way.begin(), way.end(), operand);
  });
  return uses == way.size();
}

}  // namespace intent::plan
