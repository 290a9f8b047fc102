#pragma once

// Test support: runs objects for AArch64 on a host of another architecture, through the cross
// toolchain of Debian and qemu-aarch64. One emulated process (tests/targets/run_kernel.c) serves
// all calls; it is started anew when a kernel ended it. Not thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/intent_call.h"

namespace intent::testing {

// A call with addresses of this process; views lie in its allocations.
struct EmulatedCall {
  struct View {
    size_t allocation = 0;
    int64_t offset_bytes = 0;
    int64_t element_bytes = 1;
    std::vector<int64_t> extents, strides;
  };
  std::vector<std::vector<uint8_t>> allocations;  // also what the kernel leaves
  std::vector<View> views;
  std::vector<uint64_t> scalars;
  intent_error error = {};
};

class Emulator {
 public:
  // Why there is no emulator here; empty if there is one.
  static std::string Missing();
  Emulator();
  ~Emulator();
  Emulator(const Emulator&) = delete;

  // An object of the AArch64 back end as a shared one, by its path. The file lives
  // as long as the emulator, or until it is removed.
  absl::StatusOr<std::string> Link(std::string_view object);
  // Runs intent_kernel of a linked object and returns its status. An error if the process ends, or
  // the kernel breaks what run_kernel.c checks.
  absl::StatusOr<int32_t> Run(const std::string& library, EmulatedCall* call);

 private:
  struct Process;
  absl::Status Start();

  std::string folder_;
  int64_t linked_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace intent::testing
