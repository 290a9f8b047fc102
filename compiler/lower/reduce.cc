// Reductions. Members are combined in blocks of a few sequential steps on several accumulators; the
// blocks' partial results lie in scratch memory and are folded as a binary tree, so that a sum of n
// members passes through O(log n) roundings beyond a constant (language.md 16), whatever the number
// of threads.

#include <algorithm>

#include "compiler/lower/lowerer.h"
#include "compiler/plan/contract_products.h"

namespace intent::lower {
namespace {

constexpr int kAccumulators = 4;
constexpr int kSteps = 8;        // sequential combines of one accumulator in a block
constexpr int kExactSteps = 64;  // where the order changes nothing
constexpr int64_t kColumnSteps = 16;

}  // namespace

std::vector<Coord> Lowerer::Decode(Id linear, const std::vector<Id>& extents) {
  std::vector<Coord> coords(extents.size());
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (axis == 0) {
      coords[axis] = CoordOf(linear);
      break;
    }
    coords[axis] = CoordOf(b().Mod(linear, extents[axis]));
    linear = b().FloorDiv(linear, extents[axis]);
  }
  return coords;
}

// partials[leaf] holds `count` tiles; the first ends as the combination of all.
void Lowerer::FoldTree(const Combine& combine, const std::vector<Id>& partials, Id count,
                       int32_t lanes) {
  if (const ScalarValue* constant = b().ConstantOf(count);
      constant != nullptr && constant->bits <= 1)
    return;
  const Id width = b().Index(lanes);
  b().While(
      {count}, [&](const std::vector<Id>& m) { return b().Less(b().Index(1), m[0]); },
      [&](const std::vector<Id>& m) {
        const Id half = b().FloorDiv(b().Add(m[0], b().Index(1)), b().Index(2));
        b().For(b().Index(0), b().Sub(m[0], half), b().Index(1), {}, [&](const std::vector<Id>& i) {
          const Id near = b().Mul(i[0], width);
          const Id far = b().Mul(b().Add(i[0], half), width);
          std::vector<Id> lhs, rhs;
          for (Id partial : partials) {
            lhs.push_back(b().Load(partial, near, lanes, b().Index(1)));
            rhs.push_back(b().Load(partial, far, lanes, b().Index(1)));
          }
          const std::vector<Id> folded = CombineLeaves(combine, lhs, rhs);
          for (size_t leaf = 0; leaf < partials.size(); ++leaf) {
            b().Store(partials[leaf], near, b().Splat(folded[leaf], lanes), b().Index(1));
          }
          return std::vector<Id>{};
        });
        return std::vector<Id>{half};
      });
}

// All members of one retained point, lanes running along the last reduced axis. One scalar per
// leaf.
std::vector<Id> Lowerer::ReduceRow(const Reduction& reduction, const std::vector<Coord>& retained) {
  if (OnUnits()) return ReduceRowOnUnit(reduction, retained);
  const int32_t lanes = reduction.lanes;
  const Combine& combine = reduction.combine;
  const int steps = combine.rounds ? kSteps : kExactSteps;
  const Id block = b().Index(int64_t{lanes} * kAccumulators * steps);
  const Id members = reduction.reduced.back();
  const std::vector<Id> outer(reduction.reduced.begin(), reduction.reduced.end() - 1);
  const Id blocks = b().FloorDiv(b().Add(members, b().Sub(block, b().Index(1))), block);
  const Id total = b().Mul(Product(outer), blocks);
  const Id count = b().Mul(b().Max(Count({Count(outer), blocks}), b().Index(1)), b().Index(lanes));
  const Id unit = UnitCondition(reduction.watch);
  const std::vector<Id> identity = reduction.identity(retained, {});
  const size_t leaves = reduction.dtypes.size();

  std::vector<Id> partials;
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    partials.push_back(b().Alloc(reduction.dtypes[leaf], count));
    // An empty reduction has no block, and is the identity.
    b().Store(partials[leaf], b().Index(0), b().Splat(identity[leaf], lanes), b().Index(1));
  }
  const auto splat = [&](std::vector<Id> ids) {
    for (Id& id : ids) id = b().Splat(id, lanes);
    return ids;
  };
  const auto run_block = [&](Id at) {
    std::vector<Coord> point;
    Id inner = at;
    if (!outer.empty()) {
      point = Decode(b().FloorDiv(at, blocks), outer);
      inner = b().Mod(at, blocks);
    }
    point.push_back({});
    const Id low = b().Mul(inner, block);
    const Id high = b().Min(b().Add(low, block), members);
    const Id full = b().And(unit, b().LessEqual(b().Add(low, block), members));
    const std::vector<Id> partial = b().If(
        full,
        [&] {
          std::vector<Id> inits;
          for (int u = 0; u < kAccumulators; ++u) {
            for (Id id : splat(identity)) inits.push_back(id);
          }
          Context context;
          context.lanes = lanes;
          context.unit = &reduction.watch;
          const std::vector<Id> sums = b().For(
              low, high, b().Index(int64_t{lanes} * kAccumulators), inits,
              [&](const std::vector<Id>& carried) {
                std::vector<Id> next;
                for (int u = 0; u < kAccumulators; ++u) {
                  point.back().base = b().Add(carried[0], b().Index(int64_t{u} * lanes));
                  point.back().step = 1;
                  const std::vector<Id> accumulator(carried.begin() + 1 + u * leaves,
                                                    carried.begin() + 1 + (u + 1) * leaves);
                  for (Id id :
                       splat(CombineLeaves(combine, accumulator,
                                           splat(reduction.element(retained, point, context))))) {
                    next.push_back(id);
                  }
                }
                return next;
              });
          std::vector<std::vector<Id>> tree;
          for (int u = 0; u < kAccumulators; ++u) {
            tree.emplace_back(sums.begin() + u * leaves, sums.begin() + (u + 1) * leaves);
          }
          for (int width = kAccumulators; width > 1; width /= 2) {
            for (int u = 0; u < width / 2; ++u)
              tree[u] = CombineLeaves(combine, tree[2 * u], tree[2 * u + 1]);
          }
          return splat(tree[0]);
        },
        [&] {
          return b().For(
              low, high, b().Index(lanes), splat(identity), [&](const std::vector<Id>& carried) {
                point.back().base = carried[0];
                point.back().step = lanes > 1 ? 1 : 0;
                Context context;
                context.lanes = lanes;
                if (lanes > 1) context.mask = TailMask(carried[0], high, lanes);
                std::vector<Id> element = splat(reduction.element(retained, point, context));
                if (lanes > 1) {
                  for (size_t leaf = 0; leaf < leaves; ++leaf) {
                    element[leaf] = b().Select(context.mask, element[leaf], splat(identity)[leaf]);
                  }
                }
                return splat(CombineLeaves(combine, {carried.begin() + 1, carried.end()}, element));
              });
        });
    for (size_t leaf = 0; leaf < leaves; ++leaf) {
      b().Store(partials[leaf], b().Mul(at, b().Index(lanes)), partial[leaf], b().Index(1));
    }
  };
  const auto run_blocks = [&](const Window& window) {
    b().For(window.low == kNoId ? b().Index(0) : window.low,
            window.high == kNoId ? total : window.high, b().Index(1), {},
            [&](const std::vector<Id>& arguments) {
              run_block(arguments[0]);
              return std::vector<Id>{};
            });
  };
  if (reduction.retained.empty()) {
    InParallel(total, block, run_blocks);
  } else {
    run_blocks({});
  }
  FoldTree(combine, partials, total, lanes);
  std::vector<Id> tiles;
  for (Id partial : partials) tiles.push_back(b().Load(partial, b().Index(0), lanes, b().Index(1)));
  return CombineLanes(combine, tiles);
}

// All members of `lanes` neighbouring retained points. One tile per leaf.
std::vector<Id> Lowerer::ReduceColumn(const Reduction& reduction,
                                      const std::vector<Coord>& retained, const Context& context) {
  const Combine& combine = reduction.combine;
  const int32_t lanes = context.lanes;
  const Id members = Product(reduction.reduced);
  const size_t leaves = reduction.dtypes.size();
  std::vector<Id> identity = reduction.identity(retained, context);
  for (Id& id : identity) id = b().Splat(id, lanes);
  const auto run = [&](Id low, Id high) {
    return b().For(low, high, b().Index(1), identity, [&](const std::vector<Id>& carried) {
      std::vector<Id> sums = CombineLeaves(
          combine, {carried.begin() + 1, carried.end()},
          reduction.element(retained, Decode(carried[0], reduction.reduced), context));
      for (Id& sum : sums) sum = b().Splat(sum, lanes);
      return sums;
    });
  };
  if (OnUnits()) {
    return FoldSingly(
        combine, b().Index(0), members, identity, [&](Id at, const std::vector<Id>& sums) {
          return CombineLeaves(combine, sums,
                               reduction.element(retained, Decode(at, reduction.reduced), context));
        });
  }
  const ScalarValue* constant = b().ConstantOf(members);
  if (!combine.rounds ||
      (constant != nullptr && static_cast<int64_t>(constant->bits) <= kColumnSteps)) {
    return run(b().Index(0), members);
  }
  const Id steps = b().Index(kColumnSteps);
  const Id blocks = b().FloorDiv(b().Add(members, b().Index(kColumnSteps - 1)), steps);
  std::vector<Id> partials;
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    partials.push_back(b().Alloc(reduction.dtypes[leaf],
                                 Count({b().Max(blocks, b().Index(1)), b().Index(lanes)})));
    b().Store(partials[leaf], b().Index(0), identity[leaf], b().Index(1));
  }
  b().For(b().Index(0), blocks, b().Index(1), {}, [&](const std::vector<Id>& at) {
    const Id low = b().Mul(at[0], steps);
    const std::vector<Id> partial = run(low, b().Min(b().Add(low, steps), members));
    for (size_t leaf = 0; leaf < leaves; ++leaf) {
      b().Store(partials[leaf], b().Mul(at[0], b().Index(lanes)), partial[leaf], b().Index(1));
    }
    return std::vector<Id>{};
  });
  FoldTree(combine, partials, blocks, lanes);
  std::vector<Id> tiles;
  for (Id partial : partials) tiles.push_back(b().Load(partial, b().Index(0), lanes, b().Index(1)));
  return tiles;
}

void Lowerer::RunReduction(const Reduction& reduction, const std::vector<TensorPtr>& outputs,
                           const Window& window) {
  const bool columns = !reduction.lanes_along_reduced && reduction.lanes > 1;
  const auto whole = [&](const Reduction& all) { ReduceWhole(all, outputs, window); };
  const bool may_cut = columns && reduction.combine.elementwise && window.low == kNoId;
  if (!may_cut || !ReduceInChunks(reduction, whole)) whole(reduction);
}

void Lowerer::ReduceWhole(const Reduction& reduction, const std::vector<TensorPtr>& outputs,
                          const Window& window) {
  const int rank = static_cast<int>(reduction.retained.size());
  const bool columns = !reduction.lanes_along_reduced && reduction.lanes > 1;
  const auto stage = [&](const Window& rows) {
    Fence();
    ForEachPoint(
        reduction.retained, columns ? rank - 1 : -1, columns ? reduction.lanes : 1,
        columns ? reduction.watch : std::vector<Id>{}, rows,
        [&](const std::vector<Coord>& coords, const Context& context) {
          const std::vector<Id> result =
              !reduction.combine.elementwise  ? ReduceMembers(reduction, coords)
              : reduction.lanes_along_reduced ? ReduceRow(reduction, coords)
                                              : ReduceColumn(reduction, coords, context);
          for (size_t leaf = 0; leaf < outputs.size(); ++leaf) {
            Id offset = b().Index(0);
            for (int axis = 0; axis < rank; ++axis) {
              offset = b().Add(offset, b().Mul(coords[axis].base, outputs[leaf]->strides[axis]));
            }
            b().Store(outputs[leaf]->base, offset, result[leaf], b().Index(1), context.mask);
            RememberResult(*outputs[leaf], coords, result[leaf]);
          }
        },
        /*vectors=*/1);
    Fence();
  };
  if (window.low != kNoId || rank == 0) {
    stage(window);
    return;
  }
  if (options_.row_tiles > 0 && !columns && reduction.lanes > 1)
    return EachRow(reduction.retained[0], stage);
  std::vector<Id> work(reduction.retained.begin() + 1, reduction.retained.end());
  work.insert(work.end(), reduction.reduced.begin(), reduction.reduced.end());
  // On units, what has no lanes is a thread's: each result is a task.
  if (OnUnits() && reduction.lanes == 1) work = {b().Index(int64_t{1} << 30)};
  const bool across = OnUnits() && columns && rank == 1;
  InParallel(reduction.retained[0], Product(work), stage, across ? reduction.lanes : 1,
             /*divisible=*/reduction.combine.elementwise);
}

Lowerer::Reduction Lowerer::MakeReduction(const Op& op) {
  Leaves leaves, identities;
  Of(op.operands[0]).Leaves(&leaves);
  Of(op.operands[1]).Leaves(&identities);
  return MakeReduction(op, leaves, identities);
}

Lowerer::Reduction Lowerer::MakeReduction(const Op& op, const Leaves& leaves,
                                          const Leaves& identities) {
  const ReduceAttr& attr = op.attr<ReduceAttr>();
  Reduction reduction;
  for (const Binding& leaf : leaves) reduction.dtypes.push_back(leaf.tensor->dtype);
  reduction.combine = MakeCombine(op, attr.combine, 2, reduction.dtypes);

  const int rank = leaves[0].tensor->rank();
  std::vector<bool> is_reduced(rank, false);
  for (const StaticInt& axis : attr.axes) is_reduced[axis.value] = true;
  std::vector<int> place(rank);  // among the retained or the reduced axes
  for (int axis = 0; axis < rank; ++axis) {
    std::vector<Id>& extents = is_reduced[axis] ? reduction.reduced : reduction.retained;
    place[axis] = static_cast<int>(extents.size());
    extents.push_back(leaves[0].tensor->extents[axis]);
  }
  reduction.lanes_along_reduced = is_reduced[rank - 1];
  if (reduction.combine.elementwise) {
    std::vector<DType> dtypes = reduction.dtypes;
    int budget = 64;
    for (const Binding& leaf : leaves) CollectDTypes(leaf, &dtypes, &budget);
    reduction.lanes = LanesFor(dtypes, leaves[0].tensor->extents.back(),
                               /*of_unit=*/reduction.retained.empty());
    // Across results, one step down the members reads whole lines of several vectors.
    const ScalarValue* inner = b().ConstantOf(leaves[0].tensor->extents.back());
    const int64_t wide = int64_t{kAccumulators} * reduction.lanes;
    if (!OnUnits() && !reduction.lanes_along_reduced && reduction.lanes > 1 &&
        reduction.dtypes.size() == 1 &&
        (inner == nullptr || static_cast<int64_t>(inner->bits) >= wide)) {
      reduction.lanes = static_cast<int32_t>(wide);
    }
  }
  if (reduction.lanes > 1) {
    for (const Binding& leaf : leaves)
      WatchStrides(leaf, StageCoords(rank, rank - 1), &reduction.watch);
  }
  const bool rounds = attr.combine == CombineKind::kAdd && !plan::ContractsProducts(function_, op);
  reduction.element = [this, leaves, is_reduced, place, rank, rounds](
                          const std::vector<Coord>& retained, const std::vector<Coord>& reduced,
                          const Context& context) {
    std::vector<Coord> coords(rank);
    for (int axis = 0; axis < rank; ++axis) {
      coords[axis] = is_reduced[axis] ? reduced[place[axis]] : retained[place[axis]];
    }
    std::vector<Id> elements;
    for (const Binding& leaf : leaves) {
      const Id element = Eval(leaf, coords, context);
      elements.push_back(rounds ? b().RoundedProduct(element) : element);
    }
    return elements;
  };
  reduction.identity = [this, identities](const std::vector<Coord>& retained,
                                          const Context& context) {
    std::vector<Id> ids;
    for (const Binding& identity : identities) ids.push_back(Eval(identity, retained, context));
    return ids;
  };
  return reduction;
}

std::vector<TensorPtr> Lowerer::BindOutputs(const Op& op, const std::vector<Id>& extents) {
  std::vector<TensorPtr> outputs;
  std::vector<Binding> leaves;
  for (const Type& type : FlatTypes(ResultType(op))) {
    outputs.push_back(AllocateDense(type.dtype(), extents));
    leaves.push_back(Binding::OfTensor(outputs.back()));
  }
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), leaves, &next));
  return outputs;
}

Lowerer::Leaves Lowerer::ReduceLeaves(const Op& op, const Leaves& leaves,
                                      const Leaves& identities) {
  const Reduction reduction = MakeReduction(op, leaves, identities);
  const bool elementwise = reduction.combine.elementwise;
  Report(op, std::to_string(reduction.lanes) +
                 (reduction.lanes_along_reduced ? " lanes along the members"
                                                : " lanes across results") +
                 (!elementwise               ? ", members combined as a tree"
                  : reduction.combine.rounds ? ", blocks folded as a tree"
                                             : "") +
                 Tasks(elementwise && !reduction.retained.empty()));
  Leaves results;
  if (reduction.retained.empty()) {
    for (Id result : elementwise ? ReduceRow(reduction, {}) : ReduceMembers(reduction, {}))
      results.push_back(Binding::Scalar(result));
    return results;
  }
  std::vector<TensorPtr> outputs;
  for (const Binding& leaf : leaves) {
    outputs.push_back(AllocateDense(leaf.tensor->dtype, reduction.retained));
    results.push_back(Binding::OfTensor(outputs.back()));
  }
  RunReduction(reduction, outputs, {});
  return results;
}

void Lowerer::LowerReduce(const Op& op) {
  if (CombinesSlices(op)) {
    ReduceSlices(op);
    return;
  }
  Leaves leaves, identities, results;
  Of(op.operands[0]).Leaves(&leaves);
  Of(op.operands[1]).Leaves(&identities);
  if (LeavesAgree(TypeOf(op.operands[0]))) {
    results = ReduceLeaves(op, leaves, identities);
  } else {
    // Components of different shapes under a builtin combine have nothing to do with one another.
    for (size_t i = 0; i < leaves.size(); ++i)
      results.push_back(ReduceLeaves(op, {leaves[i]}, {identities[i]})[0]);
  }
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), results, &next));
}

}  // namespace intent::lower
