// Arithmetic, comparisons and conversions of every dtype: compiled code against the tile
// interpreter, bit for bit (NaNs are equal to NaNs), on special values and random bits.

#include <gtest/gtest.h>

#include <random>

#include "compiler/cpu/pointwise_sweep.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/loops.h"

namespace intent::cpu {
namespace {

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};

// The value-only dtypes meet two widths each, as wide as registers make them.
bool Meets(DType dtype, int lanes) {
  if (BitWidth(dtype) == 128) return lanes == 1 || lanes == 4;
  return IsAddressable(dtype) ? lanes != 4 : lanes == 1 || lanes == 16;
}

class PointwiseTest : public testing::TestWithParam<int> {};

TEST_P(PointwiseTest, BinaryOperations) {
  const int lanes = GetParam();
  for (DType dtype : kDTypes) {
    if (!Meets(dtype, lanes)) continue;
    Sweep sweep(dtype, lanes);
    const auto is = [&](BinaryKind kind) {
      return numerics::IsDefined(kind, dtype) && !(kind == BinaryKind::kPow && IsFloat(dtype));
    };
    for (BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv,
                            BinaryKind::kFloorDiv, BinaryKind::kMod, BinaryKind::kPow,
                            BinaryKind::kIpowTrunc, BinaryKind::kMaximum, BinaryKind::kMinimum,
                            BinaryKind::kMaximumNum, BinaryKind::kMinimumNum, BinaryKind::kAnd,
                            BinaryKind::kOr, BinaryKind::kXor, BinaryKind::kShl, BinaryKind::kShr,
                            BinaryKind::kFloatFloorDiv, BinaryKind::kFloatFloorMod}) {
      if (!is(kind)) continue;
      sweep.Add("binary." + std::string(NameOf(kind)) + "(%x, %y)", dtype);
    }
    for (CompareKind kind : {CompareKind::kEq, CompareKind::kNe, CompareKind::kLt, CompareKind::kLe,
                             CompareKind::kGt, CompareKind::kGe}) {
      if (!numerics::IsDefined(kind, dtype)) continue;
      sweep.Add("compare." + std::string(NameOf(kind)) + "(%x, %y)", DType::kBool);
    }
    if (dtype == DType::kF32) {
      sweep.Add("binary.div(%x, %y) {approximate}", dtype);
      sweep.Add("binary.div(%x, %y) {approximate flush_to_zero}", dtype);
    }
    if (dtype == DType::kF32 || dtype == DType::kF64) sweep.Add("fma(%x, %y, %z)", dtype);
    const Pairs pairs(dtype);
    sweep.Check(pairs.xs, pairs.ys, pairs.zs, SweepTargets(lanes));
  }
}

TEST_P(PointwiseTest, UnaryOperationsAndConversions) {
  const int lanes = GetParam();
  for (DType dtype : kDTypes) {
    if (!Meets(dtype, lanes)) continue;
    Sweep sweep(dtype, lanes);
    for (UnaryKind kind : {UnaryKind::kNegate, UnaryKind::kNot, UnaryKind::kAbs, UnaryKind::kFloor,
                           UnaryKind::kSqrt}) {
      if (!numerics::IsDefined(kind, dtype)) continue;
      sweep.Add("unary." + std::string(NameOf(kind)) + "(%x)", dtype);
    }
    for (DType to : kDTypes) {
      if (BitWidth(dtype) != 128 && !Meets(to, lanes)) continue;
      sweep.Add("cast(%x)", to);
      sweep.Add("saturating_cast(%x)", to);
      if (BitWidth(to) == BitWidth(dtype)) sweep.Add("bitcast(%x)", to);
    }
    std::mt19937_64 random(7);
    Scalars xs = InterestingValues(dtype, 7);
    if (IsInteger(dtype)) AddHalfways(dtype, &xs);
    if (BitWidth(dtype) <= 8) xs = EveryCode(dtype);
    while (xs.size() % 32 != 0 || xs.size() < 1024) {
      const uint64_t high = random(), low = random();
      // Integers of every length.
      const int shift = IsFloat(dtype) ? 0 : static_cast<int>(high % 64);
      xs.push_back(RandomValue(dtype, high >> shift, low >> shift));
    }
    sweep.Check(xs, xs, xs, SweepTargets(lanes));
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, PointwiseTest, testing::Values(1, 4, 8, 16, 32));

}  // namespace
}  // namespace intent::cpu
