// Strided copies against the definition, on random shapes and strides.

#include "compiler/interp/strided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace intent::interp {
namespace {

TEST(Strided, DenseStridesAndCounts) {
  const std::vector<int64_t> shape{2, 3, 4};
  EXPECT_EQ(DenseStrides(shape), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(CountOf(shape), 24);
  EXPECT_EQ(CountOf({}), 1);
  EXPECT_EQ(CountOf(std::vector<int64_t>{INT64_MAX, 0, INT64_MAX}), 0);
}

TEST(Strided, PermutedAndReversedCopiesAreThoseOfTheDefinition) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    const size_t rank = static_cast<size_t>(pick(0, 5));
    std::vector<int64_t> extents(rank), order(rank);
    for (int64_t& extent : extents) extent = trial % 50 == 0 ? pick(0, 90) : pick(0, 6);
    if (trial % 50 == 0 && rank > 2) extents.assign(rank, 1);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    // The source's axes lie in memory in a random order and some run backwards.
    std::vector<int64_t> permuted(rank), strides(rank);
    for (size_t i = 0; i < rank; ++i) permuted[i] = extents[static_cast<size_t>(order[i])];
    const std::vector<int64_t> dense = DenseStrides(permuted);
    int64_t origin = 0;
    for (size_t i = 0; i < rank; ++i) {
      const size_t axis = static_cast<size_t>(order[i]);
      const bool backwards = pick(0, 2) == 0 && extents[axis] > 0;
      strides[axis] = backwards ? -dense[i] : dense[i];
      if (backwards) origin += (extents[axis] - 1) * dense[i];
    }
    const int64_t count = CountOf(extents);
    std::vector<uint32_t> source(static_cast<size_t>(count) + 1), target(source.size(), 0);
    std::iota(source.begin(), source.end(), 1u);
    CopyStrided(4, extents, reinterpret_cast<const std::byte*>(source.data() + origin), strides,
                reinterpret_cast<std::byte*>(target.data()), DenseStrides(extents));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, at = origin;
      for (size_t axis = rank; axis-- > 0;) {
        at += rest % extents[axis] * strides[axis];
        rest /= extents[axis];
      }
      ASSERT_EQ(target[static_cast<size_t>(i)], source[static_cast<size_t>(at)]);
    }
  }
}

TEST(Strided, EveryElementSizeAndTilesOfATranspose) {
  for (int64_t bytes : {1, 2, 4, 8, 16}) {
    const int64_t rows = 70, columns = 131;
    std::vector<unsigned char> source(static_cast<size_t>(rows * columns * bytes)),
        target(source.size());
    std::mt19937 random(static_cast<uint32_t>(bytes));
    for (auto& byte : source) byte = static_cast<unsigned char>(random());
    CopyStrided(bytes, std::vector<int64_t>{columns, rows},
                reinterpret_cast<const std::byte*>(source.data()), std::vector<int64_t>{1, columns},
                reinterpret_cast<std::byte*>(target.data()), std::vector<int64_t>{rows, 1});
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        ASSERT_EQ(std::memcmp(&target[static_cast<size_t>((c * rows + r) * bytes)],
                              &source[static_cast<size_t>((r * columns + c) * bytes)],
                              static_cast<size_t>(bytes)),
                  0);
      }
    }
  }
}

}  // namespace
}  // namespace intent::interp
