#include "client/cpp/arguments.h"

#include <algorithm>
#include <vector>

namespace intent::client {

execute::v1::Argument ViewOf(uint32_t allocation, std::span<const int64_t> extents) {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    __builtin_mul_overflow(stride, std::max<int64_t>(extents[axis], 1),
                           &stride);  // the daemon refuses such a view
  }
  return ViewOf(allocation, 0, extents, strides);
}

execute::v1::Argument ViewOf(uint32_t allocation, int64_t offset, std::span<const int64_t> extents,
                             std::span<const int64_t> strides) {
  execute::v1::Argument argument;
  execute::v1::View& view = *argument.mutable_view();
  view.set_allocation(allocation);
  view.set_offset(offset);
  view.mutable_extents()->Assign(extents.begin(), extents.end());
  view.mutable_strides()->Assign(strides.begin(), strides.end());
  return argument;
}

execute::v1::Argument ScalarOfBits(uint64_t bits) {
  execute::v1::Argument argument;
  argument.set_scalar_bits(bits);
  return argument;
}

}  // namespace intent::client
