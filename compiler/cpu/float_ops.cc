// Pointwise operations on floats. Formats below f32 compute in f32 and round once per operation.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>

#include "compiler/cpu/lanes.h"
#include "compiler/numerics/float_format.h"

namespace intent::cpu {
namespace {

// IEEE 754-2019 maximum or minimum. The comparison settles unequal numbers; equal ones are the same
// number or two zeros, whose sign bits "and" (maximum) or "or" (minimum) to the right one.
V Extreme(const Lanes& l, V x, V y, bool maximum) {
  llvm::IRBuilderBase& b = l.b;
  V chosen =
      maximum ? l.Select(b.CreateFCmpOGT(x, y), x, y) : l.Select(b.CreateFCmpOLT(x, y), x, y);
  V xb = l.Bits(x), yb = l.Bits(y);
  V merged = l.FromBits(maximum ? b.CreateAnd(xb, yb) : b.CreateOr(xb, yb));
  V settled = l.Select(b.CreateFCmpOEQ(x, y), merged, chosen);
  return l.Select(l.IsNan(x), x, settled);  // a NaN in y is chosen: no comparison holds
}

// A NaN on one side only is ignored.
V ExtremeNum(const Lanes& l, V x, V y, bool maximum) {
  return l.Select(l.IsNan(y), x, l.Select(l.IsNan(x), y, Extreme(l, x, y, maximum)));
}

// Subnormals become zeros of their sign (seed 000 chapter 5.1).
V Flush(const Lanes& l, V x) {
  return l.Select(l.Less(l.Abs(x), l.F(x, 0x1p-126)), l.CopySign(l.F(x, 0), x), x);
}

// Exact division satisfies the approximate bound; beyond 2^126 the divisor's reciprocal is zero.
V ApproximateDivide(const Lanes& l, V x, V y) {
  llvm::IRBuilderBase& b = l.b;
  V magnitude = l.Abs(y);
  V huge = b.CreateAnd(b.CreateFCmpOGT(magnitude, l.F(y, 0x1p126)),
                       b.CreateFCmpOLT(magnitude, l.F(y, HUGE_VAL)));
  V sign = l.FromBits(b.CreateXor(l.Bits(x), l.Bits(y)));
  // x * 0 is a zero, or NaN if x is infinite or NaN.
  V product = l.Mul(l.Abs(x), l.F(x, 0));
  return l.Select(huge, l.CopySign(product, sign), l.Div(x, y));
}

// The exact floored remainder, rounded once; a zero takes the divisor's sign.
V FloorRemainder(const Lanes& l, V x, V y) {
  llvm::IRBuilderBase& b = l.b;
  V rest = l.PerLane("fmod", {x, y});  // exact in the operands' own format
  V zero = l.F(x, 0);
  V differ = b.CreateXor(l.Less(rest, zero), l.Less(y, zero));
  V adjusted = l.Select(differ, l.Add(rest, y), rest);
  return l.Select(b.CreateFCmpOEQ(rest, zero), l.CopySign(zero, y), adjusted);
}

V Real(const Lanes& l, UnaryKind kind, V x) {
  switch (kind) {
    case UnaryKind::kExp:
      return EmitExp(l, x);
    case UnaryKind::kExp2:
      return EmitExp2(l, x);
    case UnaryKind::kLog:
      return EmitLog(l, x);
    case UnaryKind::kLog1p:
      return EmitLog1p(l, x);
    case UnaryKind::kSin:
      return EmitSin(l, x);
    case UnaryKind::kCos:
      return EmitCos(l, x);
    case UnaryKind::kErf:
      return EmitErf(l, x);
    case UnaryKind::kSigmoid:
      return EmitSigmoid(l, x);
    case UnaryKind::kTanh:
      return EmitTanh(l, x);
    case UnaryKind::kRsqrt:
      return EmitRsqrt(l, x);
    case UnaryKind::kAsin:
      return l.PerLane("asin", {x});
    case UnaryKind::kErfc:
      return l.PerLane("erfc", {x});
    case UnaryKind::kSqrt:
      return l.Sqrt(x);
    case UnaryKind::kFloor:
      return l.b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case UnaryKind::kLgamma:
      return EmitLgamma(l, x);
    case UnaryKind::kI0:
      return EmitI0(l, x);
    case UnaryKind::kNegate:
    case UnaryKind::kNot:
    case UnaryKind::kAbs:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

V Lanes::FloatUnary(UnaryKind kind, DType dtype, V x, bool approximate, bool flush) const {
  const bool signs = kind == UnaryKind::kNegate || kind == UnaryKind::kAbs;
  if (signs && numerics::FormatOf(dtype).has_negative_zero) {
    // The sign is a bit of its own.
    const uint64_t sign = uint64_t{1} << (BitWidth(dtype) - 1);
    V bits = Bits(x);
    bits = kind == UnaryKind::kNegate ? b.CreateXor(bits, I(bits, sign))
                                      : b.CreateAnd(bits, I(bits, sign - 1));
    return b.CreateBitCast(bits, x->getType());
  }
  V value = Open(dtype, x);
  if (signs) {
    return Close(dtype, kind == UnaryKind::kNegate ? b.CreateFNeg(value) : Abs(value));
  }
  // The approximate forms keep the bounds of the exact ones; only flushing shows.
  flush = flush && approximate;
  if (flush) value = Flush(*this, value);
  V result = Real(*this, kind, value);
  if (result == nullptr) return nullptr;
  if (flush) result = Flush(*this, result);
  return Close(dtype, result);
}

V Lanes::FloatBinary(BinaryKind kind, DType dtype, V x, V y, bool approximate, bool flush) const {
  x = Open(dtype, x);
  y = Open(dtype, y);
  switch (kind) {
    case BinaryKind::kAdd:
      return Close(dtype, Add(x, y));
    case BinaryKind::kSub:
      return Close(dtype, Sub(x, y));
    case BinaryKind::kMul:
      return Close(dtype, Mul(x, y));
    case BinaryKind::kDiv:
      if (flush) return Flush(*this, ApproximateDivide(*this, Flush(*this, x), Flush(*this, y)));
      return Close(dtype, approximate ? ApproximateDivide(*this, x, y) : Div(x, y));
    case BinaryKind::kPow:
      return Close(dtype, EmitPow(*this, x, y));
    case BinaryKind::kMaximum:
      return Close(dtype, Extreme(*this, x, y, true));
    case BinaryKind::kMinimum:
      return Close(dtype, Extreme(*this, x, y, false));
    case BinaryKind::kMaximumNum:
      return Close(dtype, ExtremeNum(*this, x, y, true));
    case BinaryKind::kMinimumNum:
      return Close(dtype, ExtremeNum(*this, x, y, false));
    case BinaryKind::kFloatFloorDiv:
      return Close(dtype, b.CreateUnaryIntrinsic(llvm::Intrinsic::floor,
                                                 Open(dtype, Close(dtype, Div(x, y)))));
    case BinaryKind::kFloatFloorMod:
      return Close(dtype, FloorRemainder(*this, x, y));
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
      return nullptr;
  }
  return nullptr;
}

}  // namespace intent::cpu
