// Prefixes along the last axis where tiles are as wide as a block of threads (docs/decisions/0013):
// one slice of the row after another, the lanes of a slice all at once. In log2(lanes) steps each
// lane takes in what stands 1, 2, 4, ... lanes before it, always on the left, so members keep their
// order; what came before the slice goes on the left of all. Sums before a slice are nested as
// those of a reduction (unit_reduce.cc), for the same bound on their roundings.

#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

constexpr int kNestedSlices = 16;  // of each loop but the outermost
constexpr int kNestedLoops = 3;

}  // namespace

// Scans one slice, of which `at` is the first position, and stores it. What the slice adds to.
std::vector<Id> Lowerer::ScanSlice(const UnitScan& scan, const std::vector<Coord>& row, Id at,
                                   const std::vector<Id>& before, const std::vector<Id>& sums,
                                   const Context& context) {
  const Combine& combine = scan.combine;
  const int32_t lanes = scan.lanes;
  const size_t leaves = scan.leaves.size();
  const auto splat = [&](std::vector<Id> ids) {
    for (Id& id : ids) id = b().Splat(id, lanes);
    return ids;
  };
  const Id members = scan.leaves[0].tensor->extents.back();
  std::vector<Coord> coords = row;
  coords.push_back({});
  coords.back().base = scan.reverse ? b().Sub(b().Sub(members, b().Index(1)), at) : at;
  coords.back().step = scan.reverse ? -1 : 1;
  std::vector<Id> own;
  for (size_t i = 0; i < leaves; ++i) {
    Id member = b().Splat(Eval(scan.leaves[i], coords, context), lanes);
    if (combine.kind == CombineKind::kAdd) member = b().RoundedProduct(member);
    own.push_back(context.mask == kNoId ? member
                                        : b().Select(context.mask, member, scan.identity[i]));
  }
  // A lane of each leaf stands `distance` further on; the first lanes get others' and drop them.
  const auto moved = [&](int32_t distance) {
    std::vector<int32_t> order;
    for (int32_t lane = 0; lane < lanes; ++lane) order.push_back((lane + lanes - distance) % lanes);
    std::vector<Id> tiles;
    for (Id tile : own) tiles.push_back(b().Shuffle(tile, order));
    return tiles;
  };
  const auto has = [&](int32_t distance) {
    return b().LessEqual(b().Splat(b().Index(distance), lanes), b().Iota(lanes));
  };
  for (int32_t distance = 1; distance < lanes; distance *= 2) {
    const std::vector<Id> longer = splat(CombineLeaves(combine, moved(distance), own));
    for (size_t i = 0; i < leaves; ++i) own[i] = b().Select(has(distance), longer[i], own[i]);
  }
  std::vector<Id> total;
  for (Id tile : own) total.push_back(b().ExtractLane(tile, lanes - 1));
  const std::vector<Id> front = splat(before.empty() ? sums : CombineLeaves(combine, before, sums));
  if (!scan.inclusive) own = moved(1);
  std::vector<Id> prefix = splat(CombineLeaves(combine, front, own));
  Id offset = b().Index(0);
  for (size_t axis = 0; axis < coords.size(); ++axis)
    offset = b().Add(offset, b().Mul(coords[axis].base, scan.outputs[0]->strides[axis]));
  for (size_t i = 0; i < leaves; ++i) {
    if (!scan.inclusive) prefix[i] = b().Select(has(1), prefix[i], front[i]);
    b().Store(scan.outputs[i]->base, offset, prefix[i], b().Index(coords.back().step),
              context.mask);
  }
  return CombineLeaves(combine, sums, total);
}

void Lowerer::ScanRowOnUnit(const UnitScan& scan, const std::vector<Coord>& row,
                            const std::vector<Id>& identity) {
  const Id zero = b().Index(0), members = scan.leaves[0].tensor->extents.back();
  // What short_rows speaks of is a few slices.
  const bool few = options_.short_rows && b().ConstantOf(members) == nullptr;
  const int depth = scan.combine.rounds && !few ? kNestedLoops : 1;
  // Slices of positions [low, high) behind `before`; the sum of what they hold.
  const auto slices = [&](Id low, Id high, const std::vector<Id>& ahead, bool whole) {
    std::function<std::vector<Id>(Id, Id, int, const std::vector<Id>&)> nest =
        [&](Id from, Id to, int loops, const std::vector<Id>& before) {
          int64_t stride = scan.lanes;
          for (int i = 1; i < loops; ++i) stride *= kNestedSlices;
          return b().For(
              from, to, b().Index(stride), identity, [&](const std::vector<Id>& carried) {
                const std::vector<Id> sums(carried.begin() + 1, carried.end());
                if (loops == 1) {
                  Context context;
                  context.lanes = scan.lanes;
                  if (whole) {
                    context.unit = &scan.watch;
                  } else {
                    context.mask = TailMask(carried[0], to, scan.lanes);
                  }
                  return ScanSlice(scan, row, carried[0], before, sums, context);
                }
                const Id end = b().Min(b().Add(carried[0], b().Index(stride)), to);
                return CombineLeaves(
                    scan.combine, sums,
                    nest(carried[0], end, loops - 1,
                         before.empty() ? sums : CombineLeaves(scan.combine, before, sums)));
              });
        };
    return nest(low, high, depth, ahead);
  };
  const Id width = b().Index(scan.lanes);
  const Id whole =
      b().Select(UnitCondition(scan.watch), b().Sub(members, b().Mod(members, width)), zero);
  if (scan.reverse || whole == zero) {
    slices(zero, members, {}, false);
    return;
  }
  const std::vector<Id> ahead = slices(zero, whole, {}, true);
  slices(whole, members, ahead, false);
}

}  // namespace intent::lower
