#pragma once

// ErrorRecords: where kernels leave what went wrong (`struct intent_error`), in host memory that
// the device writes to. A kernel touches its record when a guard fails, else never, and the host
// looks at it without asking the device: so a launch neither waits nor copies to learn of an error.
//
// Belongs to one device context, which is current in all calls that say so. Thread-safe.

#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "compiler/cuda_runtime/driver.h"
#include "compiler/driver/intent_call.h"

namespace intent::gpu {

class ErrorRecords {
 public:
  explicit ErrorRecords(const Driver& driver) : driver_(driver) {}

  // A zeroed record, at the same address for host and device. The context is current.
  absl::StatusOr<intent_error*> Take();

  // Of a record that no kernel writes to any more.
  void Give(intent_error* record);

  // Frees all memory; no record is in use. The context is current.
  void Release();

 private:
  const Driver& driver_;
  std::mutex mutex_;
  std::vector<void*> slabs_ ABSL_GUARDED_BY(mutex_);
  std::vector<intent_error*> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent::gpu
