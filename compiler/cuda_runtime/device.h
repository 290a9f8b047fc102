#pragma once

// The CUDA devices that this process sees, and which code runs on which.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/cuda_runtime/driver.h"
#include "compiler/target/target.h"

namespace intent::gpu {

struct DeviceInfo {
  int index = 0;             // as the driver counts what CUDA_VISIBLE_DEVICES leaves
  std::string uuid;          // "GPU-12345678-9abc-..."
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  uint64_t memory_bytes = 0;
  int multiprocessors = 0;
  bool cooperative = false;    // a grid may meet at a barrier
  int shared_bytes_limit = 0;  // of a block, when it asks for all it may have

  // "sm_90": the plain target of the device.
  std::string Architecture() const;
};

// In the driver's order. FailedPrecondition where GetDriver fails or no device is visible.
absl::StatusOr<std::vector<DeviceInfo>> ListDevices();

// Picks by index ("0") or UUID, whole or an unambiguous start of at least "GPU-" and 4 digits;
// empty: the first. NotFound says which there are.
absl::StatusOr<DeviceInfo> PickDevice(const std::vector<DeviceInfo>& devices,
                                      std::string_view selector);

// The first that runs `target`; FailedPrecondition says which there are.
absl::StatusOr<DeviceInfo> FirstThatRuns(const std::vector<DeviceInfo>& devices,
                                         const Target& target);

// Whether machine code for `target` runs on the device: a plain target on every later minor
// revision of its major one, "sm_90a" on 9.0 alone.
bool Runs(const DeviceInfo& device, const Target& target);

// The index of the device whose memory `pointer` is; InvalidArgument when it is no device's.
absl::StatusOr<int> DeviceOf(DevicePointer pointer);

// The target to compile for: the device's own architecture with all its features when the table of
// targets has it, else the newest in the table that the device runs. FailedPrecondition when there
// is none.
absl::StatusOr<Target> NativeTarget(const DeviceInfo& device);

}  // namespace intent::gpu
