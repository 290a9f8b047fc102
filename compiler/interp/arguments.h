#pragma once

// What a kernel is called with, in host memory (seed 000 chapter 8).

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "compiler/ir/op_attributes.h"

namespace intent::interp {

// An external view: coordinate c lies at element offset + sum(c[i] * strides[i]) of the allocation.
// Strides count elements; negative and zero ones are legal. The memory stays the caller's; views
// may overlap.
struct ViewArgument {
  DType dtype = DType::kBool;
  void* allocation = nullptr;
  int64_t allocation_bytes = 0;
  int64_t offset = 0;  // in elements
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
};

using Argument = std::variant<ScalarValue, ViewArgument>;

}  // namespace intent::interp
