// Every format's codes, decoded and encoded, against an oracle that knows only the definition of a
// binary format (sign, exponent, fraction) and searches the table of all values for the nearest.

#include "compiler/numerics/float_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "compiler/numerics/scalar.h"

namespace intent::numerics {
namespace {

constexpr DType kSmall[] = {
    DType::kF8E4M3FN, DType::kF8E5M2,   DType::kF8E4M3,   DType::kF8E4M3FNUZ, DType::kF8E4M3B11FNUZ,
    DType::kF6E2M3FN, DType::kF6E3M2FN, DType::kF4E2M1FN, DType::kF16,        DType::kBF16};

// Finite magnitudes in the order of their codes.
std::vector<double> Magnitudes(DType dtype) {
  const FloatFormat format = FormatOf(dtype);
  std::vector<double> values;
  for (uint64_t code = 0; code <= format.max_code; ++code) {
    const int exponent = static_cast<int>(code >> format.mantissa_bits);
    const double fraction = static_cast<double>(code & ((1u << format.mantissa_bits) - 1)) *
                            std::ldexp(1.0, -format.mantissa_bits);
    values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - format.bias)
                                   : std::ldexp(1 + fraction, exponent - format.bias));
  }
  return values;
}

TEST(FloatFormat, LargestValuesAreThoseOfTheFormats) {
  const std::map<DType, double> largest = {
      {DType::kF16, 65504},         {DType::kF8E4M3FN, 448},      {DType::kF8E5M2, 57344},
      {DType::kF8E4M3, 240},        {DType::kF8E4M3FNUZ, 240},    {DType::kF8E4M3B11FNUZ, 30},
      {DType::kF6E2M3FN, 7.5},      {DType::kF6E3M2FN, 28},       {DType::kF4E2M1FN, 6},
      {DType::kF8E8M0FNU, 0x1p127}, {DType::kF32, 0x1.fffffep127}};
  for (const auto& [dtype, value] : largest) {
    const FloatFormat format = FormatOf(dtype);
    EXPECT_EQ(DecodeToDouble(format, format.max_code), value) << DTypeName(dtype);
  }
}

TEST(FloatFormat, EveryCodeDecodesByTheDefinitionAndComesBack) {
  for (DType dtype : kSmall) {
    const FloatFormat format = FormatOf(dtype);
    const std::vector<double> values = Magnitudes(dtype);
    for (uint64_t code = 0; code < values.size(); ++code) {
      ASSERT_EQ(DecodeToDouble(format, code), values[code]) << DTypeName(dtype) << " " << code;
      ASSERT_EQ(EncodeDouble(format, values[code]), code) << DTypeName(dtype);
      if (code == 0) continue;
      const uint64_t negative = code | format.SignBit();
      ASSERT_EQ(DecodeToDouble(format, negative), -values[code]) << DTypeName(dtype);
      ASSERT_EQ(EncodeDouble(format, -values[code]), negative) << DTypeName(dtype);
    }
  }
}

TEST(FloatFormat, MidpointsGoToTheEvenCodeAndTheirNeighboursToTheNearer) {
  for (DType dtype : kSmall) {
    const FloatFormat format = FormatOf(dtype);
    const std::vector<double> values = Magnitudes(dtype);
    for (uint64_t code = 0; code + 1 < values.size(); ++code) {
      const double middle = (values[code] + values[code + 1]) / 2;  // exact: one more bit
      const uint64_t even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(EncodeDouble(format, middle), even) << DTypeName(dtype) << " " << code;
      ASSERT_EQ(EncodeDouble(format, std::nextafter(middle, 0)), code) << DTypeName(dtype);
      ASSERT_EQ(EncodeDouble(format, std::nextafter(middle, 1e300)), code + 1);
    }
  }
}

TEST(FloatFormat, OverflowIsInfinityWhereThereIsOneAndSaturationClamps) {
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF16), 65519.99), 0x7bffu);
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF16), 65520), 0x7c00u);
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF16), -1e300), 0xfc00u);
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF8E5M2), 61440), 0x7cu);
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF8E4M3FN), 464), 0x7eu);  // a tie, to the even 448
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF8E4M3FN), -infinity, Overflow::kSaturate), 0xfeu);
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF16), infinity, Overflow::kSaturate), 0x7bffu);
  EXPECT_EQ(EncodeDouble(FormatOf(DType::kF4E2M1FN), 100), 0x7u);
}

TEST(FloatFormat, NanAndSignedZeros) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (DType dtype : kSmall) {
    const FloatFormat format = FormatOf(dtype);
    if (format.nan_code != 0) {
      EXPECT_TRUE(std::isnan(DecodeToDouble(format, EncodeDouble(format, nan))));
    }
    EXPECT_EQ(EncodeDouble(format, -0.0), format.has_negative_zero ? format.SignBit() : 0)
        << DTypeName(dtype);
  }
  EXPECT_TRUE(std::isnan(DecodeToDouble(FormatOf(DType::kF8E4M3FN), 0xff)));
  EXPECT_TRUE(std::isnan(DecodeToDouble(FormatOf(DType::kF8E5M2), 0xfd)));
  EXPECT_TRUE(std::isnan(DecodeToDouble(FormatOf(DType::kF8E8M0FNU), 0xff)));
}

TEST(FloatFormat, ScaleExponents) {
  const FloatFormat format = FormatOf(DType::kF8E8M0FNU);
  for (int code = 0; code <= 254; ++code) {
    const double value = std::ldexp(1.0, code - 127);
    EXPECT_EQ(DecodeToDouble(format, code), value);
    EXPECT_EQ(EncodeDouble(format, value), static_cast<uint64_t>(code));
  }
  EXPECT_EQ(EncodeDouble(format, 1.25), 127u);
  EXPECT_EQ(EncodeDouble(format, 1.75), 128u);
  EXPECT_EQ(EncodeDouble(format, 1.5), 128u);  // a tie, to the even code
  EXPECT_EQ(EncodeDouble(format, 3.0), 128u);
}

// Doubles a hair above or below an f16 midpoint look like the midpoint once rounded to f32.
TEST(FloatFormat, NoDoubleRoundingFromDouble) {
  EXPECT_EQ(MakeFloat(DType::kF16, 1 + 0x1p-11 + 0x1p-40).bits, 0x3c01u);
  EXPECT_EQ(MakeFloat(DType::kF16, 1 + 0x1p-11).bits, 0x3c00u);
  EXPECT_EQ(MakeFloat(DType::kF16, 1 + 3 * 0x1p-11 - 0x1p-40).bits, 0x3c01u);
  EXPECT_EQ(MakeFloat(DType::kBF16, 1 + 0x1p-8 + 0x1p-45).bits, 0x3f81u);
}

}  // namespace
}  // namespace intent::numerics
