// sin, cos and rsqrt. f32 lanes reduce and evaluate in f64; lanes beyond the range where that is
// exact go to libm together. f64 lanes call libm.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

bool IsDouble(V x) { return x->getType()->getScalarType()->isDoubleTy(); }

// Quadrants below 2^21: products with the first two parts of pi/2 (33 bits each) are exact, so no
// target needs FMA here.
constexpr double kLimit = 0x1p20;

V SinCos(const Lanes& l, V x, bool cosine) {
  const char* name = cosine ? "cos" : "sin";
  if (IsDouble(x)) return l.PerLane(name, {x});
  llvm::IRBuilderBase& b = l.b;
  V wide = l.Widen(x);
  constexpr double kRounder = 0x1.8p52;
  V rounder = l.Mad(wide, l.F(wide, 0.63661977236758138), l.F(wide, kRounder));
  V n = l.Sub(rounder, l.F(wide, kRounder));
  V r = l.Mad(n, l.F(wide, -0x1.921fb544p+0), wide);
  r = l.Mad(n, l.F(wide, -0x1.0b4611a6p-34), r);
  r = l.Mad(n, l.F(wide, -0x1.3198a2e037073p-69), r);
  V square = l.Mul(r, r);
  V s = l.Polynomial(square, {-0.1666666664142652, 0.008333329362280083, -0.00019839327136451188,
                              2.718237275738285e-06});
  s = l.Mad(l.Mul(s, square), r, r);
  V c = l.Polynomial(square, {1.0, -0.5, 0.04166666662247716, -0.0013888883722633113,
                              2.479951176623325e-05, -2.7209547937134477e-07});
  // The quadrant stands in the rounder's low bits.
  V quadrant = l.Bits(rounder);
  if (cosine) quadrant = b.CreateAdd(quadrant, l.I(quadrant, 1));
  V odd = b.CreateICmpNE(b.CreateAnd(quadrant, l.I(quadrant, 1)), l.I(quadrant, 0));
  V value = l.Bits(l.Select(odd, c, s));
  V sign = b.CreateShl(b.CreateAnd(quadrant, l.I(quadrant, 2)), l.I(quadrant, 62));
  V near = l.Narrow(l.FromBits(b.CreateXor(value, sign)));
  if (!cosine) near = l.Select(b.CreateFCmpOEQ(x, l.F(x, 0)), x, near);  // -0 stays

  V far = b.CreateNot(l.Less(l.Abs(x), l.F(x, kLimit)));
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* slow = llvm::BasicBlock::Create(b.getContext(), "far", before->getParent());
  auto* join = llvm::BasicBlock::Create(b.getContext(), "near", before->getParent());
  b.CreateCondBr(l.Any(far), slow, join);
  b.SetInsertPoint(slow);
  V exact = l.Select(far, l.PerLane(name, {x}), near);
  llvm::BasicBlock* after = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(near, before);
  result->addIncoming(exact, after);
  return result;
}

}  // namespace

V EmitSin(const Lanes& l, V x) { return SinCos(l, x, false); }
V EmitCos(const Lanes& l, V x) { return SinCos(l, x, true); }

V EmitRsqrt(const Lanes& l, V x) { return l.Div(l.F(x, 1), l.Sqrt(x)); }

}  // namespace intent::cpu
