#pragma once

// For tests on a GPU: the first device, its memory and kernels whose images are at hand. Everything
// runs on one stream and is waited for. One thread. A failing call of the driver ends the process
// with its message: what follows would mean nothing.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/cuda_runtime/driver.h"

namespace intent::gpu_test {

// Memory on the device; owns it.
class Buffer {
 public:
  Buffer(const gpu::Driver& driver, size_t bytes);
  Buffer(const gpu::Driver& driver, std::span<const uint8_t> bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;

  gpu::DevicePointer address() const { return address_; }
  std::vector<uint8_t> Read() const;

 private:
  const gpu::Driver& driver_;
  size_t bytes_;
  gpu::DevicePointer address_ = 0;
};

// A loaded image.
class Kernels {
 public:
  Kernels(const gpu::Driver& driver, const std::string& image);
  ~Kernels();
  Kernels(const Kernels&) = delete;

  // Blocks of 256 threads; parameters are words of 64 bits. Waits for the end.
  void Launch(const std::string& name, unsigned blocks, std::span<const uint64_t> words) const;

 private:
  const gpu::Driver& driver_;
  gpu::Module module_ = nullptr;
};

class DeviceSession {
 public:
  // FailedPrecondition: there is no GPU.
  static absl::StatusOr<std::unique_ptr<DeviceSession>> Open();

  const gpu::Driver& driver() const { return driver_; }
  const std::string& name() const { return name_; }
  // "sm_90a": with all its features.
  const std::string& architecture() const { return architecture_; }

 private:
  explicit DeviceSession(const gpu::Driver& driver);

  const gpu::Driver& driver_;
  std::string name_, architecture_;
};

}  // namespace intent::gpu_test
