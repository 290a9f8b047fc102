#pragma once

// What a kernel takes of the machine, from what the assembler says of it (NvrtcResult::log), and
// which drivers load it.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace intent::cuda {

struct KernelResources {
  uint32_t registers = 0;     // of a thread
  uint32_t shared_bytes = 0;  // of a block, static
  uint32_t local_bytes = 0;   // of a thread: stack frames of the kernel and what it calls, spills
  uint32_t spill_store_bytes = 0;
  uint32_t spill_load_bytes = 0;
  bool operator==(const KernelResources&) const = default;
};

// kInternal when the log does not speak of `entry`. The library's other functions in the log count
// where they spill.
absl::StatusOr<KernelResources> ReadResources(std::string_view log, std::string_view entry);

// "40 registers, no spills, ...", for the compile report.
std::string Describe(const KernelResources& resources);

// The least CUDA version, as cuDriverGetVersion counts (12080 is 12.8), of a driver that loads a
// cubin which NVRTC of CUDA `major` made for `architecture`: a driver loads what any minor version
// of its major one made, once it knows the architecture.
int MinimumCuda(int major, std::string_view architecture);

}  // namespace intent::cuda
