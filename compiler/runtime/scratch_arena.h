#pragma once

// ScratchArena: bump allocation for one thread of one kernel call.
//
// Address space for the whole limit is reserved by the first allocation, pages appear as they are
// touched, so pointers never move. Memory is zero at first; Clear, between two calls, makes
// everything that was used zero again, for the next call may be somebody else's. Belongs to one
// thread at a time.

#include <cstdint>

namespace intent {

class ScratchArena {
 public:
  explicit ScratchArena(int64_t limit_bytes);
  ~ScratchArena();
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  // 64-byte aligned; null beyond the limit or for a negative size.
  void* Allocate(int64_t bytes);

  int64_t Mark() const { return used_; }
  void Release(int64_t mark) { used_ = mark; }

  void Clear();

  // Between two calls of one user: what was used may be used again, as it is. Gives what is beyond
  // some tens of megabytes back to the system.
  void Trim();

 private:
  bool Reserve();

  const int64_t limit_;
  char* base_ = nullptr;  // null before the first allocation, and when there is no address space
  int64_t used_ = 0;
  int64_t peak_ = 0;
};

}  // namespace intent
