#pragma once

// NumPy's .npy files (format versions 1 to 3, little endian, C or Fortran order) as arrays of the
// dtypes that both sides have. What NumPy lacks travels as bit patterns: bf16 as uint16 or
// ml_dtypes' bfloat16, f8 as uint8 or ml_dtypes' float8 types.
//
// Files are untrusted: the header is parsed strictly and bounded, sizes are checked before use.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/dtype.h"

namespace intent::client {

inline constexpr size_t kMaxRank = 64;

// Elements in host memory. Coordinate c lies at element sum(c[i] * strides[i]) of `data`, which
// holds every element exactly once.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, as many as `shape`
  std::string data;

  // Row-major, zero-filled. The number of bytes is the caller's to bound (ElementCount).
  static Array Zeros(std::vector<int64_t> shape, DType dtype);
};

// The number of elements; ResourceExhausted when extents are negative or the array would have more
// than `max_bytes`.
absl::StatusOr<int64_t> ElementCount(const std::vector<int64_t>& shape, DType dtype,
                                     int64_t max_bytes);

// The elements' bytes in row-major order.
std::string RowMajorBytes(const Array& array, DType dtype);

// NotFound when the file cannot be read; InvalidArgument, naming the file, unless it holds an array
// whose elements fit `dtype`.
absl::StatusOr<Array> ReadNpy(const std::string& path, DType dtype);

// The same from bytes; messages do not name a file.
absl::StatusOr<Array> ParseNpy(std::string_view bytes, DType dtype);

// A row-major file of format version 1.
std::string FormatNpy(const Array& array, DType dtype);
absl::Status WriteNpy(const std::string& path, const Array& array, DType dtype);

}  // namespace intent::client
