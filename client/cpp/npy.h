#pragma once

// Arrays of the command line: NumPy's .npy files, of the dtypes that both sides have. bf16 and f8
// travel as uint16 and uint8 bit patterns. Row-major only.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/dtype.h"

namespace intent::client {

struct Array {
  std::vector<int64_t> shape;
  std::string data;  // row-major elements
};

// InvalidArgument unless the file holds a row-major array whose elements fit `dtype`.
absl::StatusOr<Array> ReadNpy(const std::string& path, DType dtype);

absl::Status WriteNpy(const std::string& path, DType dtype, const Array& array);

}  // namespace intent::client
