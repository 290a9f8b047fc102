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

// The formats this back end computes with: those whose magnitudes are ordered codes with zero,
// subnormals, one sign bit and NaN above every number.
bool Served(DType dtype) {
  const FloatFormat format = FormatOf(dtype);
  return format.has_sign && format.has_zero && format.has_negative_zero && format.nan_code != 0;
}

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
  if (!Served(from)) return nullptr;
  // The code shifted into place is the value with the wrong bias: one exact product mends that,
  // for subnormals too.
  V code = b.CreateAnd(wide, I(wide, format.MagnitudeMask()));
  V moved = b.CreateShl(code, I(code, static_cast<uint64_t>(23 - format.mantissa_bits)));
  V scaled = FromBits(moved);
  V magnitude = Bits(Mul(scaled, F(scaled, PowerOfTwo(127 - format.bias))));
  V special = b.CreateICmpUGT(code, I(code, format.max_code));
  V mended = b.CreateOr(moved, I(moved, 0x7f800000));
  if (!format.has_infinity) mended = I(moved, 0x7fc00000);
  magnitude = Select(special, mended, magnitude);
  V sign = b.CreateShl(b.CreateAnd(wide, I(wide, format.SignBit())),
                       I(wide, static_cast<uint64_t>(31 - format.MagnitudeBits())));
  return FromBits(b.CreateOr(magnitude, sign));
}

V Lanes::FromF32(DType to, V value, bool saturate) const {
  if (!Served(to)) return nullptr;
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
  const uint64_t overflow = saturate              ? format.max_code
                            : format.has_infinity ? format.max_code + 1
                                                  : format.nan_code;
  V too_big = b.CreateICmpUGT(code, I(bits, format.max_code));
  if (format.bias != 127) {
    // Far above, the moved exponent no longer fits: compare the magnitude itself.
    const int top = static_cast<int>(format.max_code >> format.mantissa_bits) - format.bias + 1;
    too_big = b.CreateOr(too_big, b.CreateICmpUGE(magnitude, Bits(F(value, PowerOfTwo(top)))));
  }
  code = Select(too_big, I(bits, overflow), code);
  code = Select(b.CreateICmpUGT(magnitude, I(bits, 0x7f800000)), I(bits, format.nan_code), code);
  V sign =
      b.CreateAnd(b.CreateLShr(bits, I(bits, static_cast<uint64_t>(31 - format.MagnitudeBits()))),
                  I(bits, format.SignBit()));
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

V IntegerToFloat(const Lanes& l, DType from, DType to, V x, bool saturate) {
  llvm::IRBuilderBase& b = l.b;
  const bool is_signed = IsSignedInteger(from);
  const auto convert = [&](V integer, llvm::Type* type) {
    return is_signed ? b.CreateSIToFP(integer, type) : b.CreateUIToFP(integer, type);
  };
  const int bits = BitWidth(from);
  if (to == DType::kF64) return convert(x, l.DoubleOf(x));
  if (to == DType::kF32 && bits == 64 && Lanes::Count(x) > 1 && l.facts.aarch64) {
    // LLVM 19 would go by way of f64 and round twice. What f64 cannot hold is rounded to odd.
    V low = b.CreateAnd(x, l.I(x, 0x7ff));
    V odd = b.CreateOr(b.CreateSub(x, low),
                       l.Select(b.CreateICmpEQ(low, l.I(x, 0)), l.I(x, 0), l.I(x, 0x800)));
    V exact = convert(odd, l.DoubleOf(x));
    V near = convert(x, l.DoubleOf(x));
    return l.Narrow(l.Select(b.CreateFCmpOLT(l.Abs(near), l.F(near, 0x1p53)), near, exact));
  }
  if (to == DType::kF32) return convert(x, l.FloatOf(x));
  if (bits <= 16) return l.FromF32(to, convert(x, l.FloatOf(x)), saturate);
  if (bits <= 32) return l.FromF64(to, convert(x, l.DoubleOf(x)), saturate);
  // 64 bits: what a double cannot hold is folded into one bit far below the destination's last.
  V high = is_signed ? b.CreateAShr(x, l.I(x, 16)) : b.CreateLShr(x, l.I(x, 16));
  V low = b.CreateAnd(x, l.I(x, 0xffff));
  V folded = b.CreateOr(high, b.CreateZExt(b.CreateICmpNE(low, l.I(x, 0)), x->getType()));
  V near = convert(x, l.DoubleOf(x));
  V huge = l.Mul(convert(folded, l.DoubleOf(x)), l.F(near, 65536.0));
  V fits = b.CreateFCmpOLT(l.Abs(near), l.F(near, 0x1p40));
  return l.FromF64(to, l.Select(fits, near, huge), saturate);
}

V IntegerToInteger(const Lanes& l, DType from, DType to, V x) {
  llvm::Type* type = l.IntOf(x, BitWidth(to));
  return IsSignedInteger(from) ? l.b.CreateSExtOrTrunc(x, type) : l.b.CreateZExtOrTrunc(x, type);
}

V FloatToInteger(const Lanes& l, DType to, V x) {
  const auto id = IsSignedInteger(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  llvm::Type* type = l.IntOf(x, BitWidth(to));
  return l.b.CreateIntrinsic(id, {type, x->getType()}, {x});
}

// Clamps an integer into the range of `to`, in the source's own width where the ranges meet.
V ClampInteger(const Lanes& l, DType from, DType to, V x) {
  const int source = BitWidth(from), target = BitWidth(to);
  const bool from_signed = IsSignedInteger(from), to_signed = IsSignedInteger(to);
  llvm::IRBuilderBase& b = l.b;
  if (from_signed) {
    if (!to_signed) x = l.Select(b.CreateICmpSLT(x, l.I(x, 0)), l.I(x, 0), x);
    if (target - (to_signed ? 1 : 0) < source - 1) {
      const uint64_t top = (uint64_t{1} << (target - (to_signed ? 1 : 0))) - 1;
      x = l.Select(b.CreateICmpSGT(x, l.I(x, top)), l.I(x, top), x);
      if (to_signed) {
        const uint64_t bottom = ~top;
        x = l.Select(b.CreateICmpSLT(x, l.I(x, bottom)), l.I(x, bottom), x);
      }
    }
  } else if (target - (to_signed ? 1 : 0) < source) {
    const uint64_t top = (uint64_t{1} << (target - (to_signed ? 1 : 0))) - 1;
    x = l.Select(b.CreateICmpUGT(x, l.I(x, top)), l.I(x, top), x);
  }
  return x;
}

bool IsWide(DType dtype) { return BitWidth(dtype) == 128; }

}  // namespace

V Lanes::Cast(DType from, DType to, V x) const {
  if (from == to) return x;
  if (to == DType::kBool) {
    if (!IsFloat(from)) return b.CreateICmpNE(x, I(x, 0));
    V value = Open(from, x);
    return value == nullptr ? nullptr : b.CreateFCmpUNE(value, F(value, 0));
  }
  if (IsFloat(from)) {
    V value = Open(from, x);
    if (value == nullptr) return nullptr;
    if (!IsFloat(to)) return IsWide(to) ? nullptr : FloatToInteger(*this, to, value);
    const bool wide = from == DType::kF64;
    if (to == DType::kF64) return Widen(value);
    if (to == DType::kF32) return wide ? Narrow(value) : value;
    return wide ? FromF64(to, value) : FromF32(to, value);
  }
  if (!IsFloat(to)) return IntegerToInteger(*this, from, to, x);
  if (IsWide(from)) return nullptr;
  return IntegerToFloat(*this, from, to, x, false);
}

V Lanes::SaturatingCast(DType from, DType to, V x) const {
  if (to == DType::kBool || to == DType::kF32 || to == DType::kF64) return Cast(from, to, x);
  if (IsWide(from) || IsWide(to)) return nullptr;
  if (!IsFloat(to)) {
    if (IsFloat(from)) return Cast(from, to, x);
    return IntegerToInteger(*this, from, to, ClampInteger(*this, from, to, x));
  }
  if (!IsFloat(from)) return IntegerToFloat(*this, from, to, x, true);
  if (from == DType::kF64) return FromF64(to, x, true);
  V value = Open(from, x);
  return value == nullptr ? nullptr : FromF32(to, value, true);
}

V Lanes::Bitcast(DType from, DType to, V x) const {
  if (from == DType::kBool || to == DType::kBool) return from == to ? x : nullptr;
  return b.CreateBitCast(x, Register(to, Count(x)));
}

}  // namespace intent::cpu
