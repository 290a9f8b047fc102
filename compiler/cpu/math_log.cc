// log, log1p and pow. log of f32 lanes stays in f32; log1p and pow of f32 lanes go through f64,
// whose polynomials here are good to 2^-39: more than one rounding to f32 can see. f64 lanes call
// libm.

#include <llvm/IR/IRBuilder.h>

#include <cmath>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

bool IsDouble(V x) { return x->getType()->getScalarType()->isDoubleTy(); }

// A positive normal number as 2^exponent * fraction, the fraction around 1: from sqrt(1/2) up.
struct Split {
  V exponent;  // a whole float
  V fraction;
};

Split SplitFloat(const Lanes& l, V x) {
  llvm::IRBuilderBase& b = l.b;
  const bool wide = IsDouble(x);
  const uint64_t bits = wide ? 52 : 23;
  const uint64_t half_root = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  V moved = b.CreateSub(l.Bits(x), l.I(l.Bits(x), half_root));
  V exponent = b.CreateAShr(moved, l.I(moved, bits));
  V low = b.CreateAnd(moved, l.I(moved, (uint64_t{1} << bits) - 1));
  V fraction = l.FromBits(b.CreateAdd(low, l.I(low, half_root)));
  if (!wide) return {b.CreateSIToFP(exponent, x->getType()), fraction};
  // Exponents fit 32 bits, whose conversion every target has in vectors.
  return {b.CreateSIToFP(b.CreateTrunc(exponent, l.IntOf(x, 32)), x->getType()), fraction};
}

// log of a positive normal f64 fraction around 1.
V LogFraction(const Lanes& l, V m) {
  V f = l.Sub(m, l.F(m, 1));
  V s = l.Div(f, l.Add(m, l.F(m, 1)));
  V square = l.Mul(s, s);
  V p = l.Polynomial(square, {0.6666666666658672, 0.4000000005254204, 0.28571417082670697,
                              0.22223375250445634, 0.18123521189840255, 0.16821345813081665});
  return l.Mad(l.Mul(s, square), p, l.Add(s, s));
}

}  // namespace

V EmitLog(const Lanes& l, V x) {
  if (IsDouble(x)) return l.PerLane("log", {x});
  // Subnormals grow into normal range first.
  V small = l.Less(x, l.F(x, 0x1p-126));
  V grown = l.Select(small, l.Mul(x, l.F(x, 0x1p23)), x);
  Split split = SplitFloat(l, grown);
  V exponent = l.Add(split.exponent, l.Select(small, l.F(x, -23), l.F(x, 0)));
  V f = l.Sub(split.fraction, l.F(x, 1));
  V square = l.Mul(f, f);
  V p = l.Polynomial(
      f, {0.3333333170302659, -0.25000821200262213, 0.20001227499185067, -0.16623351467545003,
          0.14201738009587445, -0.13160222788391188, 0.12761749475862127, -0.07634608603796719});
  V y = l.Mul(l.Mul(p, f), square);
  y = l.Mad(exponent, l.F(x, -2.12194440054690583e-4), y);
  y = l.Mad(square, l.F(x, -0.5), y);
  V result = l.Add(f, y);
  result = l.Mad(exponent, l.F(x, 0.693359375), result);
  // Infinity and NaN as they are, zero to -infinity, below zero to NaN.
  result = l.Select(l.Less(x, l.F(x, HUGE_VAL)), result, x);
  V below = l.Select(l.b.CreateFCmpOEQ(x, l.F(x, 0)), l.F(x, -HUGE_VAL), l.F(x, std::nan("")));
  return l.Select(l.b.CreateFCmpOLE(x, l.F(x, 0)), below, result);
}

V EmitLog1p(const Lanes& l, V x) {
  if (IsDouble(x)) return l.PerLane("log1p", {x});
  V wide = l.Widen(x);
  V one = l.F(wide, 1);
  V sum = l.Add(wide, one);
  Split split = SplitFloat(l, sum);
  V y = l.Mad(split.exponent, l.F(wide, 0.69314718055994531), LogFraction(l, split.fraction));
  // What rounding 1 + x lost, to first order.
  V lost = l.Sub(wide, l.Sub(sum, one));
  V result = l.Narrow(l.Add(y, l.Div(lost, sum)));
  // Tiny values and zeros are their own result, with their sign.
  result = l.Select(l.Less(l.Abs(x), l.F(x, 0x1p-30)), x, result);
  result = l.Select(l.Less(x, l.F(x, HUGE_VAL)), result, x);
  V below = l.Select(l.b.CreateFCmpOEQ(x, l.F(x, -1)), l.F(x, -HUGE_VAL), l.F(x, std::nan("")));
  return l.Select(l.b.CreateFCmpOLE(x, l.F(x, -1)), below, result);
}

// 2^(y log2 |x|) in f64, then the sign and the special cases of IEEE 754 pow.
V EmitPow(const Lanes& l, V x, V y) {
  if (IsDouble(x)) return l.PerLane("pow", {x, y});
  llvm::IRBuilderBase& b = l.b;
  V wx = l.Abs(l.Widen(x)), wy = l.Widen(y);
  V one = l.F(wx, 1), zero = l.F(wx, 0), infinity = l.F(wx, HUGE_VAL);
  Split split = SplitFloat(l, wx);
  V log2 = l.Mad(LogFraction(l, split.fraction), l.F(wx, 1.4426950408889634), split.exponent);
  log2 = l.Select(b.CreateFCmpOEQ(wx, zero), l.F(wx, -HUGE_VAL), log2);
  log2 = l.Select(l.Less(wx, infinity), log2, wx);  // infinity and NaN
  V z = l.Mul(log2, wy);
  z = l.Select(l.Less(z, l.F(wx, -200)), l.F(wx, -200), z);
  z = l.Select(l.Less(l.F(wx, 200), z), l.F(wx, 200), z);
  constexpr double kRounder = 0x1.8p52;
  V rounder = l.Add(z, l.F(wx, kRounder));
  V r = l.Sub(z, l.Sub(rounder, l.F(wx, kRounder)));
  V p = l.Polynomial(r, {1.0, 0.6931471805412016, 0.2402265069474072, 0.05550410959344246,
                         0.009618129559387066, 0.001333343405472774, 0.00015403098936557316,
                         1.531423469915535e-05, 1.3344235291750586e-06});
  // The low bits of the rounder are the whole part; the shift leaves them in the exponent's place.
  V scale = b.CreateShl(l.Bits(rounder), l.I(l.Bits(rounder), 52));
  scale = l.FromBits(b.CreateAdd(scale, l.I(scale, uint64_t{1023} << 52)));
  V magnitude = l.Mul(p, scale);
  // 1 to any power and any number to the power 0, NaN included, are 1.
  V unit = b.CreateOr(b.CreateFCmpOEQ(wy, zero), b.CreateFCmpOEQ(wx, one));
  V result = l.Narrow(l.Select(unit, one, magnitude));
  // Below zero (and at -0): odd whole exponents give the sign, other fractions give NaN.
  const auto whole = [&](V v) {
    return b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v), v);
  };
  V is_whole = whole(y);
  V is_odd = b.CreateAnd(is_whole, b.CreateNot(whole(l.Mul(y, l.F(y, 0.5)))));
  V negative = b.CreateICmpSLT(l.Bits(x), l.I(l.Bits(x), 0));
  V signed_result = b.CreateFNeg(result);
  result = l.Select(b.CreateAnd(negative, is_odd), signed_result, result);
  V undefined = b.CreateAnd(l.Less(x, l.F(x, 0)), b.CreateNot(is_whole));
  undefined = b.CreateAnd(undefined, l.Less(l.F(x, -HUGE_VAL), x));
  result = l.Select(undefined, l.F(x, std::nan("")), result);
  // x is NaN: result is NaN unless y is 0. y is NaN: unless x is +1; -1 is covered by is_whole.
  return l.Select(b.CreateAnd(l.IsNan(y), b.CreateFCmpUNE(x, l.F(x, 1))), y, result);
}

}  // namespace intent::cpu
