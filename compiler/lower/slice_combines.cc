// Reductions and scans whose combine is more than arithmetic on scalars: it sees whole retained
// slices, or has structured operations in it. Every member is combined as a value of the state's
// schema; nothing runs on lanes across members.

#include <algorithm>

#include "compiler/lower/elementwise_combine.h"
#include "compiler/lower/lowerer.h"

namespace intent::lower {

bool Lowerer::LeavesAgree(const Type& type) const {
  const std::vector<Type> leaves = FlatTypes(type);
  return std::all_of(leaves.begin(), leaves.end(),
                     [&](const Type& leaf) { return leaf.shape() == leaves[0].shape(); });
}

bool Lowerer::CombinesSlices(const Op& op) const {
  if (op.regions.empty()) return false;
  const Block& combine = *op.regions[0];
  const std::vector<Type> state = FlatTypes(TypeOf(combine.arguments[0]));
  if (std::none_of(state.begin(), state.end(), [](const Type& leaf) { return leaf.IsTensor(); }))
    return false;
  const bool scalar_captures =
      std::all_of(op.operands.begin() + 2, op.operands.end(),
                  [&](ValueId capture) { return TypeOf(capture).IsScalar(); });
  return !scalar_captures || !LeavesAgree(TypeOf(op.operands[0])) ||
         !IsElementwiseCombine(function_, combine);
}

// The components of one member: its coordinates along the folded axes are given.
Lowerer::Leaves Lowerer::MemberAt(const Leaves& leaves, const std::vector<bool>& is_folded,
                                  const std::vector<Coord>& member) {
  Leaves result;
  for (const Binding& leaf : leaves) {
    std::vector<WindowAxis> axes;
    std::vector<Id> extents;
    std::vector<Coord> coords;
    size_t folded = 0;
    for (int axis = 0; axis < leaf.tensor->rank(); ++axis) {
      if (axis < static_cast<int>(is_folded.size()) && is_folded[axis]) {
        coords.push_back(member[folded++]);
        axes.push_back({-1, coords.back().base});
      } else {
        axes.push_back({static_cast<int>(extents.size()), b().Index(0)});
        extents.push_back(leaf.tensor->extents[axis]);
      }
    }
    result.push_back(extents.empty() ? Binding::Scalar(Eval(leaf, coords, {}))
                                     : WindowOf(leaf, axes, std::move(extents)));
  }
  return result;
}

void Lowerer::ReduceSlices(const Op& op) {
  std::vector<bool> is_folded;
  for (const StaticInt& axis : op.attr<ReduceAttr>().axes) {
    is_folded.resize(axis.value + 1, false);
    is_folded[axis.value] = true;
  }
  Leaves leaves;
  Of(op.operands[0]).Leaves(&leaves);
  std::vector<Id> folded;
  for (size_t axis = 0; axis < is_folded.size(); ++axis) {
    if (is_folded[axis]) folded.push_back(leaves[0].tensor->extents[axis]);
  }
  Id work = b().Index(0);
  for (const Binding& leaf : leaves) work = b().Add(work, Count(leaf.tensor->extents));
  const Id count = Product(folded);
  work = b().FloorDiv(work, b().Max(count, b().Index(1)));
  OrderedFold fold;
  fold.schema = TypeOf(op.operands[1]);
  Of(op.operands[1]).Leaves(&fold.identity);
  fold.item = [&](Id at) { return MemberAt(leaves, is_folded, Decode(at, folded)); };
  std::vector<Binding> captures;
  for (size_t i = 2; i < op.operands.size(); ++i) captures.push_back(Of(op.operands[i]));
  fold.combine = CombineBy(*op.regions[0], fold.schema, std::move(captures));
  Report(op, "whole slices combined as a tree");
  const Leaves total = FoldOrdered(fold, count, work);
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), total, &next));
}

std::vector<Id> Lowerer::ReduceMembers(const Reduction& reduction,
                                       const std::vector<Coord>& retained) {
  const Combine& combine = reduction.combine;
  const auto scalars = [](const std::vector<Id>& ids) {
    Leaves leaves;
    for (Id id : ids) leaves.push_back(Binding::Scalar(id));
    return leaves;
  };
  OrderedFold fold;
  fold.schema = TypeOf(combine.region->arguments[0]);
  fold.identity = scalars(reduction.identity(retained, {}));
  fold.item = [&](Id at) {
    return scalars(reduction.element(retained, Decode(at, reduction.reduced), {}));
  };
  fold.combine = CombineBy(*combine.region, fold.schema, combine.captures);
  const Id count = Product(reduction.reduced);
  const Leaves total = reduction.retained.empty() ? FoldOrdered(fold, count, b().Index(1))
                                                  : FoldRange(fold, b().Index(0), count);
  std::vector<Id> ids;
  for (const Binding& leaf : total) ids.push_back(leaf.scalar);
  return ids;
}

void Lowerer::ScanSlices(const Op& op) {
  const ScanAttr& attr = op.attr<ScanAttr>();
  const size_t axis = static_cast<size_t>(attr.axis.value);
  std::vector<bool> is_folded(axis + 1, false);
  is_folded[axis] = true;
  Leaves leaves, identity;
  Of(op.operands[0]).Leaves(&leaves);
  Of(op.operands[1]).Leaves(&identity);
  std::vector<TensorPtr> outputs;
  std::vector<Binding> results;
  for (const Binding& leaf : leaves) {
    outputs.push_back(AllocateDense(leaf.tensor->dtype, leaf.tensor->extents));
    results.push_back(Binding::OfTensor(outputs.back()));
  }
  std::vector<Binding> captures;
  for (size_t i = 2; i < op.operands.size(); ++i) captures.push_back(Of(op.operands[i]));
  const Block& region = *op.regions[0];
  const Type& schema = TypeOf(op.operands[1]);
  const CombineBody combine = CombineBy(region, schema, std::move(captures));
  const std::vector<Slot> slots = MakeSlots(FlatTypes(schema), /*memories=*/2);
  const Id count = leaves[0].tensor->extents[axis];
  b().For(b().Index(0), count, b().Index(1), EnterSlots(slots, identity),
          [&](const std::vector<Id>& arguments) {
            b().Poll();
            const Id at = attr.reverse.value != 0
                              ? b().Sub(b().Sub(count, b().Index(1)), arguments[0])
                              : arguments[0];
            const std::vector<Id> ids(arguments.begin() + 1, arguments.end());
            const Leaves before = SlotLeaves(slots, ids);
            combine(before, MemberAt(leaves, is_folded, {CoordOf(at)}));
            const std::vector<Id> next = NextSlots(slots, region, ids);
            const Leaves shown = attr.inclusive.value != 0 ? SlotLeaves(slots, next) : before;
            for (size_t i = 0; i < outputs.size(); ++i) {
              std::vector<Id> strides = outputs[i]->strides;
              const Id base = b().MemOffset(outputs[i]->base, b().Mul(at, strides[axis]));
              strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
              StoreStage(shown[i], slots[i].extents, base, strides, {}, true);
            }
            return next;
          });
  Report(op, "whole slices combined one after another");
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), results, &next));
}

}  // namespace intent::lower
