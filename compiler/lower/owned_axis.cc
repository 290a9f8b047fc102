// Loops whose points are cut along an axis that they own (plan/tile_parallel.h) are loops like
// others, but that the call decides whether tiles may meet, and that tiles are known to lie inside
// their axis.

#include "compiler/lower/lowerer.h"

namespace intent::lower {

Id Lowerer::TilesMeet(const plan::ParallelTiles& tiles) {
  Id meet = b().Bool(false);
  for (const plan::TileConflict& conflict : tiles.conflicts) {
    const int written = Of(conflict.written).resource->origin.view;
    const int other = Of(conflict.other).resource->origin.view;
    Id overlap = b().Overlap(written, other);
    if (conflict.aligned) overlap = b().And(overlap, b().Not(b().SameView(written, other)));
    meet = b().Or(meet, overlap);
  }
  return meet;
}

std::optional<DomainAxis> Lowerer::TileDomain(const Op& op) {
  const auto found = tile_values_.find(op.result);
  if (found == tile_values_.end()) return std::nullopt;
  const plan::ParallelTiles& tiles = *found->second;
  const Extent& extent = ResultType(op).shape()[0];
  DomainAxis axis;
  axis.begin = Scalar(op.operands[0]);
  axis.step = Scalar(op.operands[2]);
  if (op.result == tiles.tile) {
    // Without the maximum of its type, which no tile needs: a launcher's programs are short.
    axis.extent =
        OnUnits() ? BoundExtent(extent, Scalar(tiles.size), Scalar(tiles.rows)) : ExtentId(extent);
  } else {
    // As its type says, in words that a launcher can bound.
    const Id most = b().Index(tiles.most), one = b().Index(1);
    const Id whole = Scalar(op.operands[1]);
    axis.extent = b().FloorDiv(b().Add(whole, b().Sub(most, one)), most);
    if (tiles.meet != kNoValue) axis.extent = b().Select(Scalar(tiles.meet), one, axis.extent);
  }
  axis.value = op.result;
  return axis;
}

}  // namespace intent::lower
