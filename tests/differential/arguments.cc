// Where views lie and what they hold.

#include <algorithm>
#include <cstring>

#include "compiler/numerics/scalar.h"
#include "tests/differential/generator.h"

namespace intent::testing {

// Axes in any order, with gaps, in either direction. Written elements do not collide; axes of reads
// may repeat (stride 0) or overlap. `low` and `high` receive the elements that the view reaches,
// relative to coordinates 0.
ViewPlace Generator::PlaceView(const Shape& shape, bool writable, int64_t* low, int64_t* high) {
  ViewPlace place;
  place.extents = shape;
  place.strides.assign(shape.size(), 0);
  std::vector<size_t> order;
  for (size_t axis = shape.size(); axis-- > 0;) order.push_back(axis);
  const bool plain = random_.Chance(40);
  if (!plain) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<size_t>(random_.Below(static_cast<int64_t>(i)))]);
    }
  }
  int64_t running = plain || random_.Chance(70) ? 1 : random_.Between(2, 3);
  *low = *high = 0;
  bool empty = false;
  for (const int64_t extent : shape) empty = empty || extent == 0;
  for (const size_t axis : order) {
    int64_t stride = running;
    if (!plain && random_.Chance(20)) stride = -stride;
    if (!plain && !writable && random_.Chance(12)) stride = 0;
    // Windows that slide over the same elements.
    if (!plain && !writable && random_.Chance(8)) stride = random_.Between(-2, 2);
    // Whatever is never stepped over may be any number.
    if (!plain && (empty || shape[axis] <= 1) && random_.Chance(50)) {
      stride = random_.Pick({int64_t{0}, int64_t{-7}, int64_t{1} << 40, -(int64_t{1} << 33)});
    }
    place.strides[axis] = stride;
    if (empty) continue;
    const int64_t reach = (shape[axis] - 1) * stride;
    (reach < 0 ? *low : *high) += reach;
    running *= shape[axis];
    if (!plain && random_.Chance(30)) running += random_.Between(1, 3);
    // Rows far apart, as in a part of a large array.
    if (!plain && random_.Chance(5) && running < 2000) running += 1021;
  }
  return place;
}

void Generator::FillAllocation(Allocation* allocation) {
  const size_t size = static_cast<size_t>(StorageBytes(allocation->dtype));
  for (size_t at = 0; at + size <= allocation->bytes.size(); at += size) {
    ScalarValue value;
    if (IsFloat(allocation->dtype)) {
      value = numerics::MakeFloat(allocation->dtype, static_cast<double>(random_.Between(-8, 8)));
      if (special_ && random_.Chance(10)) {
        const double inf = __builtin_inf();
        value = numerics::MakeFloat(allocation->dtype,
                                    random_.Pick({inf, -inf, __builtin_nan(""), -0.0}));
      }
      numerics::StoreScalar(value, allocation->bytes.data() + at);
      continue;
    }
    const uint64_t bits = random_.Next();
    if (allocation->dtype == DType::kBool) {
      allocation->bytes[at] = static_cast<uint8_t>(random_.Pick({0, 0, 0, 1, 1, 2, 255}));
      continue;
    }
    // Small, any, or an end of the range.
    const uint64_t small = bits % 7 - 3;
    const uint64_t end = uint64_t{1} << (8 * size - 1);
    const uint64_t chosen = random_.Pick({small, small, bits, end, end - 1});
    std::memcpy(allocation->bytes.data() + at, &chosen, size);
  }
}

void Generator::PlaceViews() {
  struct Reach {
    int64_t low = 0, high = 0;
  };
  std::vector<Reach> reach(view_count_);
  for (size_t i = 0; i < view_count_; ++i) {
    data_.views.push_back(PlaceView(*Concrete(stores_[i].type.shape()), stores_[i].writable,
                                    &reach[i].low, &reach[i].high));
  }
  for (size_t i = 0; i < view_count_; ++i) {
    if (group_[i] != i) continue;
    Allocation allocation;
    allocation.dtype = stores_[i].type.dtype();
    allocation.tolerance = ToleranceOf(stores_[i].limit, allocation.dtype);
    int64_t elements = 0;
    for (size_t j = i; j < view_count_; ++j) {
      if (group_[j] != i) continue;
      data_.views[j].allocation = data_.allocations.size();
      // Of views that share, some start at the same place and others nearby.
      const int64_t shift = random_.Pick({2, 2, 2, 3, 5, 2 + static_cast<int>(random_.Below(40))});
      data_.views[j].offset = shift - reach[j].low;
      elements = std::max(elements, data_.views[j].offset + reach[j].high + 3);
    }
    // Now and then a view is exactly another one.
    for (size_t j = i + 1; j < view_count_; ++j) {
      if (group_[j] == i && data_.views[j].extents == data_.views[i].extents &&
          random_.Chance(50) && (stores_[i].writable || !stores_[j].writable)) {
        data_.views[j] = data_.views[i];
      }
    }
    allocation.bytes.resize(static_cast<size_t>(elements * StorageBytes(allocation.dtype)));
    FillAllocation(&allocation);
    data_.allocations.push_back(std::move(allocation));
  }
}

}  // namespace intent::testing
