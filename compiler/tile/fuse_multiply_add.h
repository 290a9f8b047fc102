#pragma once

// Ordinary multiply-add fusion (seed 000, 5.5): a*b + c, c + a*b, a*b - c and c - a*b of f32 or f64
// become one rounding. The product keeps its own value for its other users. Casts and other dtypes
// are boundaries that it never crosses.

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

void FuseMultiplyAdd(Program* program);

}  // namespace intent::tile
