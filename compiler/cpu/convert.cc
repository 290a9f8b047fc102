// Conversions between dtypes (seed 000 chapter 5.2, language.md chapter 16). Narrow floats convert
// by integer code, so that no library routine is imported and subnormals survive; f16 uses F16C
// where the target has it.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <bit>

#include "compiler/cpu/lanes.h"
#include "compiler/numerics/float_format.h"

namespace intent::cpu {
namespace {

using numerics::FloatFormat;
using numerics::FormatOf;

double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

V HardwareToF16(const Lanes& l, V value) {
  llvm::IRBuilderBase& b = l.b;
  const bool wide = l.facts.avx512 && Lanes::Count(value) >= 16;
  return l.InPieces({value}, wide ? 16 : 8, [&](const std::vector<V>& part) -> V {
    if (!wide) {
      return b.CreateIntrinsic(llvm::Intrinsic::x86_vcvtps2ph_256, {}, {part[0], b.getInt32(0)});
    }
    V nothing = llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getInt16Ty(), 16));
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_vcvtps2ph_512, {},
                             {part[0], b.getInt32(0), nothing, b.getInt16(0xffff)});
  });
}

}  // namespace

V Lanes::ToF32(DType from, V bits) const {
  const FloatFormat format = FormatOf(from);
  V wide = b.CreateZExt(bits, IntOf(bits, 32));
  if (from == DType::kBF16) return FromBits(b.CreateShl(wide, I(wide, 16)));
  if (from == DType::kF16 && facts.f16c) {
    llvm::Type* half = With(bits, llvm::Type::getHalfTy(module.getContext()));
    V wide_value = b.CreateFPExt(b.CreateBitCast(bits, half), FloatOf(bits));
    // Without the fence LLVM would move comparisons and rounding to half, which few targets have.
    return b.CreateArithmeticFence(wide_value, wide_value->getType());
  }
  if (!format.has_zero) {
    // e8m0: the code is f32's exponent, whose 0 and 255 mean something else.
    V value = b.CreateShl(wide, I(wide, 23));
    value = Select(b.CreateICmpEQ(wide, I(wide, 0)), I(wide, 0x00400000), value);
    return FromBits(Select(b.CreateICmpEQ(wide, I(wide, 0xff)), I(wide, 0x7fc00000), value));
  }
  // The code shifted into place is the value with the wrong bias: one exact product mends that,
  // for subnormals too.
  V code = b.CreateAnd(wide, I(wide, format.MagnitudeMask()));
  V moved = b.CreateShl(code, I(code, static_cast<uint64_t>(23 - format.mantissa_bits)));
  V scaled = FromBits(moved);
  V magnitude = Bits(Mul(scaled, F(scaled, PowerOfTwo(127 - format.bias))));
  if (format.nan_code != 0) {
    V special = format.has_negative_zero ? b.CreateICmpUGT(code, I(code, format.max_code))
                                         : b.CreateICmpEQ(wide, I(wide, format.nan_code));
    V mended = b.CreateOr(moved, I(moved, 0x7f800000));
    if (!format.has_infinity) mended = I(moved, 0x7fc00000);
    magnitude = Select(special, mended, magnitude);
  }
  V sign = b.CreateShl(b.CreateAnd(wide, I(wide, format.SignBit())),
                       I(wide, static_cast<uint64_t>(31 - format.MagnitudeBits())));
  return FromBits(b.CreateOr(magnitude, sign));
}

namespace {

// e8m0 holds powers of two: f32's exponent, rounded up above the middle of two of them; at the
// middle to the even code. Below zero there is nothing but the least value, which saturation gives.
V ToExponent(const Lanes& l, V value, bool saturate) {
  llvm::IRBuilderBase& b = l.b;
  const FloatFormat format = FormatOf(DType::kF8E8M0FNU);
  V bits = l.Bits(value);
  V magnitude = b.CreateAnd(bits, l.I(bits, 0x7fffffff));
  V exponent = b.CreateLShr(magnitude, l.I(bits, 23));
  V fraction = b.CreateAnd(magnitude, l.I(bits, 0x7fffff));
  V odd = b.CreateAnd(exponent, l.I(bits, 1));
  V up = b.CreateICmpUGT(b.CreateAdd(fraction, odd), l.I(bits, 0x400000));
  // f32's subnormals begin with 1.5 * 2^-127 at 0x600000.
  up = l.Select(b.CreateICmpEQ(exponent, l.I(bits, 0)),
                b.CreateICmpUGT(fraction, l.I(bits, 0x600000)), up);
  V code = b.CreateAdd(exponent, b.CreateZExt(up, bits->getType()));
  V nan = l.I(bits, format.nan_code);
  code = l.Select(b.CreateICmpUGT(code, l.I(bits, format.max_code)),
                  saturate ? l.I(bits, format.max_code) : nan, code);
  V negative = b.CreateICmpUGT(bits, l.I(bits, 0x80000000));
  code = l.Select(negative, saturate ? l.I(bits, 0) : nan, code);
  code = l.Select(b.CreateICmpUGT(magnitude, l.I(bits, 0x7f800000)), nan, code);
  return b.CreateTrunc(code, l.IntOf(bits, 8));
}

}  // namespace

V Lanes::FromF32(DType to, V value, bool saturate) const {
  if (to == DType::kF8E8M0FNU) return ToExponent(*this, value, saturate);
  if (to == DType::kF16 && facts.f16c && !saturate) return HardwareToF16(*this, value);
  const FloatFormat format = FormatOf(to);
  const int dropped = 23 - format.mantissa_bits;
  V bits = Bits(value);
  V magnitude = b.CreateAnd(bits, I(bits, 0x7fffffff));
  // Normal results: move the exponent, add half a unit less one, and one more if the last kept bit
  // is odd; the carry does the rest.
  V odd = b.CreateAnd(b.CreateLShr(magnitude, I(bits, static_cast<uint64_t>(dropped))), I(bits, 1));
  const uint64_t half = (uint64_t{1} << (dropped - 1)) - 1;
  const uint32_t bias = static_cast<uint32_t>(127 - format.bias) << 23;
  V code = b.CreateLShr(
      b.CreateAdd(b.CreateAdd(magnitude, odd), I(bits, static_cast<uint32_t>(half - bias))),
      I(bits, static_cast<uint64_t>(dropped)));
  if (format.bias != 127) {
    // Subnormal results: adding a power of two whose unit is the format's smallest value rounds.
    const double magic = PowerOfTwo(24 - format.bias - format.mantissa_bits);
    V sum = Add(FromBits(magnitude), F(value, magic));
    V small = b.CreateSub(Bits(sum), Bits(F(value, magic)));
    V limit = Bits(F(value, PowerOfTwo(1 - format.bias)));
    code = Select(b.CreateICmpULT(magnitude, limit), small, code);
  }
  // The first magnitude that rounds beyond the largest finite value, and everything above it.
  const uint64_t overflow = format.has_infinity && !saturate    ? format.max_code + 1
                            : format.nan_code != 0 && !saturate ? format.nan_code
                                                                : format.max_code;
  V too_big = b.CreateICmpUGT(code, I(bits, format.max_code));
  if (format.bias != 127) {
    // Far above, the moved exponent no longer fits: compare the magnitude itself.
    const int top = static_cast<int>(format.max_code >> format.mantissa_bits) - format.bias + 1;
    too_big = b.CreateOr(too_big, b.CreateICmpUGE(magnitude, Bits(F(value, PowerOfTwo(top)))));
  }
  code = Select(too_big, I(bits, overflow), code);
  V nan = b.CreateICmpUGT(magnitude, I(bits, 0x7f800000));
  code = Select(nan, I(bits, format.nan_code), code);
  V sign =
      b.CreateAnd(b.CreateLShr(bits, I(bits, static_cast<uint64_t>(31 - format.MagnitudeBits()))),
                  I(bits, format.SignBit()));
  if (format.nan_code == 0) sign = Select(nan, I(bits, 0), sign);
  if (!format.has_negative_zero) {
    sign = Select(b.CreateICmpEQ(code, I(bits, 0)), I(bits, 0), sign);
  }
  return b.CreateTrunc(b.CreateOr(code, sign), IntOf(bits, BitWidth(to)));
}

V Lanes::RoundToOdd(V value) const {
  V near = Narrow(value);
  V back = Widen(near);
  V bits = Bits(near);
  V inexact = b.CreateFCmpONE(back, value);
  V even = b.CreateICmpEQ(b.CreateAnd(bits, I(bits, 1)), I(bits, 0));
  V above = b.CreateFCmpOGT(Abs(back), Abs(value));
  V odd = b.CreateAdd(bits, Select(above, I(bits, ~uint64_t{0}), I(bits, 1)));
  return FromBits(Select(b.CreateAnd(inexact, even), odd, bits));
}

V Lanes::FromF64(DType to, V value, bool saturate) const {
  return FromF32(to, RoundToOdd(value), saturate);
}

V Lanes::Open(DType dtype, V value) const {
  return dtype == DType::kF32 || dtype == DType::kF64 ? value : ToF32(dtype, value);
}
V Lanes::Close(DType dtype, V value) const {
  return dtype == DType::kF32 || dtype == DType::kF64 ? value : FromF32(dtype, value);
}

namespace {

bool IsWide(DType dtype) { return BitWidth(dtype) == 128; }

// The magnitude of 128 bits as t * 2^shift with t of 64 bits; what t cannot hold is folded into its
// lowest bit, far below the last bit of any format.
struct Folded {
  V significand;  // i64
  V scale;        // f64: 2^shift, shift in [0, 64]
};

Folded Fold(const Lanes& l, V magnitude) {
  llvm::IRBuilderBase& b = l.b;
  llvm::Type* narrow = l.IntOf(magnitude, 64);
  V high = b.CreateTrunc(b.CreateLShr(magnitude, l.I(magnitude, 64)), narrow);
  V zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, high, b.getFalse());
  V shift = b.CreateSub(l.I(high, 64), zeros);
  V wide_shift = b.CreateZExt(shift, magnitude->getType());
  V kept = b.CreateLShr(magnitude, wide_shift);
  V lost = b.CreateICmpNE(b.CreateShl(kept, wide_shift), magnitude);
  V significand = b.CreateOr(b.CreateTrunc(kept, narrow), b.CreateZExt(lost, narrow));
  V exponent = b.CreateShl(b.CreateAdd(shift, l.I(shift, 1023)), l.I(shift, 52));
  return {significand, l.FromBits(exponent)};
}

// Integers of up to 64 bits as f64, odd in the last place where they are not exact: one more
// rounding to a format of at most 40 bits is the only one.
V IntegerToOddDouble(const Lanes& l, V x, bool is_signed) {
  llvm::IRBuilderBase& b = l.b;
  const auto convert = [&](V integer) {
    return is_signed ? b.CreateSIToFP(integer, l.DoubleOf(x))
                     : b.CreateUIToFP(integer, l.DoubleOf(x));
  };
  V high = is_signed ? b.CreateAShr(x, l.I(x, 16)) : b.CreateLShr(x, l.I(x, 16));
  V low = b.CreateAnd(x, l.I(x, 0xffff));
  V folded = b.CreateOr(high, b.CreateZExt(b.CreateICmpNE(low, l.I(x, 0)), x->getType()));
  V near = convert(x);
  V huge = l.Mul(convert(folded), l.F(near, 65536.0));
  return l.Select(b.CreateFCmpOLT(l.Abs(near), l.F(near, 0x1p40)), near, huge);
}

// Integers of up to 64 bits as f32, rounded once.
V IntegerToSingle(const Lanes& l, V x, bool is_signed) {
  llvm::IRBuilderBase& b = l.b;
  const auto convert = [&](V integer, llvm::Type* type) {
    return is_signed ? b.CreateSIToFP(integer, type) : b.CreateUIToFP(integer, type);
  };
  const bool wide = x->getType()->getScalarSizeInBits() == 64;
  if (!wide || Lanes::Count(x) == 1 || !l.facts.aarch64) return convert(x, l.FloatOf(x));
  // LLVM 19 would go by way of f64 and round twice. What f64 cannot hold is rounded to odd.
  V low = b.CreateAnd(x, l.I(x, 0x7ff));
  V odd = b.CreateOr(b.CreateSub(x, low),
                     l.Select(b.CreateICmpEQ(low, l.I(x, 0)), l.I(x, 0), l.I(x, 0x800)));
  V exact = convert(odd, l.DoubleOf(x));
  V near = convert(x, l.DoubleOf(x));
  return l.Narrow(l.Select(b.CreateFCmpOLT(l.Abs(near), l.F(near, 0x1p53)), near, exact));
}

V WideToFloat(const Lanes& l, DType from, DType to, V x, bool saturate) {
  llvm::IRBuilderBase& b = l.b;
  V zero = l.I(x, 0);
  V negative = IsSignedInteger(from) ? b.CreateICmpSLT(x, zero)
                                     : llvm::Constant::getNullValue(l.IntOf(x, 1));
  const Folded folded = Fold(l, l.Select(negative, b.CreateSub(zero, x), x));
  const auto with_sign = [&](V value) { return l.Select(negative, b.CreateFNeg(value), value); };
  if (to == DType::kF64) {
    return with_sign(l.Mul(b.CreateUIToFP(folded.significand, l.DoubleOf(x)), folded.scale));
  }
  if (to == DType::kF32) {
    // Rounded before it is scaled; only the largest overflow, and those to infinity.
    V rounded = IntegerToSingle(l, folded.significand, false);
    return with_sign(l.Narrow(l.Mul(l.Widen(rounded), folded.scale)));
  }
  V value = l.Mul(IntegerToOddDouble(l, folded.significand, false), folded.scale);
  return l.FromF64(to, with_sign(value), saturate);
}

V IntegerToFloat(const Lanes& l, DType from, DType to, V x, bool saturate) {
  if (IsWide(from)) return WideToFloat(l, from, to, x, saturate);
  llvm::IRBuilderBase& b = l.b;
  const bool is_signed = IsSignedInteger(from);
  const auto convert = [&](llvm::Type* type) {
    return is_signed ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
  };
  if (to == DType::kF64) return convert(l.DoubleOf(x));
  if (to == DType::kF32) return IntegerToSingle(l, x, is_signed);
  const int bits = BitWidth(from);
  if (bits <= 16) return l.FromF32(to, convert(l.FloatOf(x)), saturate);
  if (bits <= 32) return l.FromF64(to, convert(l.DoubleOf(x)), saturate);
  return l.FromF64(to, IntegerToOddDouble(l, x, is_signed), saturate);
}

V IntegerToInteger(const Lanes& l, DType from, DType to, V x) {
  llvm::Type* type = l.IntOf(x, BitWidth(to));
  return IsSignedInteger(from) ? l.b.CreateSExtOrTrunc(x, type) : l.b.CreateZExtOrTrunc(x, type);
}

// Truncates towards zero into 128 bits and clamps; NaN gives 0.
V FloatToWide(const Lanes& l, DType to, V x) {
  llvm::IRBuilderBase& b = l.b;
  if (x->getType()->getScalarType()->isFloatTy()) x = l.Widen(x);
  llvm::Type* type = l.IntOf(x, 128);
  V bits = l.Bits(x);
  V biased = b.CreateAnd(b.CreateLShr(bits, l.I(bits, 52)), l.I(bits, 0x7ff));
  V fraction = b.CreateAnd(bits, l.I(bits, (uint64_t{1} << 52) - 1));
  V significand = b.CreateZExt(b.CreateOr(fraction, l.I(bits, uint64_t{1} << 52)), type);
  V exponent = b.CreateSub(biased, l.I(bits, 1075));
  const auto clamped = [&](V amount, uint64_t most) {
    V low = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, amount, l.I(bits, 0));
    return b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, low, l.I(bits, most)), type);
  };
  V left = b.CreateShl(significand, clamped(exponent, 127));
  V magnitude = b.CreateLShr(left, clamped(b.CreateNeg(exponent), 63));
  const bool is_signed = IsSignedInteger(to);
  const llvm::APInt least =
      is_signed ? llvm::APInt::getSignedMinValue(128) : llvm::APInt::getZero(128);
  const llvm::APInt greatest =
      is_signed ? llvm::APInt::getSignedMaxValue(128) : llvm::APInt::getMaxValue(128);
  V below = l.Less(x, l.F(x, is_signed ? -0x1p127 : 0.0));
  V above = b.CreateFCmpOGE(x, l.F(x, is_signed ? 0x1p127 : 0x1p128));
  V value = magnitude;
  if (is_signed) value = l.Select(l.Less(x, l.F(x, 0)), b.CreateNeg(magnitude), magnitude);
  value = l.Select(below, llvm::ConstantInt::get(type, least), value);
  value = l.Select(above, llvm::ConstantInt::get(type, greatest), value);
  return l.Select(l.IsNan(x), llvm::Constant::getNullValue(type), value);
}

V FloatToInteger(const Lanes& l, DType to, V x) {
  if (IsWide(to)) return FloatToWide(l, to, x);
  const auto id = IsSignedInteger(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  llvm::Type* type = l.IntOf(x, BitWidth(to));
  return l.b.CreateIntrinsic(id, {type, x->getType()}, {x});
}

// The least and greatest value of an integer dtype, in enough bits for all of them.
std::pair<llvm::APInt, llvm::APInt> RangeOf(DType dtype) {
  constexpr unsigned kBits = 130;
  const auto width = static_cast<unsigned>(BitWidth(dtype));
  if (IsSignedInteger(dtype)) {
    return {llvm::APInt::getSignedMinValue(width).sext(kBits),
            llvm::APInt::getSignedMaxValue(width).sext(kBits)};
  }
  return {llvm::APInt::getZero(kBits), llvm::APInt::getMaxValue(width).zext(kBits)};
}

// Clamps an integer into the range of `to`, in the source's own width where the ranges meet.
V ClampInteger(const Lanes& l, DType from, DType to, V x) {
  const auto [least, greatest] = RangeOf(to);
  const auto [source_least, source_greatest] = RangeOf(from);
  const bool is_signed = IsSignedInteger(from);
  const auto limit = [&](const llvm::APInt& value) {
    return llvm::ConstantInt::get(x->getType(), value.trunc(static_cast<unsigned>(BitWidth(from))));
  };
  if (least.sgt(source_least)) {
    x = l.b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x,
                                  limit(least));
  }
  if (greatest.slt(source_greatest)) {
    x = l.b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x,
                                  limit(greatest));
  }
  return x;
}

}  // namespace

V Lanes::Cast(DType from, DType to, V x) const {
  if (from == to) return x;
  if (to == DType::kBool) {
    if (!IsFloat(from)) return b.CreateICmpNE(x, I(x, 0));
    V value = Open(from, x);
    return b.CreateFCmpUNE(value, F(value, 0));
  }
  if (IsFloat(from)) {
    V value = Open(from, x);
    if (!IsFloat(to)) return FloatToInteger(*this, to, value);
    const bool wide = from == DType::kF64;
    if (to == DType::kF64) return Widen(value);
    if (to == DType::kF32) return wide ? Narrow(value) : value;
    return wide ? FromF64(to, value) : FromF32(to, value);
  }
  if (!IsFloat(to)) return IntegerToInteger(*this, from, to, x);
  return IntegerToFloat(*this, from, to, x, false);
}

V Lanes::SaturatingCast(DType from, DType to, V x) const {
  if (to == DType::kBool || to == DType::kF32 || to == DType::kF64) return Cast(from, to, x);
  if (!IsFloat(to)) {
    if (IsFloat(from)) return Cast(from, to, x);
    return IntegerToInteger(*this, from, to, ClampInteger(*this, from, to, x));
  }
  if (!IsFloat(from)) return IntegerToFloat(*this, from, to, x, true);
  if (from == DType::kF64) return FromF64(to, x, true);
  return FromF32(to, Open(from, x), true);
}

V Lanes::Bitcast(DType from, DType to, V x) const {
  if (from == DType::kBool || to == DType::kBool) return from == to ? x : nullptr;
  return b.CreateBitCast(x, Register(to, Count(x)));
}

}  // namespace intent::cpu
