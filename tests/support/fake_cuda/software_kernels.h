#pragma once

// Kernels that tests/support/software_gpu compiled: a shared object in memory.

#include <memory>
#include <optional>
#include <string>

#include "tests/support/fake_cuda/fake_kernels.h"

namespace fake_cuda {

class SoftwareKernels {
 public:
  // Null: `image` is no shared object, or cannot be loaded.
  static std::unique_ptr<SoftwareKernels> Load(const void* image);
  ~SoftwareKernels();
  SoftwareKernels(const SoftwareKernels&) = delete;

  // A kernel that ends when its launch does. It must not outlive this.
  std::optional<Kernel> Find(const std::string& name) const;

 private:
  explicit SoftwareKernels(void* library) : library_(library) {}
  void* const library_;
};

}  // namespace fake_cuda
