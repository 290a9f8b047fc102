// exp, exp2, sigmoid and tanh on f32 lanes; f64 lanes call libm. Coefficients are minimax fits of
// ours (relative error below 2^-27, tanh's near 0 included).

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

bool IsDouble(V x) { return x->getType()->getScalarType()->isDoubleTy(); }

constexpr double kRounder = 0x1.8p23;  // adding it leaves the nearest whole number in the low bits
constexpr uint64_t kRounderBits = 0x4b400000;

// Keeps NaN: no comparison holds.
V Clamp(const Lanes& l, V x, double low, double high) {
  x = l.Select(l.Less(x, l.F(x, low)), l.F(x, low), x);
  return l.Select(l.Less(l.F(x, high), x), l.F(x, high), x);
}

// p * 2^n for a whole n in [-300, 300] and p in [1/2, 4), rounded once. `rounder` is n + kRounder.
V Scale(const Lanes& l, V p, V n, V rounder) {
  llvm::IRBuilderBase& b = l.b;
  if (l.facts.avx512 && Lanes::Count(p) > 1) {
    return l.InPieces({p, n}, 16, [&](const std::vector<V>& part) -> V {
      V nothing = llvm::Constant::getNullValue(part[0]->getType());
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                               {part[0], part[1], nothing, b.getInt16(0xffff), b.getInt32(4)});
    });
  }
  // Two factors, each a normal number: only the second product may round.
  V whole = b.CreateSub(l.Bits(rounder), l.I(l.Bits(rounder), kRounderBits));
  V first = b.CreateAShr(whole, l.I(whole, 1));
  V second = b.CreateSub(whole, first);
  const auto power = [&](V k) {
    return l.FromBits(b.CreateShl(b.CreateAdd(k, l.I(k, 127)), l.I(k, 23)));
  };
  return l.Mul(l.Mul(p, power(first)), power(second));
}

// exp of f32 lanes; NaN stays, the ends overflow and underflow through gradual rounding.
V Exp32(const Lanes& l, V x) {
  x = Clamp(l, x, -104.0, 89.0);
  V rounder = l.Mad(x, l.F(x, 1.44269504088896341), l.F(x, kRounder));
  V n = l.Sub(rounder, l.F(x, kRounder));
  // ln 2 in two parts; n times the first is exact.
  V r = l.Mad(n, l.F(x, -0.693359375), x);
  r = l.Mad(n, l.F(x, 2.12194440054690583e-4), r);
  V p = l.Polynomial(r, {1.0, 1.0, 0.4999999344782419, 0.16666520631614354, 0.041668388038650174,
                         0.008368716888523387, 0.0013814599017809139});
  return Scale(l, p, n, rounder);
}

}  // namespace

V EmitExp(const Lanes& l, V x) { return IsDouble(x) ? l.PerLane("exp", {x}) : Exp32(l, x); }

V EmitExp2(const Lanes& l, V x) {
  if (IsDouble(x)) return l.PerLane("exp2", {x});
  x = Clamp(l, x, -152.0, 129.0);
  V rounder = l.Add(x, l.F(x, kRounder));
  V n = l.Sub(rounder, l.F(x, kRounder));
  V r = l.Sub(x, n);  // exact
  V p = l.Polynomial(r, {1.0, 0.6931472150113671, 0.24022652785489532, 0.055503104667893426,
                         0.00961769260991986, 0.001340667453608392, 0.0001559475763201185});
  return Scale(l, p, n, rounder);
}

// t = exp(-|x|) never overflows and keeps its precision where the result is tiny.
V EmitSigmoid(const Lanes& l, V x) {
  V t = EmitExp(l, l.b.CreateFNeg(l.Abs(x)));
  V one = l.F(x, 1);
  V top = l.Select(l.Less(x, l.F(x, 0)), t, one);
  return l.Div(top, l.Add(one, t));
}

V EmitTanh(const Lanes& l, V x) {
  if (IsDouble(x)) return l.PerLane("tanh", {x});
  V square = l.Mul(x, x);
  V q = l.Polynomial(square, {-0.3333328194209091, 0.13331442199875868, -0.053739715184936115,
                              0.02063908746431192, -0.005704987157560648});
  V near = l.CopySign(l.Mad(l.Mul(square, q), x, x), x);  // -0 stays
  V magnitude = l.Abs(x);
  V e = Exp32(l, l.Add(magnitude, magnitude));
  V far = l.Sub(l.F(x, 1), l.Div(l.F(x, 2), l.Add(e, l.F(x, 1))));
  return l.Select(l.Less(magnitude, l.F(x, 0.625)), near, l.CopySign(far, x));
}

V EmitErf(const Lanes& l, V x) {
  if (IsDouble(x)) return l.PerLane("erf", {x});
  V square = l.Mul(x, x);
  V q = l.Polynomial(square, {0.12837916572671987, -0.37612625824265283, 0.11283585148889265,
                              -0.026853811944919592, 0.005188327701983, -0.0008010193756463535,
                              7.853861758552855e-05});
  V near = l.Mad(x, q, x);
  // 1 - exp(-g) with g the logarithm of 1 / erfc; beyond 4 the result is 1.
  V t = Clamp(l, l.Abs(x), 0.0, 4.0);
  V g = l.Polynomial(
      t, {-0.00032057613731942025, -1.127171641308519, -0.6380122315203605, -0.10321818915139355,
          0.02188963564824719, -0.00296011246097494, 0.00018760461859260378});
  V far = l.Sub(l.F(x, 1), Exp32(l, g));
  return l.Select(l.Less(l.Abs(x), l.F(x, 1.0)), near, l.CopySign(far, x));
}

}  // namespace intent::cpu
