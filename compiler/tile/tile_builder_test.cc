#include "compiler/tile/tile_builder.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace intent::tile {
namespace {

TEST(TileBuilderTest, FoldedIndexArithmeticIsExactOrLeftToRunTime) {
  Program program;
  TileBuilder builder(&program);
  const auto index = [&](int64_t value) { return builder.Index(value); };
  const auto is = [&](Id id, int64_t value) { return builder.IsIndex(id, value); };
  const int64_t half = int64_t{1} << 62;
  EXPECT_TRUE(is(builder.Mod(index(half), index(half + 1)), half));
  EXPECT_TRUE(is(builder.Mod(index(-1), index(INT64_MAX)), INT64_MAX - 1));
  EXPECT_TRUE(is(builder.Mod(index(-7), index(3)), 2));
  EXPECT_TRUE(is(builder.FloorDiv(index(-7), index(3)), -3));
  EXPECT_TRUE(is(builder.FloorDiv(index(INT64_MIN), index(1)), INT64_MIN));
  EXPECT_EQ(builder.ConstantOf(builder.Add(index(INT64_MAX), index(1))), nullptr);
  EXPECT_EQ(builder.ConstantOf(builder.Mul(index(half), index(2))), nullptr);
  EXPECT_EQ(builder.ConstantOf(builder.FloorDiv(index(INT64_MIN), index(-1))), nullptr);
  EXPECT_EQ(builder.ConstantOf(builder.Mod(index(1), index(0))), nullptr);
}

}  // namespace
}  // namespace intent::tile
