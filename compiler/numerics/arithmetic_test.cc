// Integer and floating arithmetic on scalars (seed 000 chapters 4 and 5, language.md chapters 6
// and 16). Eight-bit integers are tried exhaustively against unbounded arithmetic.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"

namespace intent::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

int FloorDivOracle(int a, int b) {
  return static_cast<int>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}

double F32(BinaryKind kind, double a, double b, Approximation mode = {}) {
  return AsDouble(EvalBinary(kind, MakeFloat(DType::kF32, a), MakeFloat(DType::kF32, b), mode));
}
double F32(UnaryKind kind, double a, Approximation mode = {}) {
  return AsDouble(EvalUnary(kind, MakeFloat(DType::kF32, a), mode));
}

// Every amount at every width: floor of a quotient, and the low bits of a product.
TEST(Integers, ShiftsByEveryAmount) {
  for (DType dtype :
       {DType::kI16, DType::kI32, DType::kI64, DType::kU16, DType::kU32, DType::kU64}) {
    const __int128 least = AsInteger(LowestOf(dtype)), greatest = AsInteger(GreatestOf(dtype));
    for (__int128 a : {least, least + 1, greatest / 3, greatest - 1, greatest}) {
      for (int amount = 0; amount < BitWidth(dtype); ++amount) {
        const ScalarValue x = MakeInteger(dtype, a), by = MakeInteger(dtype, amount);
        const __int128 power = __int128{1} << amount;
        const __int128 quotient = a / power - (a % power < 0 ? 1 : 0);
        EXPECT_TRUE(EvalBinary(BinaryKind::kShr, x, by) == MakeInteger(dtype, quotient))
            << DTypeName(dtype) << " >> " << amount;
        const unsigned __int128 low = static_cast<unsigned __int128>(a) << amount;
        const unsigned __int128 mask = (static_cast<unsigned __int128>(1) << BitWidth(dtype)) - 1;
        EXPECT_TRUE(EvalBinary(BinaryKind::kShl, x, by).bits == (low & mask))
            << DTypeName(dtype) << " << " << amount;
      }
    }
  }
}

TEST(Integers, EveryPairOfBytes) {
  for (DType dtype : {DType::kI8, DType::kU8, DType::kI4}) {
    const int least = static_cast<int>(AsInteger(LowestOf(dtype)));
    const int greatest = static_cast<int>(AsInteger(GreatestOf(dtype)));
    const int width = BitWidth(dtype);
    for (int a = least; a <= greatest; ++a) {
      for (int b = least; b <= greatest; ++b) {
        const ScalarValue x = MakeInteger(dtype, a), y = MakeInteger(dtype, b);
        const auto expect = [&](BinaryKind kind, Int128 expected) {
          if (!IsValidInput(kind, x, y)) {
            EvalBinary(kind, x, y);  // some value, no trap
            return;
          }
          ASSERT_EQ(EvalBinary(kind, x, y), MakeInteger(dtype, expected)) << a << " " << b;
        };
        expect(BinaryKind::kAdd, a + b);
        expect(BinaryKind::kSub, a - b);
        expect(BinaryKind::kMul, a * b);
        expect(BinaryKind::kFloorDiv, b == 0 ? 0 : FloorDivOracle(a, b));
        expect(BinaryKind::kMod, b == 0 ? 0 : a - FloorDivOracle(a, b) * b);
        expect(BinaryKind::kMaximum, std::max(a, b));
        expect(BinaryKind::kMinimum, std::min(a, b));
        expect(BinaryKind::kAnd, a & b);
        expect(BinaryKind::kOr, a | b);
        expect(BinaryKind::kXor, a ^ b);
        if (b >= 0 && b < width) {
          expect(BinaryKind::kShl, a * (1 << b));
          expect(BinaryKind::kShr, FloorDivOracle(a, 1 << b));
        }
        if (b >= 0) {
          int power = 1;
          for (int i = 0; i < b; ++i) power = static_cast<int8_t>(power * a);
          expect(BinaryKind::kPow, power);
        }
        ASSERT_EQ(EvalCompare(CompareKind::kLt, x, y), a < b);
        ASSERT_EQ(EvalCompare(CompareKind::kGe, x, y), a >= b);
        ASSERT_EQ(EvalCompare(CompareKind::kEq, x, y), a == b);
      }
    }
  }
}

TEST(Integers, EdgesOfWideTypes) {
  for (DType dtype : {DType::kI32, DType::kI64, DType::kIndex, DType::kI128}) {
    const ScalarValue least = LowestOf(dtype), minus_one = MakeInteger(dtype, -1);
    EXPECT_EQ(EvalBinary(BinaryKind::kMod, least, minus_one), MakeZero(dtype));
    EXPECT_FALSE(IsValidInput(BinaryKind::kFloorDiv, least, minus_one));
    EvalBinary(BinaryKind::kFloorDiv, least, minus_one);
    EvalBinary(BinaryKind::kFloorDiv, least, MakeZero(dtype));
    EXPECT_EQ(EvalUnary(UnaryKind::kAbs, least), least);
    EXPECT_EQ(EvalUnary(UnaryKind::kNegate, least), least);
    EXPECT_EQ(EvalBinary(BinaryKind::kAdd, GreatestOf(dtype), MakeInteger(dtype, 1)), least);
  }
  EXPECT_EQ(EvalBinary(BinaryKind::kMul, MakeInteger(DType::kU16, 65535),
                       MakeInteger(DType::kU16, 65535)),
            MakeInteger(DType::kU16, 1));
  EXPECT_EQ(EvalBinary(BinaryKind::kMul, MakeInteger(DType::kU64, -1), MakeInteger(DType::kU64, 3)),
            MakeInteger(DType::kU64, -3));
  EXPECT_EQ(EvalBinary(BinaryKind::kMul, MakeInteger(DType::kI4, 7), MakeInteger(DType::kI4, 2)),
            MakeInteger(DType::kI4, -2));
  EXPECT_EQ(EvalBinary(BinaryKind::kMul, MakeInteger(DType::kI128, Int128{1} << 126),
                       MakeInteger(DType::kI128, 2)),
            LowestOf(DType::kI128));
}

TEST(Integers, TruncatedPower) {
  const auto power = [](int a, int b) {
    return AsInteger(EvalBinary(BinaryKind::kIpowTrunc, MakeInteger(DType::kI32, a),
                                MakeInteger(DType::kI32, b)));
  };
  EXPECT_EQ(power(2, -1), 0);
  EXPECT_EQ(power(1, -5), 1);
  EXPECT_EQ(power(-1, -5), -1);
  EXPECT_EQ(power(-1, -4), 1);
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(power(3, 2'000'000'000), 632'360'961);
}

TEST(Floats, ExtremesOrderZerosAndPropagateNan) {
  EXPECT_FALSE(std::signbit(F32(BinaryKind::kMaximum, -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(F32(BinaryKind::kMaximum, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(F32(BinaryKind::kMinimum, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(F32(BinaryKind::kMinimumNum, -0.0, 0.0)));
  EXPECT_TRUE(std::isnan(F32(BinaryKind::kMaximum, kNan, 1)));
  EXPECT_TRUE(std::isnan(F32(BinaryKind::kMinimum, 1, kNan)));
  EXPECT_EQ(F32(BinaryKind::kMaximumNum, kNan, -kInfinity), -kInfinity);
  EXPECT_EQ(F32(BinaryKind::kMinimumNum, 1, kNan), 1);
  EXPECT_TRUE(std::isnan(F32(BinaryKind::kMinimumNum, kNan, kNan)));
}

TEST(Floats, ComparisonsWithNanAreFalseButNotEqual) {
  const ScalarValue nan = MakeFloat(DType::kF16, kNan), one = MakeFloat(DType::kF16, 1);
  for (CompareKind kind :
       {CompareKind::kEq, CompareKind::kLt, CompareKind::kLe, CompareKind::kGt, CompareKind::kGe}) {
    EXPECT_FALSE(EvalCompare(kind, nan, one));
    EXPECT_FALSE(EvalCompare(kind, one, nan));
  }
  EXPECT_TRUE(EvalCompare(CompareKind::kNe, nan, nan));
  EXPECT_TRUE(EvalCompare(CompareKind::kEq, MakeFloat(DType::kF16, -0.0), MakeZero(DType::kF16)));
}

TEST(Floats, NarrowFormatsRoundAfterEveryOperation) {
  const auto add = [](DType dtype, double a, double b) {
    return AsDouble(EvalBinary(BinaryKind::kAdd, MakeFloat(dtype, a), MakeFloat(dtype, b)));
  };
  EXPECT_EQ(add(DType::kF16, 2048, 1), 2048);
  EXPECT_EQ(add(DType::kF16, 2048, 3), 2052);
  EXPECT_EQ(add(DType::kBF16, 256, 1), 256);
  EXPECT_EQ(add(DType::kF16, 65504, 65504), kInfinity);
  EXPECT_EQ(add(DType::kF8E5M2, 8, 1), 8);
}

TEST(Floats, FloorDivisionAndRemainder) {
  EXPECT_EQ(F32(BinaryKind::kFloatFloorDiv, -7, 2), -4);
  EXPECT_EQ(F32(BinaryKind::kFloatFloorMod, -7, 2), 1);
  EXPECT_EQ(F32(BinaryKind::kFloatFloorMod, 7, -2), -1);
  EXPECT_EQ(F32(BinaryKind::kFloatFloorMod, -1, kInfinity), kInfinity);
  EXPECT_TRUE(std::signbit(F32(BinaryKind::kFloatFloorMod, 4, -2)));
  EXPECT_TRUE(std::isnan(F32(BinaryKind::kFloatFloorMod, 1, 0)));
}

TEST(Approximate, DivisionBeyondTheReciprocalsRange) {
  constexpr Approximation kApproximate{.approximate = true};
  constexpr Approximation kFlush{.approximate = true, .flush_to_zero = true};
  EXPECT_EQ(F32(BinaryKind::kDiv, 1e38, -0x1.8p126, kApproximate), 0);
  EXPECT_TRUE(std::signbit(F32(BinaryKind::kDiv, 1e38, -0x1.8p126, kApproximate)));
  EXPECT_TRUE(std::isnan(F32(BinaryKind::kDiv, kInfinity, 0x1.8p126, kApproximate)));
  EXPECT_EQ(F32(BinaryKind::kDiv, 1, kInfinity, kApproximate), 0);
  EXPECT_TRUE(std::isnan(F32(BinaryKind::kDiv, kNan, 0x1.8p126, kApproximate)));
  EXPECT_EQ(F32(BinaryKind::kDiv, 3, 2, kApproximate), 1.5);
  EXPECT_EQ(F32(BinaryKind::kDiv, 1, 0x1p-130, kFlush), kInfinity);
  EXPECT_EQ(F32(BinaryKind::kDiv, 0x1p-130, 1, kApproximate), 0x1p-130);
  EXPECT_EQ(F32(BinaryKind::kDiv, 0x1p-120, 0x1p10, kFlush), 0);
  EXPECT_EQ(F32(UnaryKind::kExp2, -130, kFlush), 0);
  EXPECT_EQ(F32(UnaryKind::kExp2, -130, kApproximate), 0x1p-130);
  EXPECT_EQ(F32(UnaryKind::kExp2, -0x1p-140, kFlush), 1);
  EXPECT_EQ(F32(UnaryKind::kTanh, 0x1p-140, kApproximate), 0x1p-140);
}

TEST(Loops, StridesZeroAndBlocksAgreeWithScalars) {
  constexpr size_t kCount = 1000;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU8}) {
    const size_t size = static_cast<size_t>(StorageBytes(dtype));
    std::vector<unsigned char> lhs(kCount * size), out(kCount * size);
    const auto at = [&](size_t i) {
      return IsFloat(dtype) ? MakeFloat(dtype, static_cast<double>(i) / 8)
                            : MakeInteger(dtype, static_cast<int>(i));
    };
    for (size_t i = 0; i < kCount; ++i) StoreScalar(at(i), &lhs[i * size]);
    alignas(16) unsigned char three[16];
    StoreScalar(at(3), three);
    BinaryLoop(BinaryKind::kMul, dtype, {}, lhs.data(), 1, three, 0, out.data(), kCount);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(LoadScalar(dtype, &out[i * size]), EvalBinary(BinaryKind::kMul, at(i), at(3)));
    }
    BinaryLoop(BinaryKind::kSub, dtype, {}, three, 0, lhs.data(), 1, out.data(), kCount);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(LoadScalar(dtype, &out[i * size]), EvalBinary(BinaryKind::kSub, at(3), at(i)));
    }
  }
}

TEST(Identities, AreNeutral) {
  EXPECT_EQ(AsDouble(IdentityOf(CombineKind::kMaximum, DType::kF32)), -kInfinity);
  EXPECT_EQ(AsDouble(IdentityOf(CombineKind::kMaximum, DType::kF8E4M3FN)), -448);
  EXPECT_EQ(AsInteger(IdentityOf(CombineKind::kMaximum, DType::kI8)), -128);
  EXPECT_EQ(AsInteger(IdentityOf(CombineKind::kMinimum, DType::kU8)), 255);
  EXPECT_TRUE(AsBool(IdentityOf(CombineKind::kAnd, DType::kBool)));
}

}  // namespace
}  // namespace intent::numerics
