#pragma once

// Copies between two strided arrays of equal extents, element by element.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace intent::interp {

// Row-major strides of a dense array, in elements.
std::vector<int64_t> DenseStrides(std::span<const int64_t> extents);

// Product of the extents, modulo 2^64: beside an extent of zero the others may be of any size.
int64_t CountOf(std::span<const int64_t> extents);

// Strides count elements and may be negative or zero. The arrays do not overlap. element_bytes is
// 1, 2, 4, 8 or 16.
void CopyStrided(int64_t element_bytes, std::span<const int64_t> extents, const std::byte* source,
                 std::span<const int64_t> source_strides, std::byte* target,
                 std::span<const int64_t> target_strides);

}  // namespace intent::interp
