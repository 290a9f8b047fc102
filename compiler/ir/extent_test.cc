#include "compiler/ir/extent.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace intent {
namespace {

// The value with every symbol bound to `number`.
std::optional<int64_t> At(const Extent& extent, int64_t number) {
  return extent.Evaluate([&](AtomKind, uint32_t) { return std::optional(number); });
}

TEST(Extent, OverflowIsInvalidAndStaysSo) {
  const Extent greatest(INT64_MAX), symbol = Extent::Symbol(0);
  EXPECT_FALSE((greatest + 1).valid());
  EXPECT_FALSE((greatest * symbol + symbol).valid());
  EXPECT_FALSE((Extent(INT64_MIN) * -1 + symbol).valid());
  EXPECT_FALSE(greatest + 1 == greatest + 1);
}

// A trap of the hardware, not only a wrong number.
TEST(Extent, TheQuotientThatOverflowsIsNotTaken) {
  const Extent least = Extent(INT64_MIN) * Extent::Symbol(0);
  EXPECT_FALSE(Extent::FloorDiv(INT64_MIN, -1).valid());
  EXPECT_FALSE(Extent::CeilDiv(INT64_MIN, -1).valid());
  EXPECT_TRUE(Extent::Mod(INT64_MIN, -1) == Extent(0));
  for (const Extent& divisor : {Extent(-1), Extent(-1) * Extent::Symbol(0)}) {
    EXPECT_EQ(At(Extent::FloorDiv(least, divisor), 1), std::nullopt);
    EXPECT_EQ(At(Extent::CeilDiv(least, divisor), 1), std::nullopt);
    EXPECT_EQ(At(Extent::Mod(least, divisor), 1), 0);
  }
}

TEST(Extent, DivisionRoundsTheSameFoldedAndBound) {
  const Extent symbol = Extent::Symbol(0);
  for (int64_t a = -7; a <= 7; ++a) {
    for (const int64_t b : {-3, -1, 1, 2, 3}) {
      EXPECT_EQ(At(Extent::FloorDiv(symbol, b), a), Extent::FloorDiv(a, b).constant());
      EXPECT_EQ(At(Extent::CeilDiv(symbol, b), a), Extent::CeilDiv(a, b).constant());
      EXPECT_EQ(At(Extent::Mod(symbol, b), a), Extent::Mod(a, b).constant());
      EXPECT_EQ(Extent::FloorDiv(a, b).constant() * b + Extent::Mod(a, b).constant(), a);
    }
  }
}

}  // namespace
}  // namespace intent
