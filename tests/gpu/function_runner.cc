#include "tests/gpu/function_runner.h"

#include <cstdlib>
#include <iostream>

namespace intent::gpu_test {

FunctionRunner::FunctionRunner(const DeviceSession& session, const Images& images, DType dtype,
                               Conversions conversions)
    : driver_(session.driver()), functions_(cuda::DeviceFunctionsOf(dtype)) {
  const absl::StatusOr<std::string> image = images.Functions(dtype, conversions);
  if (!image.ok()) {
    std::cerr << image.status() << "\n";
    std::exit(1);
  }
  kernels_.emplace(driver_, *image);
}

void FunctionRunner::SetOperands(const cuda::DeviceOperands& operands) {
  count_ = operands.count;
  x_ = std::make_unique<Buffer>(driver_, operands.x);
  y_ = std::make_unique<Buffer>(driver_, operands.y);
  z_ = std::make_unique<Buffer>(driver_, operands.z);
}

std::vector<uint8_t> FunctionRunner::Run(size_t number) const {
  const DType out = functions_[number].out;
  const Buffer result(driver_,
                      std::vector<uint8_t>(count_ * static_cast<size_t>(StorageBytes(out)), 0xee));
  kernels_->Launch(
      "k" + std::to_string(number), 128,
      std::vector<uint64_t>{x_->address(), y_->address(), z_->address(), result.address(), count_});
  return result.Read();
}

}  // namespace intent::gpu_test
