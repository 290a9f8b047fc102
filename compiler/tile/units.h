#pragma once

// Who executes a tile program on a machine whose blocks have many threads (docs/decisions/0013).

#include <cstdint>

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

inline constexpr int kWarpThreads = 32;
inline constexpr int kMostWarpLanes = kWarpThreads * 8;  // of a tile in a unit of one warp

// Of any value in the block and the bodies within.
int32_t MostLanes(const Program& program, const Block& block);

// Threads of the unit that runs a body of `parallel`: one, a warp, or a block of `block_threads`,
// which alone can run a `contract` or share a `parallel` among its parts.
int UnitThreads(const Program& program, const Block& body, int block_threads);

// Threads that hold lane `lane` of a tile: the only one, or one of the group's copies.
struct Holders {
  int first = 0;
  bool only = true;
};
// Lanes lie in a unit as compiler/cuda/device/unit.cuh says; scalars, of one lane, in every thread.
inline Holders HoldersOf(int32_t lane, int32_t lanes, int unit_threads) {
  if (lanes >= unit_threads) return {lane / (lanes / unit_threads), true};
  return {lane, false};
}

}  // namespace intent::tile
