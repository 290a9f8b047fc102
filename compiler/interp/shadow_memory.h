#pragma once

// What a checked run remembers of one stretch of memory: which cells were written, and who accessed
// each inside the parallel loop that is running.
//
// A cell is as large as every element that may lie on it allows: views of several dtypes that
// overlap share one region, whose cells are the greatest common divisor of their elements and
// offsets. Pages exist only where something differs from the default, and count against a budget
// that outlives the region.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/interp/value.h"

namespace intent::interp {

// The last accesses of a cell, by record number of ParallelTasks; 0: none. One of each kind is
// enough: see parallel_tasks.h.
struct AccessHistory {
  uint32_t writer = 0;
  uint32_t reader = 0;
  uint32_t atomic_writer = 0;
  uint32_t atomic_reader = 0;
};

class ShadowRegion {
 public:
  // `written`: whether the cells start as written. cell_bytes divides bytes. Null: beyond the
  // budget.
  static std::shared_ptr<ShadowRegion> Make(MemoryBudget* budget, const std::byte* begin,
                                            int64_t bytes, int64_t cell_bytes, bool written);
  ~ShadowRegion();
  ShadowRegion(const ShadowRegion&) = delete;
  ShadowRegion& operator=(const ShadowRegion&) = delete;

  int64_t cell_bytes() const { return cell_bytes_; }
  // The first cell of an element.
  int64_t CellAt(const std::byte* address) const { return (address - begin_) / cell_bytes_; }

  bool IsWritten(int64_t cell) const {
    const Flags& page = flags_[static_cast<size_t>(cell / kFlags)];
    return page == nullptr ? written_ : page[static_cast<size_t>(cell % kFlags)];
  }
  // False: beyond the budget.
  bool SetWritten(int64_t cell, bool written);
  // Histories of another generation are forgotten. Null: beyond the budget.
  AccessHistory* HistoryOf(int64_t cell, uint32_t generation);

 private:
  static constexpr int64_t kFlags = 1024, kHistories = 256;  // cells of a page
  using Flags = std::unique_ptr<bool[]>;
  using Histories = std::unique_ptr<AccessHistory[]>;

  ShadowRegion(MemoryBudget* budget, const std::byte* begin, int64_t cells, int64_t cell_bytes,
               bool written);
  bool Take(int64_t bytes);

  MemoryBudget* budget_;
  int64_t taken_ = 0;
  const std::byte* begin_;
  int64_t cells_, cell_bytes_;
  bool written_;
  uint32_t generation_ = 0;
  std::vector<Flags> flags_;
  std::vector<Histories> histories_;
};

// A view of the kernel, and whether its first contents may be read.
struct ShadowedView {
  Resource* resource;
  bool initialised;
};

// Gives every view that has elements its region. Bytes that an initialised view covers are written.
// False: beyond the budget.
bool MakeViewRegions(MemoryBudget* budget, std::span<const ShadowedView> views);

}  // namespace intent::interp
