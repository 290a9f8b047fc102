#include "compiler/cuda_runtime/launch_memory.h"

#include <algorithm>

namespace intent::gpu {
namespace {

constexpr size_t kMaxStreams = 256;
constexpr size_t kBarrierBytes = 256;  // two counters, alone on their cache line
constexpr int64_t kGranularity = int64_t{1} << 20;

absl::Status CapturedTooEarly() {
  return absl::FailedPreconditionError(
      "a captured launch needs memory that its stream does not have yet: launch it once before the "
      "capture");
}

}  // namespace

// A destroyed stream's handle may come back as another stream's while the first one's work still
// runs, so streams are told apart by what never comes back, where the driver knows it.
absl::StatusOr<LaunchMemory::OfStream*> LaunchMemory::Find(Stream stream, bool capturing) {
  unsigned long long key = reinterpret_cast<uintptr_t>(stream);
  if (driver_.StreamGetId != nullptr) {
    if (Result result = driver_.StreamGetId(stream, &key); result != kSuccess) {
      return ToStatus(result, "tell which stream this is");
    }
  }
  auto found = streams_.find(key);
  if (found == streams_.end()) {
    if (capturing) return CapturedTooEarly();
    if (streams_.size() >= kMaxStreams) {
      if (absl::Status status = EvictOldest(); !status.ok()) return status;
    }
    OfStream memory;
    Result result = driver_.MemAllocAsync(&memory.barrier, kBarrierBytes, stream);
    if (result == kSuccess) {
      result = driver_.MemsetD8Async(memory.barrier, 0, kBarrierBytes, stream);
    }
    if (result != kSuccess) return ToStatus(result, "have memory for a stream's barrier");
    found = streams_.emplace(key, memory).first;
  }
  found->second.captured |= capturing;
  found->second.used = ++clock_;
  return &found->second;
}

absl::StatusOr<LaunchMemory::Lease> LaunchMemory::Get(Stream stream, int64_t scratch_bytes) {
  Lease lease;
  lease.lock = std::unique_lock(mutex_);
  int capturing = 0;
  if (Result result = driver_.StreamIsCapturing(stream, &capturing); result != kSuccess) {
    return ToStatus(result, "ask whether a stream is captured");
  }
  const absl::StatusOr<OfStream*> memory = Find(stream, capturing != 0);
  if (!memory.ok()) return memory.status();
  if (scratch_bytes > 0) {
    if (absl::Status status = Grow(stream, **memory, scratch_bytes, capturing != 0); !status.ok()) {
      return status;
    }
    lease.scratch = (*memory)->scratch;
  }
  lease.barrier = (*memory)->barrier;
  return lease;
}

absl::Status LaunchMemory::Grow(Stream stream, OfStream& memory, int64_t bytes, bool capturing) {
  if (bytes <= memory.scratch_bytes) return absl::OkStatus();
  if (capturing) return CapturedTooEarly();
  const int64_t rounded = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  DevicePointer larger = 0;
  if (Result result = driver_.MemAllocAsync(&larger, rounded, stream); result != kSuccess) {
    return ToStatus(result, "have scratch memory on the device");
  }
  if (memory.scratch != 0) {
    if (memory.captured) {
      pinned_.push_back(memory.scratch);
    } else if (Result result = driver_.MemFreeAsync(memory.scratch, stream); result != kSuccess) {
      return ToStatus(result, "give scratch memory back");
    }
  }
  memory.scratch = larger;
  memory.scratch_bytes = rounded;
  return absl::OkStatus();
}

absl::Status LaunchMemory::EvictOldest() {
  const auto oldest =
      std::min_element(streams_.begin(), streams_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  // Its stream may be gone, its work may not.
  if (Result result = driver_.CtxSynchronize(); result != kSuccess) {
    return ToStatus(result, "wait for the device");
  }
  if (oldest->second.captured) {
    pinned_.push_back(oldest->second.barrier);
    if (oldest->second.scratch != 0) pinned_.push_back(oldest->second.scratch);
  } else {
    driver_.MemFree(oldest->second.barrier);
    if (oldest->second.scratch != 0) driver_.MemFree(oldest->second.scratch);
  }
  streams_.erase(oldest);
  return absl::OkStatus();
}

absl::Status LaunchMemory::Clear(Stream stream) {
  std::lock_guard lock(mutex_);
  const absl::StatusOr<OfStream*> memory = Find(stream, /*capturing=*/false);
  if (!memory.ok()) return memory.status();
  if ((*memory)->scratch == 0) return absl::OkStatus();
  return ToStatus(driver_.MemsetD8Async((*memory)->scratch, 0, (*memory)->scratch_bytes, stream),
                  "clear scratch memory");
}

void LaunchMemory::Release() {
  std::lock_guard lock(mutex_);
  for (const auto& [key, memory] : streams_) {
    driver_.MemFree(memory.barrier);
    if (memory.scratch != 0) driver_.MemFree(memory.scratch);
  }
  for (const DevicePointer pointer : pinned_) driver_.MemFree(pointer);
  streams_.clear();
  pinned_.clear();
}

}  // namespace intent::gpu
