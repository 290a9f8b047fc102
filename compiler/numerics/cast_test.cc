// Casts between all dtypes (seed 000 chapter 5.2, language.md chapter 16).

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"

namespace intent::numerics {
namespace {

constexpr DType kIntegers[] = {DType::kIndex, DType::kI4,  DType::kI8,   DType::kI16,
                               DType::kI32,   DType::kI64, DType::kU8,   DType::kU16,
                               DType::kU32,   DType::kU64, DType::kI128, DType::kU128};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Int128> EdgesOf(DType dtype) {
  const Int128 least = AsInteger(LowestOf(dtype)), greatest = AsInteger(GreatestOf(dtype));
  return {least, least + 1, -1, 0, 1, 7, 8, greatest - 1, greatest, greatest / 2};
}

TEST(Cast, IntegersReduceModuloTheWidth) {
  for (DType from : kIntegers) {
    for (Int128 value : EdgesOf(from)) {
      const ScalarValue x = MakeInteger(from, value);
      for (DType to : kIntegers) {
        const int width = BitWidth(to);
        Uint128 expected = static_cast<Uint128>(AsInteger(x));
        if (width < 128) expected &= (Uint128{1} << width) - 1;
        // A u128 above 2^127 reads as its wrapped value, which has the same low bits.
        ASSERT_TRUE(EvalCast(x, to).bits == expected) << DTypeName(from) << " " << DTypeName(to);
      }
    }
  }
}

TEST(Cast, BoolIsZeroOrOneAndTruthIsNonZero) {
  for (DType dtype : kIntegers) {
    EXPECT_EQ(EvalCast(MakeBool(true), dtype), MakeInteger(dtype, 1));
    EXPECT_FALSE(AsBool(EvalCast(MakeBool(false), dtype)));
    EXPECT_TRUE(AsBool(MakeInteger(dtype, 2)));
  }
  EXPECT_TRUE(AsBool(MakeFloat(DType::kF32, kNan)));
  EXPECT_FALSE(AsBool(MakeFloat(DType::kF16, -0.0)));
  EXPECT_EQ(AsDouble(EvalCast(MakeBool(true), DType::kBF16)), 1.0);
}

// The result is a neighbour of the integer, and no neighbour of the result is nearer.
TEST(Cast, WideIntegersRoundOnceToNearestEven) {
  for (DType to : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const FloatFormat format = FormatOf(to);
    for (int bit = 1; bit < 63; ++bit) {
      for (int64_t offset = -3; offset <= 3; ++offset) {
        for (int half = 0; half < 62; half += 3) {
          const int64_t value = (int64_t{1} << bit) + (int64_t{1} << half) + offset;
          if (value <= 0) continue;
          const ScalarValue got = EvalCast(MakeInteger(DType::kI64, value), to);
          const uint64_t code = static_cast<uint64_t>(got.bits);
          ASSERT_EQ(EvalCast(MakeInteger(DType::kI64, -value), to).bits, code | format.SignBit());
          if (code > format.max_code) {
            ASSERT_GE(static_cast<double>(value), DecodeToDouble(format, format.max_code));
            continue;
          }
          const auto distance = [&](uint64_t c) {
            const Int128 d = static_cast<Int128>(DecodeToDouble(format, c)) - value;
            return d < 0 ? -d : d;
          };
          const Int128 here = distance(code);
          ASSERT_TRUE(here <= distance(code - 1)) << value;
          if (here == distance(code - 1)) {
            ASSERT_EQ(code % 2, 0u) << value;
          }
          if (code + 1 > format.max_code) continue;
          ASSERT_TRUE(here <= distance(code + 1)) << value;
          if (here == distance(code + 1)) {
            ASSERT_EQ(code % 2, 0u) << value;
          }
        }
      }
    }
  }
}

TEST(Cast, IntegerEdgesToFloats) {
  const auto f32 = [](DType from, Int128 value) {
    return AsDouble(EvalCast(MakeInteger(from, value), DType::kF32));
  };
  EXPECT_EQ(f32(DType::kI64, std::numeric_limits<int64_t>::min()), -0x1p63);
  EXPECT_EQ(f32(DType::kU64, ~uint64_t{0}), 0x1p64);
  EXPECT_EQ(f32(DType::kU128, -1), kInfinity);  // 2^128 - 1 rounds beyond the largest f32
  EXPECT_EQ(f32(DType::kI128, Int128{1} << 100), 0x1p100);
  // The double rounding trap: f64 first would make this a tie.
  const int64_t trap = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  EXPECT_EQ(f32(DType::kI64, trap), 0x1p60 + 0x1p37);
  EXPECT_EQ(AsDouble(EvalCast(MakeInteger(DType::kI32, 70000), DType::kF16)), kInfinity);
}

TEST(Cast, FloatsTruncateAndInvalidInputIsSomeValue) {
  for (DType from : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E5M2}) {
    EXPECT_EQ(AsInteger(EvalCast(MakeFloat(from, -1.75), DType::kI8)), -1);
    EXPECT_EQ(AsInteger(EvalCast(MakeFloat(from, -0.875), DType::kU32)), 0);
    EXPECT_TRUE(IsValidCast(MakeFloat(from, -0.875), DType::kU32));
    for (DType to : kIntegers) {
      for (double bad : {kNan, kInfinity, -kInfinity}) {
        const ScalarValue x = MakeFloat(from, bad);
        EXPECT_FALSE(IsValidCast(x, to));
        EXPECT_EQ(EvalCast(x, to), EvalSaturatingCast(x, to));
      }
    }
  }
  EXPECT_TRUE(IsValidCast(MakeFloat(DType::kF64, -0x1p63), DType::kI64));
  EXPECT_TRUE(IsValidCast(MakeInteger(DType::kI32, -448), DType::kF8E4M3FN));
  EXPECT_FALSE(IsValidCast(MakeInteger(DType::kI32, 449), DType::kF8E4M3FN));
  EXPECT_TRUE(IsValidCast(MakeInteger(DType::kI64, 1000000), DType::kF16));
  EXPECT_FALSE(IsValidCast(MakeInteger(DType::kI8, 0), DType::kF8E8M0FNU));
  EXPECT_TRUE(IsValidCast(MakeInteger(DType::kI8, 3), DType::kF8E8M0FNU));
  EXPECT_FALSE(IsValidCast(MakeFloat(DType::kF64, 0x1p63), DType::kI64));
  EXPECT_EQ(AsInteger(EvalCast(MakeFloat(DType::kF64, -0x1p63), DType::kI64)), -(Int128{1} << 63));
}

TEST(Cast, EveryHalfToEveryByteFormatIsNearestEven) {
  for (DType from : {DType::kF16, DType::kBF16}) {
    for (DType to : {DType::kF8E4M3FN, DType::kF8E5M2}) {
      const FloatFormat format = FormatOf(to);
      for (uint32_t code = 0; code < 0x10000; ++code) {
        const ScalarValue x{.dtype = from, .bits = code};
        const double value = AsDouble(x);
        const ScalarValue got = EvalCast(x, to);
        if (std::isnan(value)) {
          ASSERT_TRUE(std::isnan(AsDouble(got)));
          continue;
        }
        if (!IsValidCast(x, to)) continue;
        ASSERT_EQ((got.bits & format.SignBit()) != 0, std::signbit(value));
        const uint64_t magnitude = static_cast<uint64_t>(got.bits) & ~format.SignBit();
        if (magnitude > format.max_code) {
          const double largest = DecodeToDouble(format, format.max_code);
          const double below = DecodeToDouble(format, format.max_code - 1);
          ASSERT_GE(std::fabs(value), largest + (largest - below) / 2) << value;
          continue;
        }
        const double error = std::fabs(DecodeToDouble(format, magnitude) - std::fabs(value));
        for (int step : {-1, 1}) {
          if (magnitude == 0 && step < 0) continue;
          if (magnitude == format.max_code && step > 0) continue;
          const double other =
              std::fabs(DecodeToDouble(format, magnitude + step) - std::fabs(value));
          ASSERT_LE(error, other) << value;
          if (error == other) {
            ASSERT_EQ(magnitude % 2, 0u) << value;
          }
        }
      }
    }
  }
}

TEST(SaturatingCast, Clamps) {
  const auto saturate = [](const ScalarValue& x, DType to) {
    return AsInteger(EvalSaturatingCast(x, to));
  };
  EXPECT_EQ(saturate(MakeInteger(DType::kI32, 300), DType::kU8), 255);
  EXPECT_EQ(saturate(MakeInteger(DType::kI32, -300), DType::kU8), 0);
  EXPECT_EQ(saturate(MakeInteger(DType::kI32, -300), DType::kI8), -128);
  EXPECT_EQ(saturate(MakeInteger(DType::kU64, -1), DType::kI64), (Int128{1} << 63) - 1);
  EXPECT_EQ(saturate(MakeInteger(DType::kI32, 9), DType::kI4), 7);
  EXPECT_EQ(saturate(MakeFloat(DType::kF32, -9.9), DType::kI4), -8);
  EXPECT_EQ(saturate(MakeFloat(DType::kF32, 1e30), DType::kI32), (Int128{1} << 31) - 1);
  EXPECT_EQ(saturate(MakeFloat(DType::kF32, kNan), DType::kI32), 0);
  EXPECT_EQ(AsDouble(EvalSaturatingCast(MakeFloat(DType::kF32, kInfinity), DType::kF8E4M3FN)), 448);
  EXPECT_EQ(AsDouble(EvalSaturatingCast(MakeFloat(DType::kF32, -1e9), DType::kF16)), -65504);
  EXPECT_TRUE(
      std::isnan(AsDouble(EvalSaturatingCast(MakeFloat(DType::kF32, kNan), DType::kF8E5M2))));
}

TEST(Bitcast, KeepsBitsOfEqualWidths) {
  const ScalarValue one = MakeFloat(DType::kF32, 1.0);
  EXPECT_EQ(EvalBitcast(one, DType::kI32), MakeInteger(DType::kI32, 0x3f800000));
  EXPECT_EQ(EvalBitcast(one, DType::kI64), std::nullopt);
}

}  // namespace
}  // namespace intent::numerics
