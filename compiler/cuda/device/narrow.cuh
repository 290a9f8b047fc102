#pragma once

// Formats of 8 bits and below, and i4. Floats compute in f32 and round once.

#include "intent/core.cuh"

namespace intent {

struct f8e4m3fn {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
};
struct f8e4m3 {
  u8 bits;
};
struct f8e4m3fnuz {
  u8 bits;
};
struct f8e4m3b11fnuz {
  u8 bits;
};
struct f8e8m0fnu {
  u8 bits;
};
struct f6e2m3fn {
  u8 bits;
};
struct f6e3m2fn {
  u8 bits;
};
struct f4e2m1fn {
  u8 bits;
};
struct i4 {
  u8 bits;  // the high nibble is 0
};

template <>
struct Element<i4> {
  typedef i8 Compute;
  static INTENT_DEVICE i8 open(i4 x) { return i8(i32(u32(x.bits) << 28) >> 28); }
  static INTENT_DEVICE i4 close(i8 x) { return i4{u8(x & 15)}; }
};
template <>
struct WidthOf<i4> {
  enum : int { value = 4 };
};

// A format with a sign bit and subnormals. Codes without sign grow with the magnitude; `last` is
// that of the largest finite number, an infinity follows it; `nan` has its sign bit, 0 is none.
template <class T, int mantissa, int exponent, int bias, u32 last, u32 nan, bool infinity,
          bool negative_zero>
struct SmallFloat {
  typedef float Compute;
  enum : int { kMagnitude = mantissa + exponent, kDropped = 23 - mantissa };
  enum : u32 { kSign = 1u << (mantissa + exponent) };
  static INTENT_DEVICE float power(int e) { return __int_as_float((127 + e) << 23); }

  // The code shifted into place is the value with the wrong bias: one exact product mends that, for
  // subnormals too.
  static INTENT_DEVICE float open(T x) {
    const u32 bits = x.bits;
    const u32 code = bits & (kSign - 1);
    const u32 moved = code << kDropped;
    u32 magnitude = u32(__float_as_int(__int_as_float(i32(moved)) * power(127 - bias)));
    if constexpr (nan != 0) {
      if (negative_zero ? code > last : bits == nan) {
        magnitude = infinity ? moved | 0x7f800000 : 0x7fc00000;
      }
    }
    return __int_as_float(i32(magnitude | (bits & kSign) << (31 - kMagnitude)));
  }

  template <bool saturates>
  static INTENT_DEVICE T encode(float x) {
    const u32 bits = u32(__float_as_int(x));
    const u32 magnitude = bits & 0x7fffffff;
    u32 code;
    if (magnitude < u32(128 - bias) << 23) {
      // Subnormal: adding a power of two whose unit is the smallest number rounds.
      const float unit = power(24 - bias - mantissa);
      code = u32(__float_as_int(__int_as_float(i32(magnitude)) + unit)) - u32(__float_as_int(unit));
    } else {
      // Move the exponent; add half a unit less one, and one more if the last kept bit is odd.
      const u32 odd = magnitude >> kDropped & 1;
      const u32 half = (1u << (kDropped - 1)) - 1;
      code = (magnitude + odd + (half - (u32(127 - bias) << 23))) >> kDropped;
    }
    if (code > last) code = saturates ? last : infinity ? last + 1 : nan != 0 ? nan : last;
    u32 sign = bits >> (31 - kMagnitude) & kSign;
    if (magnitude > 0x7f800000) {
      code = nan;
      if (nan == 0) sign = 0;
    }
    if (!negative_zero && code == 0) sign = 0;
    return T{u8(code | sign)};
  }
  static INTENT_DEVICE T close(float x) { return encode<false>(x); }
  static INTENT_DEVICE T saturate(float x) { return encode<true>(x); }
};

#ifndef INTENT_PTX_FP8
template <>
struct Element<f8e5m2> : SmallFloat<f8e5m2, 2, 5, 15, 0x7b, 0x7e, true, true> {};
template <>
struct Element<f8e4m3fn> : SmallFloat<f8e4m3fn, 3, 4, 7, 0x7e, 0x7f, false, true> {};
#else
template <>
struct Element<f8e5m2> {
  typedef float Compute;
  // The upper half of an f16.
  static INTENT_DEVICE float open(f8e5m2 x) { return f16_to_f32(f16{u16(x.bits << 8)}); }
  static INTENT_DEVICE f8e5m2 saturate(float x) { return {ptx_to_f8e5m2(x)}; }
  static INTENT_DEVICE f8e5m2 close(float x) {
    const u8 sign = u8(u32(__float_as_int(x)) >> 24 & 0x80);
    return {fabsf(x) >= 61440.0f ? u8(sign | 0x7c) : ptx_to_f8e5m2(x)};
  }
};
template <>
struct Element<f8e4m3fn> {
  typedef float Compute;
  static INTENT_DEVICE float open(f8e4m3fn x) { return f16_to_f32(ptx_f8e4m3fn_to_f16(x.bits)); }
  static INTENT_DEVICE f8e4m3fn saturate(float x) { return {ptx_to_f8e4m3fn(x)}; }
  static INTENT_DEVICE f8e4m3fn close(float x) {
    return {fabsf(x) > 464.0f ? u8(0x7f) : ptx_to_f8e4m3fn(x)};
  }
};
#endif
template <>
struct Element<f8e4m3> : SmallFloat<f8e4m3, 3, 4, 7, 0x77, 0x7c, true, true> {};
template <>
struct Element<f8e4m3fnuz> : SmallFloat<f8e4m3fnuz, 3, 4, 8, 0x7f, 0x80, false, false> {};
template <>
struct Element<f8e4m3b11fnuz> : SmallFloat<f8e4m3b11fnuz, 3, 4, 11, 0x7f, 0x80, false, false> {};
template <>
struct Element<f6e2m3fn> : SmallFloat<f6e2m3fn, 3, 2, 1, 0x1f, 0, false, true> {};
template <>
struct Element<f6e3m2fn> : SmallFloat<f6e3m2fn, 2, 3, 3, 0x1f, 0, false, true> {};
template <>
struct Element<f4e2m1fn> : SmallFloat<f4e2m1fn, 1, 2, 1, 0x7, 0, false, true> {};

// Powers of two, 2^-127 to 2^127, and NaN: f32's exponent, rounded up above the middle of two of
// them and at the middle to the even code. Negative numbers are NaN, or saturate to the least.
template <>
struct Element<f8e8m0fnu> {
  typedef float Compute;
  static INTENT_DEVICE float open(f8e8m0fnu x) {
    const i32 bits = x.bits == 0 ? 0x00400000 : x.bits == 0xff ? 0x7fc00000 : i32(x.bits) << 23;
    return __int_as_float(bits);
  }
  template <bool saturates>
  static INTENT_DEVICE f8e8m0fnu encode(float x) {
    const u32 bits = u32(__float_as_int(x));
    const u32 magnitude = bits & 0x7fffffff;
    const u32 exponent = magnitude >> 23;
    const u32 fraction = magnitude & 0x7fffff;
    // f32's subnormals begin with 1.5 * 2^-127 at 0x600000.
    const bool up = exponent == 0 ? fraction > 0x600000 : fraction + (exponent & 1) > 0x400000;
    u32 code = exponent + u32(up);
    if (code > 0xfe) code = saturates ? 0xfe : 0xff;
    if (bits > 0x80000000) code = saturates ? 0 : 0xff;
    if (magnitude > 0x7f800000) code = 0xff;
    return {u8(code)};
  }
  static INTENT_DEVICE f8e8m0fnu close(float x) { return encode<false>(x); }
  static INTENT_DEVICE f8e8m0fnu saturate(float x) { return encode<true>(x); }
};

// Formats that have -0 change their sign by a bit, NaN and all.
#define INTENT_SIGN_BIT(type, sign)                                       \
  INTENT_DEVICE type u_negate(type x) { return type{u8(x.bits ^ sign)}; } \
  INTENT_DEVICE type u_abs(type x) { return type{u8(x.bits & (sign - 1))}; }
INTENT_SIGN_BIT(f8e4m3fn, 0x80)
INTENT_SIGN_BIT(f8e5m2, 0x80)
INTENT_SIGN_BIT(f8e4m3, 0x80)
INTENT_SIGN_BIT(f6e2m3fn, 0x20)
INTENT_SIGN_BIT(f6e3m2fn, 0x20)
INTENT_SIGN_BIT(f4e2m1fn, 0x8)
#undef INTENT_SIGN_BIT

}  // namespace intent
