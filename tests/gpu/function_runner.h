#pragma once

// Runs device functions of one dtype on arrays.

#include <memory>
#include <optional>
#include <vector>

#include "compiler/cuda/device_sweep.h"
#include "tests/gpu/device_session.h"
#include "tests/gpu/images.h"

namespace intent::gpu_test {

class FunctionRunner {
 public:
  // Ends the process when there is no image: nothing was tested then.
  FunctionRunner(const DeviceSession& session, const Images& images, DType dtype,
                 Conversions conversions);

  const std::vector<cuda::DeviceFunction>& functions() const { return functions_; }
  // Uploads what later calls run on.
  void SetOperands(const cuda::DeviceOperands& operands);
  // The results of functions()[number].
  std::vector<uint8_t> Run(size_t number) const;

 private:
  const gpu::Driver& driver_;
  std::vector<cuda::DeviceFunction> functions_;
  std::optional<Kernels> kernels_;
  size_t count_ = 0;
  std::unique_ptr<Buffer> x_, y_, z_;
};

}  // namespace intent::gpu_test
