#pragma once

// What a tile program consists of, in numbers: for the compile report. Operations count once,
// wherever they stand.

#include <cstdint>

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

struct Statistics {
  int64_t loops = 0;  // for and while
  int64_t parallel_loops = 0;
  int64_t guards = 0;
  int64_t fused = 0;           // products and sums with one rounding
  int64_t separate = 0;        // products of f32 or f64 that round before they are added
  int64_t narrow = 0;          // products of narrower floats that do
  int64_t bound_to_round = 0;  // products and sums that the language forbids to fuse
  int64_t allocations = 0;     // of scratch memory
  int64_t fixed_bytes = 0;     // of those whose size is known
  int64_t unknown_sizes = 0;   // the others
  int64_t stack_bytes = 0;
  int32_t most_lanes = 1;
};

Statistics StatisticsOf(const Program& program);

}  // namespace intent::tile
