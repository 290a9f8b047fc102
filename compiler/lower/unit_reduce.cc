// Reductions where a tile is as wide as a block of threads (docs/decisions/0013): accumulators stay
// in registers, in nested loops of a few steps each, so that a sum of n members still passes
// through a bounded number of roundings; nothing goes through memory but one value of each task of
// a reduction to a scalar.

#include <algorithm>

#include "compiler/lower/lowerer.h"
#include "compiler/tile/units.h"

namespace intent::lower {
namespace {

constexpr int kNestedSteps = 16;  // of each loop but the outermost
// Members that go by whole tiles are few thousand times fewer than those that go one by one.
constexpr int kTileLoops = 3, kSingleLoops = 5;
constexpr int64_t kTaskVectors = 16;  // least of a task of a reduction to a scalar
constexpr int64_t kMostTasks = 2048;

}  // namespace

// body(at, sums) combines what stands at `at`, which goes from low by steps; at most
// kNestedSteps results of each loop meet in the next. Where no combine rounds, one loop is enough.
std::vector<Id> Lowerer::NestedFold(const Combine& combine, Id low, Id high, Id step,
                                    const std::vector<Id>& identity, int loops,
                                    const FoldStep& body) {
  const auto meet = [&](const std::vector<Id>& lhs, const std::vector<Id>& rhs) {
    std::vector<Id> sums = CombineLeaves(combine, lhs, rhs);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = b().Splat(sums[i], b().lanes(identity[i]));
    return sums;
  };
  std::function<std::vector<Id>(Id, Id, int)> nest = [&](Id from, Id to, int left) {
    Id stride = step;
    for (int i = 1; i < left; ++i) stride = b().Mul(stride, b().Index(kNestedSteps));
    return b().For(from, to, stride, identity, [&](const std::vector<Id>& carried) {
      const std::vector<Id> sums(carried.begin() + 1, carried.end());
      if (left == 1) return body(carried[0], sums);
      const Id end = b().Min(b().Add(carried[0], stride), to);
      return meet(sums, nest(carried[0], end, left - 1));
    });
  };
  return nest(low, high, combine.rounds ? loops : 1);
}

std::vector<Id> Lowerer::FoldSingly(const Combine& combine, Id low, Id high,
                                    const std::vector<Id>& identity, const FoldStep& body) {
  return NestedFold(combine, low, high, b().Index(1), identity, kSingleLoops, body);
}

// Neighbours of one thread first, then threads of a warp, then one lane of each warp: steps that
// need no memory but for one.
std::vector<Id> Lowerer::CombineLanesOnUnit(const Combine& combine, std::vector<Id> tiles) {
  const auto meet = [&](const std::function<int32_t(int32_t)>& one,
                        const std::function<int32_t(int32_t)>& other, int32_t lanes) {
    const auto moved = [&](const std::function<int32_t(int32_t)>& source) {
      std::vector<int32_t> order;
      for (int32_t lane = 0; lane < lanes; ++lane) order.push_back(source(lane));
      std::vector<Id> sides;
      for (Id tile : tiles) sides.push_back(b().Shuffle(tile, order));
      return sides;
    };
    tiles = CombineLeaves(combine, one ? moved(one) : tiles, moved(other));
    for (Id& tile : tiles) tile = b().Splat(tile, lanes);
  };
  int32_t lanes = b().lanes(tiles[0]);
  const int32_t threads =
      lanes > tile::kMostWarpLanes ? options_.block_threads : tile::kWarpThreads;
  for (; lanes > threads; lanes /= 2) {
    meet([](int32_t lane) { return 2 * lane; }, [](int32_t lane) { return 2 * lane + 1; },
         lanes / 2);
  }
  const auto within_warps = [&] {
    for (int32_t far = std::min(lanes, tile::kWarpThreads) / 2; far > 0; far /= 2)
      meet(
          nullptr, [far](int32_t lane) { return lane ^ far; }, lanes);
  };
  within_warps();
  if (lanes > tile::kWarpThreads) {
    lanes /= tile::kWarpThreads;
    std::vector<int32_t> order;
    for (int32_t lane = 0; lane < lanes; ++lane) order.push_back(lane * tile::kWarpThreads);
    for (Id& tile : tiles) tile = b().Shuffle(tile, order);
    within_warps();
  }
  for (Id& tile : tiles) tile = b().ExtractLane(tile, 0);
  return tiles;
}

// Members [low, high) of the last reduced axis. A tile per leaf.
std::vector<Id> Lowerer::FoldMembers(const Reduction& reduction, const std::vector<Coord>& retained,
                                     const std::vector<Coord>& outer, Id low, Id high) {
  const int32_t lanes = reduction.lanes;
  const Combine& combine = reduction.combine;
  const size_t leaves = reduction.dtypes.size();
  const auto splat = [&](std::vector<Id> ids) {
    for (Id& id : ids) id = b().Splat(id, lanes);
    return ids;
  };
  const std::vector<Id> identity = splat(reduction.identity(retained, {}));
  const auto element = [&](Id at, const Context& context) {
    std::vector<Coord> point = outer;
    point.push_back({});
    point.back().base = at;
    point.back().step = lanes > 1 ? 1 : 0;
    return splat(reduction.element(retained, point, context));
  };
  if (lanes == 1) {
    return FoldSingly(combine, low, high, identity, [&](Id at, const std::vector<Id>& sums) {
      return CombineLeaves(combine, sums, element(at, {}));
    });
  }
  // Members of what the mask leaves out are the identity.
  const bool one_tile = IsOneTile(low, high, lanes);
  const auto masked = [&](Id at, Id mask, const std::vector<Id>& carried) {
    Context context;
    context.lanes = lanes;
    context.mask = mask;
    context.guarded = one_tile;
    std::vector<Id> members = element(at, context);
    for (size_t leaf = 0; mask != kNoId && leaf < leaves; ++leaf)
      members[leaf] = b().Select(mask, members[leaf], identity[leaf]);
    return splat(CombineLeaves(combine, carried, members));
  };
  if (HoldsRow(low, high, lanes)) return OverHeldRow(high, lanes, identity, masked);
  if (one_tile) return masked(low, TailMask(low, high, lanes), identity);
  const Id width = b().Index(lanes), count = b().Sub(high, low);
  // What short_rows speaks of is a few tiles.
  const bool few = options_.short_rows && b().ConstantOf(reduction.reduced.back()) == nullptr;
  const int loops = few ? 1 : kTileLoops;
  const Id unit = UnitCondition(reduction.watch);
  const Id whole = IsMaskedThroughout(unit)
                       ? b().Index(0)
                       : b().Select(unit, b().Sub(count, b().Mod(count, width)), b().Index(0));
  const Id middle = b().Add(low, whole);
  std::vector<Id> sums = identity;
  if (middle != low) {
    Context context;
    context.lanes = lanes;
    context.unit = &reduction.watch;
    sums = NestedFold(combine, low, middle, width, identity, loops,
                      [&](Id at, const std::vector<Id>& carried) {
                        return splat(CombineLeaves(combine, carried, element(at, context)));
                      });
  }
  const std::vector<Id> rest = NestedFold(combine, middle, high, width, identity, loops,
                                          [&](Id at, const std::vector<Id>& carried) {
                                            return masked(at, TailMask(at, high, lanes), carried);
                                          });
  return splat(CombineLeaves(combine, sums, rest));
}

std::vector<Id> Lowerer::ReduceRowOnUnit(const Reduction& reduction,
                                         const std::vector<Coord>& retained) {
  if (reduction.retained.empty() && !in_parallel_) return ReduceAllOnUnits(reduction);
  const Combine& combine = reduction.combine;
  const std::vector<Id> outer(reduction.reduced.begin(), reduction.reduced.end() - 1);
  const Id zero = b().Index(0), members = reduction.reduced.back();
  if (outer.empty()) {
    return CombineLanes(combine, FoldMembers(reduction, retained, {}, zero, members));
  }
  std::vector<Id> identity = reduction.identity(retained, {});
  for (Id& id : identity) id = b().Splat(id, reduction.lanes);
  const std::vector<Id> sums = FoldSingly(
      combine, zero, Product(outer), identity, [&](Id at, const std::vector<Id>& carried) {
        std::vector<Id> next = CombineLeaves(
            combine, carried, FoldMembers(reduction, retained, Decode(at, outer), zero, members));
        for (Id& id : next) id = b().Splat(id, reduction.lanes);
        return next;
      });
  return CombineLanes(combine, sums);
}

// To one scalar, split among tasks by the extents alone: results depend on no grid.
std::vector<Id> Lowerer::ReduceAllOnUnits(const Reduction& reduction) {
  const Combine& combine = reduction.combine;
  const Id zero = b().Index(0), one = b().Index(1);
  const std::vector<Id> outer(reduction.reduced.begin(), reduction.reduced.end() - 1);
  const Id rows = Product(outer), members = reduction.reduced.back();
  const auto ceil_div = [&](Id a, Id c) { return b().FloorDiv(b().Add(a, b().Sub(c, one)), c); };
  // Every row is cut into pieces; a task takes some neighbouring pieces, of a single row one.
  const Id least = b().Index(int64_t{reduction.lanes} * kTaskVectors);
  const Id most = b().Index(kMostTasks);
  const Id piece = b().Mul(ceil_div(b().Max(ceil_div(members, most), one), least), least);
  const Id pieces = b().Max(ceil_div(members, piece), one);
  const Id total = b().Mul(rows, pieces);
  const Id share = outer.empty() ? one : b().Max(ceil_div(total, most), one);
  const Id tasks = ceil_div(total, share);
  std::vector<Id> partials, results;
  for (DType dtype : reduction.dtypes) {
    partials.push_back(b().Alloc(dtype, b().Max(b().Min(tasks, most), one)));
    results.push_back(b().Alloc(dtype, one));
  }
  std::vector<Id> identity = reduction.identity({}, {});
  in_parallel_ = true;
  b().Parallel(zero, tasks, one, [&](Id begin, Id end) {
    b().For(begin, end, one, {}, [&](const std::vector<Id>& task) {
      std::vector<Id> tiles = identity;
      for (Id& id : tiles) id = b().Splat(id, reduction.lanes);
      const auto part = [&](Id at, const std::vector<Coord>& point) {
        const Id low = b().Mul(at, piece);
        const Id high = b().Min(b().Add(low, piece), members);
        return FoldMembers(reduction, {}, point, low, high);
      };
      const Id first = b().Mul(task[0], share);
      const Id last = b().Min(b().Add(first, share), total);
      const std::vector<Id> sums =
          outer.empty()
              ? part(task[0], {})
              : FoldSingly(combine, first, last, tiles, [&](Id at, const std::vector<Id>& carried) {
                  std::vector<Id> next = CombineLeaves(
                      combine, carried,
                      part(b().Mod(at, pieces), Decode(b().FloorDiv(at, pieces), outer)));
                  for (Id& id : next) id = b().Splat(id, reduction.lanes);
                  return next;
                });
      const std::vector<Id> scalars = CombineLanes(combine, sums);
      for (size_t i = 0; i < partials.size(); ++i)
        b().Store(partials[i], task[0], scalars[i], zero);
      return std::vector<Id>{};
    });
  });
  // One more task combines what the others left.
  Reduction rest;
  rest.combine = combine;
  rest.dtypes = reduction.dtypes;
  rest.reduced = {tasks};
  rest.lanes = reduction.lanes > 1 ? options_.block_threads : 1;
  rest.element = [&](const std::vector<Coord>&, const std::vector<Coord>& at,
                     const Context& context) {
    std::vector<Id> members;
    for (Id partial : partials) {
      members.push_back(
          b().Load(partial, at.back().base, context.lanes, b().Index(1), context.mask));
    }
    return members;
  };
  rest.identity = [&](const std::vector<Coord>&, const Context&) { return identity; };
  b().Parallel(zero, one, one, [&](Id, Id) {
    const std::vector<Id> scalars = CombineLanes(combine, FoldMembers(rest, {}, {}, zero, tasks));
    for (size_t i = 0; i < results.size(); ++i) b().Store(results[i], zero, scalars[i], zero);
  });
  in_parallel_ = false;
  std::vector<Id> values;
  for (Id result : results) values.push_back(b().Load(result, zero, 1, zero));
  return values;
}

}  // namespace intent::lower
