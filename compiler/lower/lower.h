#pragma once

// Specialised KIR to a tile program (docs/architecture.md, "The middle").
//
// Tensors are lazy: a pure tensor operation emits nothing; its elements are computed where a stage
// asks for them. A stage is one iteration space that ends in memory: a store, a reduction, a scan,
// a contraction or a value that the plan wants materialised. Reads of memory are values of their
// program point: before a write that may touch what a pending value still reads, that value is
// copied out (at once if both are the same allocation, under a run-time overlap test if they are
// different views).

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "compiler/diag/report.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/module.h"
#include "compiler/tile/tile_ir.h"

namespace intent::lower {

struct LowerOptions {
  int vector_bits = 256;  // 0: every value is a scalar
  // Above 0: a machine whose units are blocks of so many threads, warps of them, or single threads
  // (docs/decisions/0013). Then `vector_bits` counts what one thread holds of a tile.
  int block_threads = 0;
  // With units: rows whose extent only the call gives are short, so that a warp has one. Right for
  // all extents, and bounded in its roundings up to kShortRow.
  bool short_rows = false;
  // With units: rows of at most so many tiles stay in registers from stage to stage; 0: no. Right
  // for calls that meet Lowered::assumed.
  int row_tiles = 0;
  int vector_registers = 16;
  bool materialize_all = false;  // the plain total lowering: every operation its own stage
  bool parallel = true;
  bool row_groups = true;
  bool packed_contractions = true;  // with units: matrix products of blocks
  bool owned_axes = true;           // points of `parallel` are cut along axes that they own
  int64_t owned_rows = 0;           // of such a tile; 0: kOwnedRows or kOwnedRowsOfUnits
  bool fuse_multiply_add = true;
  int64_t region_slice = 0;  // members of a slice of a region fold or scan; 0: chosen by their size
  Bounds bounds = Bounds::kGuard;
};

inline constexpr int64_t kShortRow = 8192;
// Operands that all tiles share are packed by each: a CPU's are larger.
inline constexpr int64_t kOwnedRows = 256;
inline constexpr int64_t kOwnedRowsOfUnits = 128;

// What a call must meet for a program that was lowered with `short_rows` or `row_tiles`.
struct Assumptions {
  struct Row {
    tile::Id extent;
    int64_t most;
    int64_t multiple;  // the extent is one
  };
  std::vector<Row> rows;
  // Every row has a member, and the last stride of every view is 1; rows of those that tiles are
  // read from or written to begin at multiples of kRowAlignment bytes.
  bool dense_rows = false;
  std::vector<tile::Id> excluded;  // bools that are false: overlaps of views
};
inline constexpr int64_t kRowAlignment = 16;

struct Lowered {
  std::unique_ptr<tile::Program> program;
  Report report;                      // of the plan and of every stage; not yet ordered
  std::vector<tile::Id> row_extents;  // with units: what `short_rows` speaks of
  Assumptions assumed;
  int64_t held_rows = 0;  // stages whose rows stay in registers
};

// Total: what verifies lowers.
Lowered LowerToTiles(const Module& module, const LowerOptions& options);

}  // namespace intent::lower
