#pragma once

// The floating formats of KIR as data, and their exact encoding and decoding (seed 000 chapter 5.2,
// arithmetic.md "Types"). One rounding, to nearest with ties to even, from any binary value of up
// to 128 significant bits.

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "compiler/ir/dtype.h"

namespace intent::numerics {

static_assert(std::endian::native == std::endian::little, "values are moved by their low bytes");

using Int128 = __int128;
using Uint128 = unsigned __int128;

// Codes are read as integers without the sign bit; they grow with the magnitude.
struct FloatFormat {
  int mantissa_bits;
  int exponent_bits;
  int bias;
  bool has_sign;
  bool has_infinity;  // at the code after the largest finite one
  bool has_negative_zero;
  bool has_zero;
  uint64_t max_code;  // the largest finite magnitude
  uint64_t nan_code;  // sign bit included; 0: the format has no NaN

  constexpr int MagnitudeBits() const { return mantissa_bits + exponent_bits; }
  constexpr uint64_t SignBit() const { return has_sign ? uint64_t{1} << MagnitudeBits() : 0; }
  constexpr uint64_t MagnitudeMask() const { return (uint64_t{1} << MagnitudeBits()) - 1; }
  // Exponent of the smallest normal number; e8m0 has normals only.
  constexpr int MinExponent() const { return has_zero ? 1 - bias : -bias; }
};

constexpr FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {10, 5, 15, true, true, true, true, 0x7bff, 0x7e00};
    case DType::kBF16:
      return {7, 8, 127, true, true, true, true, 0x7f7f, 0x7fc0};
    case DType::kF32:
      return {23, 8, 127, true, true, true, true, 0x7f7fffff, 0x7fc00000};
    case DType::kF64:
      return {52, 11, 1023, true, true, true, true, 0x7fefffffffffffff, 0x7ff8000000000000};
    case DType::kF8E5M2:
      return {2, 5, 15, true, true, true, true, 0x7b, 0x7e};
    case DType::kF8E4M3:
      return {3, 4, 7, true, true, true, true, 0x77, 0x7c};
    case DType::kF8E4M3FN:
      return {3, 4, 7, true, false, true, true, 0x7e, 0x7f};
    case DType::kF8E4M3FNUZ:
      return {3, 4, 8, true, false, false, true, 0x7f, 0x80};
    case DType::kF8E4M3B11FNUZ:
      return {3, 4, 11, true, false, false, true, 0x7f, 0x80};
    case DType::kF8E8M0FNU:
      return {0, 8, 127, false, false, false, false, 0xfe, 0xff};
    case DType::kF6E2M3FN:
      return {3, 2, 1, true, false, true, true, 0x1f, 0};
    case DType::kF6E3M2FN:
      return {2, 3, 3, true, false, true, true, 0x1f, 0};
    case DType::kF4E2M1FN:
      return {1, 2, 1, true, false, true, true, 0x7, 0};
    case DType::kBool:
    case DType::kIndex:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kI4:
    case DType::kI128:
    case DType::kU128:
      break;
  }
  return {};
}

// What becomes of a magnitude beyond the largest finite one.
enum class Overflow : uint8_t {
  kOrdinary,  // infinity; where there is none the input is invalid: NaN, or the largest if no NaN
  kSaturate,  // the largest finite value; below the range of e8m0, its least value
};

constexpr uint64_t EncodeNan(const FloatFormat& format) { return format.nan_code; }

// A negative value in a format without sign: invalid, or clamped to the least value.
constexpr uint64_t EncodeBelow(const FloatFormat& format, Overflow overflow) {
  return overflow == Overflow::kSaturate ? 0 : format.nan_code;
}

constexpr uint64_t EncodeInfinity(const FloatFormat& format, bool negative, Overflow overflow) {
  if (negative && !format.has_sign) return EncodeBelow(format, overflow);
  uint64_t code = format.max_code;
  if (overflow == Overflow::kOrdinary) {
    if (format.has_infinity) {
      ++code;
    } else if (format.nan_code != 0) {
      return format.nan_code;
    }
  }
  return code | (negative ? format.SignBit() : 0);
}

// Encodes significand * 2^exponent. Bits of the true value below the significand may be folded into
// its lowest bit ("sticky") if the significand has at least two bits more than the format.
constexpr uint64_t EncodeMagnitude(const FloatFormat& format, bool negative, uint64_t significand,
                                   int exponent, Overflow overflow) {
  if (negative && !format.has_sign && significand != 0) return EncodeBelow(format, overflow);
  const uint64_t sign =
      negative && (format.has_negative_zero || significand != 0) ? format.SignBit() : 0;
  if (significand == 0) return sign;
  const int leading = std::countl_zero(significand);
  significand <<= leading;
  const int top = exponent + 63 - leading;  // the value lies in [2^top, 2^(top+1))
  const int lowest = format.MinExponent();
  const int quantum = (top > lowest ? top : lowest) - format.mantissa_bits;
  const int shift = quantum - (top - 63);
  uint64_t rounded = 0;
  if (shift <= 64) {
    rounded = shift == 64 ? 0 : significand >> shift;
    const uint64_t rest = shift == 64 ? significand : significand & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    // In e8m0 the parity of the code decides a tie: its mantissa has no bit.
    const uint64_t parity =
        format.mantissa_bits == 0 ? static_cast<uint64_t>(top - lowest) : rounded;
    if (rest > half || (rest == half && (parity & 1) != 0)) ++rounded;
  }
  uint64_t code = rounded;
  if (format.has_zero) {
    if (top > lowest) code += static_cast<uint64_t>(top - lowest) << format.mantissa_bits;
  } else {
    code = top >= lowest ? static_cast<uint64_t>(top - lowest) + rounded - 1 : 0;
  }
  if (code > format.max_code) return EncodeInfinity(format, negative, overflow);
  if (code == 0 && !format.has_negative_zero) return 0;
  return sign | code;
}

constexpr uint64_t EncodeDouble(const FloatFormat& format, double value,
                                Overflow overflow = Overflow::kOrdinary) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) {
    return fraction != 0 ? EncodeNan(format) : EncodeInfinity(format, negative, overflow);
  }
  if (exponent == 0) return EncodeMagnitude(format, negative, fraction, -1074, overflow);
  return EncodeMagnitude(format, negative, fraction | uint64_t{1} << 52, exponent - 1075, overflow);
}

constexpr uint64_t EncodeInteger(const FloatFormat& format, bool negative, Uint128 magnitude,
                                 Overflow overflow = Overflow::kOrdinary) {
  const uint64_t high = static_cast<uint64_t>(magnitude >> 64);
  if (high == 0) {
    return EncodeMagnitude(format, negative, static_cast<uint64_t>(magnitude), 0, overflow);
  }
  const int drop = 64 - std::countl_zero(high);
  uint64_t significand = static_cast<uint64_t>(magnitude >> drop);
  if ((magnitude & ((Uint128{1} << drop) - 1)) != 0) significand |= 1;
  return EncodeMagnitude(format, negative, significand, drop, overflow);
}

// Exact for every format.
constexpr double DecodeToDouble(const FloatFormat& format, uint64_t bits) {
  if (format.mantissa_bits == 52) return std::bit_cast<double>(bits);
  const bool negative = (bits & format.SignBit()) != 0;
  const uint64_t code = bits & format.MagnitudeMask();
  const bool is_nan = format.nan_code != 0 && (format.has_negative_zero || !format.has_sign
                                                   ? code > format.max_code + format.has_infinity
                                                   : bits == format.nan_code);
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  if (format.has_infinity && code == format.max_code + 1) {
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  uint64_t fraction = code & ((uint64_t{1} << format.mantissa_bits) - 1);
  int exponent = static_cast<int>(code >> format.mantissa_bits);
  if (exponent != 0 || !format.has_zero) {
    fraction |= uint64_t{1} << format.mantissa_bits;
  } else {
    exponent = 1;
  }
  // 2^scale is a normal double for every narrower format.
  const int scale = exponent - format.bias - format.mantissa_bits;
  const double magnitude = static_cast<double>(fraction) *
                           std::bit_cast<double>(static_cast<uint64_t>(scale + 1023) << 52);
  return negative ? -magnitude : magnitude;
}

}  // namespace intent::numerics
