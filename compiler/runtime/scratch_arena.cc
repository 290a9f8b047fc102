#include "compiler/runtime/scratch_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace intent {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPage = 4096;
// Up to here memory is cleared in place; a fault for every page would cost several times as much.
constexpr int64_t kKeptBytes = 32 << 20;

}  // namespace

ScratchArena::ScratchArena(int64_t limit_bytes)
    : limit_(std::max<int64_t>(limit_bytes, kPage) / kPage * kPage) {}

bool ScratchArena::Reserve() {
  void* base = mmap(nullptr, limit_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  base_ = static_cast<char*>(base);
  // Advice only: where large pages are off, small ones serve.
  madvise(base_, limit_, MADV_HUGEPAGE);
  return true;
}

ScratchArena::~ScratchArena() {
  if (base_ != nullptr) munmap(base_, limit_);
}

void* ScratchArena::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > limit_ - used_) return nullptr;
  if (base_ == nullptr && !Reserve()) return nullptr;
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  char* memory = base_ + used_;
  used_ = std::min(used_ + rounded, limit_);
  peak_ = std::max(peak_, used_);
  return memory;
}

void ScratchArena::Clear() {
  if (peak_ == 0) return;
  std::memset(base_, 0, std::min(peak_, kKeptBytes));
  Trim();
}

void ScratchArena::Trim() {
  if (peak_ > kKeptBytes) {
    const int64_t end = (peak_ + kPage - 1) / kPage * kPage;
    madvise(base_ + kKeptBytes, end - kKeptBytes, MADV_DONTNEED);
  }
  used_ = 0;
  peak_ = 0;
}

}  // namespace intent
