#pragma once

// The kernels of the device tests, compiled.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/dtype.h"

namespace intent::gpu_test {

// How the device library converts formats of 8 bits.
enum class Conversions { kNative, kPortable };

// Where images come from: a folder of those made before, or NVRTC.
class Images {
 public:
  Images(std::string folder, std::string architecture)
      : folder_(std::move(folder)), architecture_(std::move(architecture)) {}

  // A kernel k<number> for each of cuda::DeviceFunctionsOf(dtype).
  absl::StatusOr<std::string> Functions(DType dtype, Conversions conversions) const;
  // The kernels of atomics_check.cc.
  absl::StatusOr<std::string> Atomics() const;

  // Makes all of them with NVRTC and writes them into the folder.
  absl::Status WriteAll() const;

 private:
  absl::StatusOr<std::string> Find(const std::string& name, const std::string& source,
                                   Conversions conversions) const;
  std::string PathOf(const std::string& name) const;

  std::string folder_, architecture_;
};

}  // namespace intent::gpu_test
