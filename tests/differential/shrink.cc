#include "tests/differential/shrink.h"

#include <algorithm>
#include <vector>

#include "compiler/numerics/scalar.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent::testing {
namespace {

// Where an operation stands.
struct Place {
  Block* block;
  size_t position;
};

std::vector<Place> Places(Function* function) {
  std::vector<Place> places;
  std::vector<Block*> open = {&function->body};
  while (!open.empty()) {
    Block* block = open.back();
    open.pop_back();
    for (size_t i = 0; i < block->ops.size(); ++i) {
      if (InfoOf(block->ops[i]->kind).effect == Effect::kTerminator) continue;
      places.push_back({block, i});
      for (auto& region : block->ops[i]->regions) open.push_back(region.get());
    }
  }
  return places;
}

void ReplaceUses(Block* block, ValueId from, ValueId to) {
  for (Op* op : block->ops) {
    std::replace(op->operands.begin(), op->operands.end(), from, to);
    for (auto& region : op->regions) ReplaceUses(region.get(), from, to);
  }
}

// Removes the operation; what used its result uses a zero, or an operand of the same type.
bool Simplify(Function* function, const Place& place, int way) {
  Op* op = place.block->ops[place.position];
  const Type type = function->type(op->result);
  auto& ops = place.block->ops;
  const auto at = ops.begin() + static_cast<ptrdiff_t>(place.position);
  if (way == 0) {
    if (!type.IsNone()) return false;
    ops.erase(at);
    return true;
  }
  if (way == 1) {
    for (ValueId operand : op->operands) {
      if (!(function->type(operand) == type) || type.IsNone()) continue;
      const ValueId result = op->result;
      ops.erase(at);
      ReplaceUses(&function->body, result, operand);
      return true;
    }
    return false;
  }
  if (!type.IsElementwise() || op->kind == OpKind::kConstant || op->kind == OpKind::kFull) {
    return false;
  }
  const ValueId result = op->result;
  Op* zero = function->NewOp(OpKind::kConstant, Type::Scalar(type.dtype()), {},
                             ConstantAttr{numerics::MakeZero(type.dtype())});
  ValueId replacement = zero->result;
  *at = zero;
  if (type.IsTensor()) {
    Op* full = function->NewOp(OpKind::kFull, type, {zero->result});
    ops.insert(ops.begin() + static_cast<ptrdiff_t>(place.position) + 1, full);
    replacement = full->result;
  }
  ReplaceUses(&function->body, result, replacement);
  return true;
}

}  // namespace

std::unique_ptr<Module> Shrink(const Module& module,
                               const std::function<bool(const Module&)>& fails) {
  std::unique_ptr<Module> best = Clone(module);
  for (bool progress = true; progress;) {
    progress = false;
    for (int way = 0; way < 3; ++way) {
      for (size_t i = Places(&best->kernel_function()).size(); i-- > 0;) {
        std::unique_ptr<Module> candidate = Clone(*best);
        Function* function = &candidate->kernel_function();
        const std::vector<Place> places = Places(function);
        if (i >= places.size() || !Simplify(function, places[i], way)) continue;
        if (!Verify(*candidate).empty()) continue;
        Canonicalize(candidate.get());
        if (!Verify(*candidate).empty() || !fails(*candidate)) continue;
        best = std::move(candidate);
        progress = true;
      }
    }
  }
  return best;
}

}  // namespace intent::testing
