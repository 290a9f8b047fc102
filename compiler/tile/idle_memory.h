#pragma once

// Memory that nothing reads, and fences that separate nothing. For programs of units whose values
// pass on in registers (LowerOptions::row_tiles), where stages still store for readers that have
// gone.

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

// Takes out allocations that are only stored to, with the stores.
void RemoveUnreadMemory(Program* program);

// Takes out fences of tasks that have no write before them and an access of the same memory behind,
// or a read before and a write behind. Views are one memory: they may overlap.
void RemoveIdleFences(Program* program);

}  // namespace intent::tile
