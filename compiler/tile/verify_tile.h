#pragma once

// Checks a tile program against the rules in tile_ops.def:
//   - operands dominate their uses; every value is defined once; nesting is bounded;
//   - operand, result and region argument types of each operation agree with its line there;
//   - attributes lie in range: views, axes, lanes, static counts;
//   - regions end in the one yield they hold, of the right types.
// Emitters and the interpreter rely on it.

#include "absl/status/status.h"
#include "compiler/tile/tile_ir.h"

namespace intent::tile {

inline constexpr int kMaxNesting = 1024;  // of regions
inline constexpr int kMaxLanes = 2048;
inline constexpr int64_t kMaxStackElements = 1 << 16;  // of one kStackAlloc

// kInternal names the first broken rule and prints the operation.
absl::Status VerifyTile(const Program& program);

}  // namespace intent::tile
