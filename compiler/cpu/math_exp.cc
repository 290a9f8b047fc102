// exp, exp2 and sigmoid on f32 and f64 lanes, tanh and erf on f32 lanes (f64: libm). Coefficients
// are minimax fits of ours, of relative error below 2^-27 for f32 and 2^-63 for f64.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

bool IsDouble(V x) { return x->getType()->getScalarType()->isDoubleTy(); }

// Adding it leaves the nearest whole number in the low bits of the sum.
double Rounder(V x) { return IsDouble(x) ? 0x1.8p52 : 0x1.8p23; }

// Keeps NaN: no comparison holds.
V Clamp(const Lanes& l, V x, double low, double high) {
  x = l.Select(l.Less(x, l.F(x, low)), l.F(x, low), x);
  return l.Select(l.Less(l.F(x, high), x), l.F(x, high), x);
}

// 2^k for a whole k that gives a normal number, from k + Rounder.
V PowerOfTwo(const Lanes& l, V rounded) {
  const bool wide = IsDouble(rounded);
  const uint64_t place = wide ? 52 : 23, bias = wide ? 1023 : 127;
  V bits = l.b.CreateShl(l.Bits(rounded), l.I(l.Bits(rounded), place));
  return l.FromBits(l.b.CreateAdd(bits, l.I(bits, bias << place)));
}

// p * 2^n for p around 1 and a whole n, down to the last subnormal and up to overflow, rounded
// once.
V Scale(const Lanes& l, V p, V n) {
  llvm::IRBuilderBase& b = l.b;
  if (l.facts.avx512 && Lanes::Count(p) > 1) {
    const bool wide = IsDouble(p);
    return l.InPieces({p, n}, wide ? 8 : 16, [&](const std::vector<V>& part) -> V {
      const llvm::Intrinsic::ID id = wide ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                                          : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
      V nothing = llvm::Constant::getNullValue(part[0]->getType());
      V all = llvm::ConstantInt::getSigned(b.getIntNTy(wide ? 8 : 16), -1);
      return b.CreateIntrinsic(id, {}, {part[0], part[1], nothing, all, b.getInt32(4)});
    });
  }
  // Two factors, each a normal number: only the second product may round.
  V rounder = l.F(p, Rounder(p));
  V half = l.Add(l.Mul(n, l.F(p, 0.5)), rounder);
  V rest = l.Add(l.Sub(n, l.Sub(half, rounder)), rounder);
  return l.Mul(l.Mul(p, PowerOfTwo(l, half)), PowerOfTwo(l, rest));
}

}  // namespace

// NaN stays; the ends overflow, and underflow through gradual rounding.
V EmitExp(const Lanes& l, V x) {
  const bool wide = IsDouble(x);
  x = wide ? Clamp(l, x, -746.0, 710.0) : Clamp(l, x, -104.0, 89.0);
  V rounder = l.F(x, Rounder(x));
  V n = l.Sub(l.Mad(x, l.F(x, 1.44269504088896341), rounder), rounder);
  // ln 2 in two parts; n times the first is exact.
  V r = l.Mad(n, l.F(x, wide ? -0x1.62e42fefp-1 : -0.693359375), x);
  r = l.Mad(n, l.F(x, wide ? -0x1.473de6af278edp-34 : 2.12194440054690583e-4), r);
  V p = wide ? l.Polynomial(
                   r, {1.0, 1.0, 0.5, 0.16666666666666713, 0.04166666666666703, 0.00833333333330414,
                       0.0013888888888699774, 0.0001984126992034709, 2.4801587701766506e-05,
                       2.7557215039163273e-06, 2.7556941216771756e-07, 2.5118049230216232e-08,
                       2.1020485322501327e-09})
             : l.Polynomial(r, {1.0, 1.0, 0.4999999344782419, 0.16666520631614354,
                                0.041668388038650174, 0.008368716888523387, 0.0013814599017809139});
  return Scale(l, p, n);
}

V EmitExp2(const Lanes& l, V x) {
  const bool wide = IsDouble(x);
  x = wide ? Clamp(l, x, -1080.0, 1025.0) : Clamp(l, x, -152.0, 129.0);
  V rounder = l.F(x, Rounder(x));
  V n = l.Sub(l.Add(x, rounder), rounder);
  V r = l.Sub(x, n);  // exact
  V p =
      wide ? l.Polynomial(r, {1.0, 0.6931471805599453, 0.24022650695910072, 0.055504108664821736,
                              0.009618129107628562, 0.001333355814638173, 0.00015403530393171854,
                              1.5252733864853256e-05, 1.321548700339239e-06, 1.0178047527787362e-07,
                              7.054814843664358e-09, 4.457239824858203e-10, 2.5855225754033588e-11})
           : l.Polynomial(r, {1.0, 0.6931472150113671, 0.24022652785489532, 0.055503104667893426,
                              0.00961769260991986, 0.001340667453608392, 0.0001559475763201185});
  return Scale(l, p, n);
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
  V e = EmitExp(l, l.Add(magnitude, magnitude));
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
  V far = l.Sub(l.F(x, 1), EmitExp(l, g));
  return l.Select(l.Less(l.Abs(x), l.F(x, 1.0)), near, l.CopySign(far, x));
}

}  // namespace intent::cpu
