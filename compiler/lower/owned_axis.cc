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
  const Extent& extent = ResultType(op).shape()[0];
  DomainAxis axis;
  axis.begin = Scalar(op.operands[0]);
  axis.step = Scalar(op.operands[2]);
  axis.extent = ExtentId(extent);
  if (op.result == found->second->tile) {
    axis.extent = BoundExtent(extent, axis.extent, Scalar(found->second->rows));
  }
  axis.value = op.result;
  return axis;
}

}  // namespace intent::lower
