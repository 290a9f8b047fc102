#include "compiler/ir/scalar_text.h"

#include <gtest/gtest.h>

namespace intent {
namespace {

using Bits = unsigned __int128;

TEST(ScalarText, EveryPatternOfSmallTypesReadsBackToItself) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (BitWidth(dtype) > 16) continue;
    for (uint32_t bits = 0; bits < 1u << BitWidth(dtype); ++bits) {
      const std::string text = ScalarToText({dtype, bits});
      const std::optional<ScalarValue> back = ScalarFromText(dtype, text);
      ASSERT_TRUE(back && back->bits == bits) << DTypeName(dtype) << " " << text;
    }
  }
}

TEST(ScalarText, WideTypesReadBackToThemselves) {
  const Bits ones = ~Bits{0};
  for (DType dtype : {DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kIndex,
                      DType::kI128, DType::kU128, DType::kF32, DType::kF64}) {
    const Bits mask = ones >> (128 - BitWidth(dtype));
    Bits bits = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 2000; ++i) {
      bits = bits * 0xd1342543de82ef95 + (bits >> 97) + 1;
      for (Bits pattern : {bits & mask, bits & mask & (ones << 20), mask, mask >> 1, Bits(0)}) {
        const std::string text = ScalarToText({dtype, pattern});
        const std::optional<ScalarValue> back = ScalarFromText(dtype, text);
        ASSERT_TRUE(back && back->bits == pattern) << DTypeName(dtype) << " " << text;
      }
    }
  }
}

TEST(ScalarText, ReadsAsPeopleWrite) {
  EXPECT_EQ(ScalarToText({DType::kF32, 0x3fc00000}), "1.5");
  EXPECT_EQ(ScalarToText({DType::kF32, 0x80000000}), "-0.0");
  EXPECT_EQ(ScalarToText({DType::kF32, 0x7f800000}), "inf");
  EXPECT_EQ(ScalarToText({DType::kF32, 0x7fc00001}), "bits(0x7fc00001)");
  EXPECT_EQ(ScalarToText({DType::kF16, 0x3c00}), "1.0");
  EXPECT_EQ(ScalarToText({DType::kI8, 0x80}), "-128");
  EXPECT_EQ(ScalarToText({DType::kU8, 0x80}), "128");
  EXPECT_EQ(ScalarToText({DType::kBool, 1}), "true");
  EXPECT_EQ(ScalarToText({DType::kF8E4M3FN, 0x7e}), "448.0");
  EXPECT_EQ(ScalarToText({DType::kI128, Bits{1} << 127}),
            "-170141183460469231731687303715884105728");
}

TEST(ScalarText, RoundsDecimalsToTheNearestValue) {
  EXPECT_EQ(ScalarFromText(DType::kF32, "0.1")->bits, Bits{0x3dcccccd});
  EXPECT_EQ(ScalarFromText(DType::kF32, "3")->bits, Bits{0x40400000});
  EXPECT_EQ(ScalarFromText(DType::kF16, "0.1")->bits, Bits{0x2e66});
  EXPECT_EQ(ScalarFromText(DType::kF16, "65519.9")->bits, Bits{0x7bff});
  EXPECT_EQ(ScalarFromText(DType::kBF16, "1.00390625")->bits, Bits{0x3f80});
}

TEST(ScalarText, RefusesWhatTheTypeCannotHold) {
  EXPECT_FALSE(ScalarFromText(DType::kI8, "128"));
  EXPECT_TRUE(ScalarFromText(DType::kI8, "-128"));
  EXPECT_FALSE(ScalarFromText(DType::kU8, "-1"));
  EXPECT_FALSE(ScalarFromText(DType::kU8, "1.0"));
  EXPECT_FALSE(ScalarFromText(DType::kU128, "340282366920938463463374607431768211456"));
  EXPECT_FALSE(ScalarFromText(DType::kF32, "1e39"));
  EXPECT_FALSE(ScalarFromText(DType::kF16, "65520"));
  EXPECT_FALSE(ScalarFromText(DType::kF8E4M3FN, "inf"));
  EXPECT_FALSE(ScalarFromText(DType::kF8E4M3FNUZ, "-0.0"));
  EXPECT_FALSE(ScalarFromText(DType::kF8E8M0FNU, "3.0"));
  EXPECT_FALSE(ScalarFromText(DType::kF32, "nan"));
  EXPECT_FALSE(ScalarFromText(DType::kF32, "+1.0"));
  EXPECT_FALSE(ScalarFromText(DType::kF32, ""));
  EXPECT_FALSE(ScalarFromText(DType::kI4, "bits(0x10)"));
  EXPECT_FALSE(ScalarFromText(DType::kBool, "1"));
}

}  // namespace
}  // namespace intent
