// Scans: every prefix in order. Lanes run across independent prefixes where the scanned axis is not
// the last; otherwise the prefix is a scalar chain. Combines of floats keep three levels of partial
// results, so that a long prefix passes through far fewer roundings than it has members.

#include <algorithm>

#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

constexpr int64_t kLevel = 64;   // members of a block, and blocks of a superblock
constexpr int kAhead = 4;        // members that a unit's lanes across prefixes read at once
constexpr size_t kAheadOf = 16;  // tensors in an expression that is written down so often

}  // namespace

void Lowerer::LowerScan(const Op& op) {
  if (CombinesSlices(op)) {
    ScanSlices(op);
    return;
  }
  Leaves leaves, identities, results;
  Of(op.operands[0]).Leaves(&leaves);
  Of(op.operands[1]).Leaves(&identities);
  if (LeavesAgree(TypeOf(op.operands[0]))) {
    results = ScanLeaves(op, leaves, identities);
  } else {
    // Components of different shapes under a builtin combine have nothing to do with one another.
    for (size_t i = 0; i < leaves.size(); ++i)
      results.push_back(ScanLeaves(op, {leaves[i]}, {identities[i]})[0]);
  }
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), results, &next));
}

Lowerer::Leaves Lowerer::ScanLeaves(const Op& op, const Leaves& leaves, const Leaves& identities) {
  const ScanAttr& attr = op.attr<ScanAttr>();
  std::vector<DType> dtypes;
  for (const Binding& leaf : leaves) dtypes.push_back(leaf.tensor->dtype);
  const Combine combine = MakeCombine(op, attr.combine, 2, dtypes);

  const std::vector<Id>& extents = leaves[0].tensor->extents;
  const int rank = static_cast<int>(extents.size());
  const int axis = static_cast<int>(attr.axis.value);
  const bool inclusive = attr.inclusive.value != 0, reverse = attr.reverse.value != 0;
  const bool across = axis != rank - 1 && combine.elementwise;
  const bool along = axis == rank - 1 && combine.elementwise && OnUnits();
  std::vector<DType> all = dtypes;
  int budget = 64;
  for (const Binding& leaf : leaves) CollectDTypes(leaf, &all, &budget);
  const int32_t width = across || along ? LanesFor(all, extents.back()) : 1;
  const int32_t lanes = across ? width : 1;
  std::vector<Id> watch;
  if (width > 1) {
    for (const Binding& leaf : leaves) WatchStrides(leaf, StageCoords(rank, rank - 1), &watch);
  }
  std::vector<TensorPtr> outputs;
  Leaves results;
  for (DType dtype : dtypes) {
    outputs.push_back(AllocateDense(dtype, extents));
    results.push_back(Binding::OfTensor(outputs.back()));
  }
  const bool layered = combine.rounds && combine.elementwise;

  std::vector<Id> others;
  std::vector<int> place(rank, -1);
  for (int i = 0; i < rank; ++i) {
    if (i == axis) continue;
    place[i] = static_cast<int>(others.size());
    others.push_back(extents[i]);
  }
  const auto prefix = [&](const std::vector<Coord>& fixed, const Context& context) {
    std::vector<Coord> coords(rank);
    std::vector<Coord> retained;
    for (int i = 0; i < rank; ++i) {
      if (i == axis) continue;
      coords[i] = fixed[place[i]];
      retained.push_back(coords[i]);
    }
    std::vector<Id> identity;
    for (const Binding& leaf : identities) {
      identity.push_back(b().Splat(Eval(leaf, retained, context), context.lanes));
    }
    if (along && width > 1) {
      std::vector<Id> tiles;
      for (Id id : identity) tiles.push_back(b().Splat(id, width));
      ScanRowOnUnit({combine, leaves, outputs, watch, width, inclusive, reverse, std::move(tiles)},
                    retained, identity);
      return;
    }
    const auto go_to = [&](Id position) {
      coords[axis] =
          CoordOf(reverse ? b().Sub(b().Sub(extents[axis], b().Index(1)), position) : position);
    };
    const auto member_at = [&](Id position) {
      go_to(position);
      std::vector<Id> element;
      for (const Binding& leaf : leaves) {
        const Id member = Eval(leaf, coords, context);
        element.push_back(combine.kind == CombineKind::kAdd ? b().RoundedProduct(member) : member);
      }
      return element;
    };
    // One member: its prefix is `before` (exclusive) or `before` with it (inclusive).
    const auto step = [&](Id position, const std::vector<Id>& element,
                          const std::vector<Id>& before, const std::vector<Id>& local) {
      go_to(position);
      std::vector<Id> next = CombineLeaves(combine, local, element);
      for (Id& id : next) id = b().Splat(id, context.lanes);
      const std::vector<Id>& own = inclusive ? next : local;
      const std::vector<Id> result = before.empty() ? own : CombineLeaves(combine, before, own);
      for (size_t leaf = 0; leaf < outputs.size(); ++leaf) {
        Id offset = b().Index(0);
        for (int i = 0; i < rank; ++i) {
          offset = b().Add(offset, b().Mul(coords[i].base, outputs[leaf]->strides[i]));
        }
        b().Store(outputs[leaf]->base, offset, b().Splat(result[leaf], context.lanes),
                  outputs[leaf]->strides.back(), context.mask);
      }
      return next;
    };
    // `count` members are read before the first of their prefixes is stored, in memory that nothing
    // reads yet.
    const auto groups = [&](Id low, Id high, int count, const std::vector<Id>& before,
                            const std::vector<Id>& start) {
      return b().For(low, high, b().Index(count), start, [&](const std::vector<Id>& carried) {
        std::vector<Id> positions, local(carried.begin() + 1, carried.end());
        std::vector<std::vector<Id>> members;
        for (int i = 0; i < count; ++i) {
          positions.push_back(b().Add(carried[0], b().Index(i)));
          members.push_back(member_at(positions.back()));
        }
        for (int i = 0; i < count; ++i) local = step(positions[i], members[i], before, local);
        return local;
      });
    };
    const auto members = [&](Id low, Id high, const std::vector<Id>& before) {
      if (!OnUnits() || lanes == 1 || all.size() > kAheadOf)
        return groups(low, high, 1, before, identity);
      const Id rest = b().Mod(b().Sub(high, low), b().Index(kAhead));
      const Id middle = b().Sub(high, rest);
      return groups(middle, high, 1, before, groups(low, middle, kAhead, before, identity));
    };
    const Id zero = b().Index(0);
    if (!layered) {
      members(zero, extents[axis], {});
      return;
    }
    const Id block = b().Index(kLevel), super = b().Index(kLevel * kLevel);
    const auto fold = [&](const std::vector<Id>& lhs, const std::vector<Id>& rhs) {
      std::vector<Id> sum = CombineLeaves(combine, lhs, rhs);
      for (Id& id : sum) id = b().Splat(id, context.lanes);
      return sum;
    };
    b().For(zero, extents[axis], super, identity, [&](const std::vector<Id>& outer) {
      const std::vector<Id> top(outer.begin() + 1, outer.end());
      const Id super_end = b().Min(b().Add(outer[0], super), extents[axis]);
      const std::vector<Id> middle =
          b().For(outer[0], super_end, block, identity, [&](const std::vector<Id>& inner) {
            const std::vector<Id> mid(inner.begin() + 1, inner.end());
            const std::vector<Id> before = fold(top, mid);
            const Id end = b().Min(b().Add(inner[0], block), super_end);
            return fold(mid, members(inner[0], end, before));
          });
      return fold(top, middle);
    });
  };
  const auto stage = [&](const Window& window) {
    Fence();
    ForEachPoint(others, lanes > 1 ? static_cast<int>(others.size()) - 1 : -1, lanes, watch, window,
                 prefix, /*vectors=*/1);
    Fence();
  };
  Report(op, std::to_string(width) + (along ? " lanes along prefixes" : " lanes across prefixes") +
                 (layered ? ", in layers" : "") +
                 (others.empty() ? "" : Tasks(combine.elementwise)));
  if (others.empty()) {
    along ? Alone([&] { stage({}); }) : stage({});
    return results;
  }
  std::vector<Id> work(others.begin() + 1, others.end());
  work.push_back(extents[axis]);
  const bool lanes_of_task = across && others.size() == 1;
  InParallel(others[0], Product(work), stage, lanes_of_task ? lanes : 1,
             /*divisible=*/combine.elementwise);
  return results;
}

}  // namespace intent::lower
