#pragma once

// What the tile interpreter tells somebody who looks on, in the order in which it happens.

#include <cstdint>

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

class InterpObserver {
 public:
  virtual ~InterpObserver() = default;

  // Before the operation runs.
  virtual void Reach(const Op& op) = 0;
  // `op` has accessed `bytes` bytes for one of its lanes; stores, scatters and atomics write.
  virtual void Access(const Op& op, int32_t lane, int32_t lanes, const char* address,
                      int64_t bytes) = 0;
  // New memory, whatever lay there before.
  virtual void Allocate(const Op& op, const char* memory, int64_t bytes) = 0;
  // An iteration of a loop ends; so does what its bodies allocated.
  virtual void EndIteration(const Op& loop) = 0;
  // Tasks of a `parallel` come between Reach and Joined of it, and so do those of a `contract`:
  // each element of a side is one, and each sum that is stored.
  virtual void BeginTask(const Op& op) = 0;
  virtual void Joined(const Op& op) = 0;
};

}  // namespace intent::tile
