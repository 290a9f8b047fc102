// A contraction whose result one store takes, by elementwise operations at most: blocks store their
// sums where they go, without scratch memory and a pass over it.

#include <algorithm>
#include <set>

#include "compiler/diag/check.h"
#include "compiler/lower/access.h"
#include "compiler/lower/packed_contract.h"
#include "compiler/plan/arithmetic.h"

namespace intent::lower {
namespace {

bool IsStore(const Op& op) {
  return op.kind == OpKind::kViewStore || op.kind == OpKind::kBufferStore;
}

size_t Uses(const Op& op, const std::set<ValueId>& values) {
  size_t uses = 0;
  for (ValueId operand : op.operands) uses += values.contains(operand) ? 1 : 0;
  return uses;
}

// Some element is read at a place that must be looked up, or may not exist.
bool ReadsIndirectly(const Binding& value, std::set<uint64_t>* seen) {
  if (value.kind != Binding::Kind::kTensor) return false;
  const Tensor& tensor = *value.tensor;
  if (tensor.strided || !seen->insert(tensor.serial).second) return false;
  if (tensor.computed != nullptr) return true;
  if (tensor.op != nullptr &&
      (tensor.op->kind == OpKind::kGather || tensor.op->kind == OpKind::kViewLoad ||
       tensor.op->kind == OpKind::kBufferLoad)) {
    return true;
  }
  for (const Binding& operand : tensor.operands) {
    if (ReadsIndirectly(operand, seen)) return true;
  }
  return false;
}

}  // namespace

// An operation without effects that emits no stage, so that it may come before the contraction.
bool Lowerer::IsLazyOrScalar(const Op& op) const {
  if (op.kind == OpKind::kViewLoad || op.kind == OpKind::kBufferLoad || op.kind == OpKind::kDim ||
      plan::IsLazy(function_, op)) {
    return true;
  }
  if (InfoOf(op.kind).effect != Effect::kPure || !op.regions.empty()) return false;
  for (ValueId operand : op.operands) {
    if (TypeOf(operand).IsTensor()) return false;
  }
  return !ResultType(op).IsTensor();
}

// A window of a view or buffer, by its terms.
bool Lowerer::StoresWindow(const Op& store) const {
  const IndexAttr& attr = store.attr<IndexAttr>();
  if (attr.has_valid) return false;
  for (size_t i = 2; i < store.operands.size(); ++i) {
    if (TypeOf(store.operands[i]).IsTensor()) return false;
  }
  return true;
}

std::optional<size_t> Lowerer::StoreAfter(const Op& op) const {
  if (block_ == nullptr || position_ >= block_->ops.size() || block_->ops[position_] != &op)
    return std::nullopt;
  std::set<ValueId> derived{op.result};
  size_t uses = 0;
  for (size_t at = position_ + 1; at < block_->ops.size(); ++at) {
    const Op& next = *block_->ops[at];
    const size_t taken = Uses(next, derived);
    uses += taken;
    if (IsStore(next)) {
      if (taken != 1 || !derived.contains(next.operands[1]) || !StoresWindow(next))
        return std::nullopt;
      size_t all = 0;
      ForEachOp(function_.body, [&](const Op& user) { all += Uses(user, derived); });
      return uses == all ? std::optional<size_t>(at) : std::nullopt;
    }
    if (taken == 0) {
      if (!IsLazyOrScalar(next)) return std::nullopt;
    } else if (plan::IsElementwise(next) && !plan_.materialize.contains(next.result)) {
      derived.insert(next.result);
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// One copy of what the stores may change and of what lacks lines.
void Lowerer::CopySides(PackedProblem* problem,
                        const std::vector<std::pair<TensorPtr, Id>>& hazards) {
  struct Reader {
    PackedSide* side;
    Id uses;
    SideLeaf leaf;
  };
  std::vector<Reader> readers;
  for (const auto& [side, uses] :
       {std::pair(&problem->left, problem->columns), std::pair(&problem->right, problem->rows)}) {
    readers.push_back({side, uses, LeafOf(*side)});
  }
  for (const auto& [leaf, changes] : hazards) {
    Id condition = changes;
    bool read = false;
    for (const Reader& reader : readers) {
      if (reader.leaf.tensor != leaf) continue;
      condition = b().Or(condition, LacksLines(reader.leaf, reader.uses));
      read = true;
    }
    if (!read) {
      Snapshot(leaf, condition);
      continue;
    }
    Lines lines = CopyLines(*leaf, leaf->dtype, condition);
    leaf->base = lines.base;
    leaf->strides = std::move(lines.strides);
    leaf->serial = ++serials_;
  }
  for (const Reader& reader : readers) {
    const bool done = std::any_of(hazards.begin(), hazards.end(), [&](const auto& hazard) {
      return hazard.first == reader.leaf.tensor;
    });
    if (!done) GiveLines(reader.side, reader.uses);
  }
}

bool Lowerer::ContractIntoStore(const Op& op) {
  const Type& type = ResultType(op);
  const Binding lhs = Of(op.operands[0]), rhs = Of(op.operands[1]);
  const ContractAttr& attr = op.attr<ContractAttr>();
  if (options_.materialize_all || !IsUnitContract(lhs, rhs, attr, type.dtype())) return false;
  const std::optional<size_t> at = StoreAfter(op);
  if (!at) return false;
  // What follows is computed from a sum where that is at hand.
  const auto sum = std::make_shared<Id>(kNoId);
  const TensorPtr sums = NewComputed(
      type.dtype(), ExtentIds(type.shape()), {lhs, rhs},
      {std::vector<int>(lhs.tensor->rank(), -1), std::vector<int>(rhs.tensor->rank(), -1)},
      [sum](const std::vector<Coord>&, const Context&) { return *sum; });
  PackedProblem problem = PlaceUnitContract(lhs, rhs, attr, sums);
  // All of both sides may be read before and after each store.
  sums->operands = {problem.left.value, problem.right.value};
  Bind(op.result, Binding::OfTensor(sums));
  while (++position_ < *at) {
    const Op& next = *block_->ops[position_];
    b().SetOrdinal(next.ordinal);
    if (plan::IsElementwise(next)) {
      for (ValueId operand : next.operands) {
        // Its guards have no place among the sums.
        std::set<uint64_t> seen{sums->serial};
        if (ReadsIndirectly(Of(operand), &seen))
          Bind(operand, Binding::OfTensor(EnsureDense(Of(operand))));
      }
    }
    LowerOp(next);
  }
  const Op& store = *block_->ops[position_];
  b().SetOrdinal(store.ordinal);
  MaterializePending(store);
  const TensorPtr target = AffineWindow(BindAccess(store, store.attr<IndexAttr>(), 2));
  INTENT_CHECK(target != nullptr) << "what stores a window has one";
  const Binding value = Of(store.operands[1]);
  CopySides(&problem, Hazards(value, *target));
  Report(store, "where the sums are");
  b().SetOrdinal(op.ordinal);
  RunUnitContract(op, problem, [&](const std::vector<Coord>& coords, Id found) {
    *sum = found;
    StoreElement(*target, coords, Eval(value, coords, {}));
  });
  return true;
}

}  // namespace intent::lower
