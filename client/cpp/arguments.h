#pragma once

// Arguments of an execution in their wire form: views of allocations and scalars.

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>

#include "intent/execute/v1/execute.pb.h"

namespace intent::client {

// A row-major view that begins with its allocation. `allocation` is a position in Execute's list.
execute::v1::Argument ViewOf(uint32_t allocation, std::span<const int64_t> extents);

// Any view: the element at coordinates 0, 0, ... lies at `offset`; offset and strides count
// elements of the view's dtype, strides may be negative or zero.
execute::v1::Argument ViewOf(uint32_t allocation, int64_t offset, std::span<const int64_t> extents,
                             std::span<const int64_t> strides);

// The storage bits of a parameter's dtype: 0x3c00 for 1 in f16.
execute::v1::Argument ScalarOfBits(uint64_t bits);

// A scalar of the C++ type that the parameter's dtype has.
template <typename T>
requires std::floating_point<T> || std::integral<T> execute::v1::Argument ScalarOf(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::endian::native == std::endian::little);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return ScalarOfBits(bits);
}

}  // namespace intent::client
