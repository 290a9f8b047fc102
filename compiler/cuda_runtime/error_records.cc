#include "compiler/cuda_runtime/error_records.h"

namespace intent::gpu {
namespace {

constexpr size_t kSlabBytes = 4096;
// Records of different kernels share no cache line.
constexpr size_t kRecordBytes = 64;
static_assert(sizeof(intent_error) <= kRecordBytes);

}  // namespace

absl::StatusOr<intent_error*> ErrorRecords::Take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    void* slab = nullptr;
    const Result result =
        driver_.MemHostAlloc(&slab, kSlabBytes, kHostMemoryPortable | kHostMemoryMapped);
    if (result != kSuccess) return ToStatus(result, "have memory for kernels' errors");
    slabs_.push_back(slab);
    for (size_t offset = 0; offset < kSlabBytes; offset += kRecordBytes) {
      free_.push_back(reinterpret_cast<intent_error*>(static_cast<char*>(slab) + offset));
    }
  }
  intent_error* const record = free_.back();
  free_.pop_back();
  *record = {};
  return record;
}

void ErrorRecords::Give(intent_error* record) {
  std::lock_guard lock(mutex_);
  free_.push_back(record);
}

void ErrorRecords::Release() {
  std::lock_guard lock(mutex_);
  for (void* const slab : slabs_) driver_.MemFreeHost(slab);
  slabs_.clear();
  free_.clear();
}

}  // namespace intent::gpu
