#pragma once

// Points of `parallel` loops become points and tiles of an axis that their bodies own
// (owned_axis.h): a rewrite of KIR, so that everything after it sees loops like others.
//
//   parallel %h = %heads {                    parallel %h, %first = %heads x domain(0, max(M, 1),
//   rows) {
//     %q = view_load %0 [%h, :, :]      ->      %tile = domain(%first, %first + min(rows, M -
//     %first), 1)
//     ...                                       %q = view_load %0 [%h, %tile, :]
//
// An axis without members keeps one tile, whose errors are the author's.

#include <unordered_map>
#include <vector>

#include "compiler/plan/owned_axis.h"

namespace intent::plan {

struct TileOptions {
  bool contractions = false;  // bodies that contract, too, beside those that fold or scan regions
  int64_t rows = 128;         // of a tile
};

struct ParallelTiles {
  int64_t most = 0;           // rows of a tile where tiles do not meet
  ValueId rows = kNoValue;    // at most so many in a tile
  ValueId tiles = kNoValue;   // the domain of first rows
  ValueId tile = kNoValue;    // the domain of a task's rows, which lie inside the axis
  ValueId size = kNoValue;    // their number
  const Op* store = nullptr;  // an operation that stores along the axis, and which axis there
  int64_t store_axis = 0;
  // A constant, false by its text, that stands for "tiles of a point may meet": views of the call
  // conflict. All rows are then one tile. kNoValue: they never do.
  ValueId meet = kNoValue;
  std::vector<TileConflict> conflicts;
};

struct TiledLoops {
  std::unordered_map<const Op*, ParallelTiles> tiles;  // by loop
  std::unordered_map<const Op*, std::string> whole;    // loops left as they are, with the reason
};

// Loops in others of their kind are left alone.
TiledLoops TileParallel(Function* function, const TileOptions& options);

}  // namespace intent::plan
