#pragma once

// DeviceContext: a device's primary context in this process, the one that torch, CuPy and the CUDA
// runtime use too, so pointers and streams of theirs are good here. Retained until the last user is
// gone. Thread-safe.

#include <memory>

#include "absl/status/statusor.h"
#include "compiler/cuda_runtime/device.h"
#include "compiler/cuda_runtime/driver.h"
#include "compiler/cuda_runtime/error_records.h"
#include "compiler/cuda_runtime/launch_memory.h"

namespace intent::gpu {

class DeviceContext {
 public:
  // The context of device `index`; the same object while somebody holds it.
  static absl::StatusOr<std::shared_ptr<DeviceContext>> Get(int index);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const Driver& driver() const { return driver_; }
  const DeviceInfo& info() const { return info_; }
  ErrorRecords& error_records() { return error_records_; }
  LaunchMemory& launch_memory() { return launch_memory_; }

  // Makes the context current for this thread and, when it ends, what was current before.
  class Current {
   public:
    explicit Current(const DeviceContext& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    absl::Status status() const { return ToStatus(result_, "use the device's context"); }

   private:
    const Driver& driver_;
    Context before_ = nullptr;
    bool changed_ = false;
    Result result_;
  };

  // Waits for everything that was launched on the device by this process.
  absl::Status Synchronize() const;

 private:
  DeviceContext(const Driver& driver, DeviceInfo info, int device, Context context);

  const Driver& driver_;
  const DeviceInfo info_;
  const int device_;
  const Context context_;
  ErrorRecords error_records_;
  LaunchMemory launch_memory_;
};

}  // namespace intent::gpu
