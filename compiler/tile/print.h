#pragma once

// The text form of tile programs: for reports, tests and bug hunting. Values are numbered in order
// of appearance, so that equal programs have equal text. Parse(Print(p)) prints as p does.
//
//   tile {
//     view f32 rank 1 read            one line per view parameter: read, write or read write
//     scalar i32                      one line per scalar parameter
//     %0: index = view_extent {view=0 axis=0}
//     %1: f32x8 = load(%2, %3, %4) {stride=1 mask} @7
//     for(%5, %6, %7) (%8: index) {   regions: arguments, then operations up to a yield
//       yield
//     }
//   }
//
// Kinds of parametrised operations follow a dot: unary.exp, binary.add, compare.lt,
// reduce_lanes.add, atomic_rmw.max. Constants are their bits: const 0x3f800000, decimal for
// integers. @ gives the ordinal of the KIR operation that an operation serves.

#include <string>

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

std::string Print(const Program& program);

}  // namespace intent::tile
