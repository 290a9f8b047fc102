#pragma once

// What powers of two divide an index value, and where memory lies, as far as a program and what it
// takes for granted tell.

#include <cstdint>
#include <set>
#include <unordered_map>

#include "compiler/lower/lower.h"
#include "compiler/tile/tile_ir.h"

namespace intent::cuda {

// Views that tiles are loaded from or stored to, by position among the program's. Of these, dense
// rows (lower::Assumptions) begin at multiples of lower::kRowAlignment.
std::set<size_t> ViewsOfTiles(const tile::Program& program);

class Multiples {
 public:
  // Both must outlive this. `assumed`: null for a program that serves all calls.
  Multiples(const tile::Program& program, const lower::Assumptions* assumed);

  // The greatest known power of two that divides a scalar index.
  int64_t DivisorOf(tile::Id id);
  // Bytes that are known to divide the address of mem[offset].
  int64_t AlignmentOf(tile::Id mem, tile::Id offset);
  // The extent of a row that is known to be no longer than an int counts.
  bool IsShort(tile::Id extent) const;

 private:
  int64_t Compute(const tile::Op& op);
  int64_t AlignmentOf(tile::Id mem);

  const tile::Program& program_;
  const lower::Assumptions* assumed_;
  std::set<size_t> aligned_;  // views
  std::unordered_map<tile::Id, int64_t> known_;
};

}  // namespace intent::cuda
