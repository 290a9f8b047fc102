#pragma once

// LaunchMemory: what launches need on the device beside their arguments, kept per stream: the two
// counters of the grid's barrier and scratch memory. Launches of one stream run one after another,
// so they share it; those of two streams may overlap, so they do not.
//
// Scratch only grows, and in the stream's order: the old piece goes when the launches before have
// ended, and nobody waits for that. What a captured graph has seen never goes. Belongs to one
// device context, which is current in all calls. Thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/cuda_runtime/driver.h"

namespace intent::gpu {

class LaunchMemory {
 public:
  explicit LaunchMemory(const Driver& driver) : driver_(driver) {}

  // Memory for one launch. Hold it until the launch is in its stream: nobody else can make that
  // stream's scratch grow, and so free this, meanwhile.
  struct Lease {
    DevicePointer barrier = 0;
    DevicePointer scratch = 0;  // 256-byte aligned; 0 when none was asked for
    std::unique_lock<std::mutex> lock;
  };

  // ResourceExhausted when the device has no room; FailedPrecondition when memory would have to be
  // made while the stream's work is captured for a graph.
  absl::StatusOr<Lease> Get(Stream stream, int64_t scratch_bytes);

  // Zeroes, in the stream's order, the scratch memory that its launches have had.
  absl::Status Clear(Stream stream);

  // Frees all; no launch uses it any more.
  void Release();

 private:
  struct OfStream {
    DevicePointer barrier = 0;
    DevicePointer scratch = 0;
    int64_t scratch_bytes = 0;
    bool captured = false;  // a graph may launch with this memory at any later time
    uint64_t used = 0;      // when last, for eviction
  };

  absl::StatusOr<OfStream*> Find(Stream stream, bool capturing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Grow(Stream stream, OfStream& memory, int64_t bytes, bool capturing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EvictOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Driver& driver_;
  std::mutex mutex_;
  std::map<unsigned long long, OfStream> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<DevicePointer> pinned_ ABSL_GUARDED_BY(mutex_);  // outgrown, but of some graph
  uint64_t clock_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace intent::gpu
