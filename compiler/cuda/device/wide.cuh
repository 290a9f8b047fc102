#pragma once

// Integers of 128 bits. To be compiled with --device-int128.

#include "intent/core.cuh"

namespace intent {

typedef __int128 i128;
typedef unsigned __int128 u128;

template <>
struct WrapOf<16> {
  typedef u128 type;
};

// A magnitude as significand * scale: what 64 bits cannot hold is folded into the lowest of them,
// far below the last bit of any format.
struct Folded {
  u64 significand;
  float scale;  // 2^0 to 2^64
};
INTENT_DEVICE Folded fold(u128 magnitude) {
  const int shift = 64 - __clzll(i64(u64(magnitude >> 64)));
  const u128 kept = magnitude >> shift;
  const bool lost = (kept << shift) != magnitude;
  return {u64(kept) | u64(lost), __int_as_float((127 + shift) << 23)};
}

template <class C>
struct Wide {
  static INTENT_DEVICE bool is_negative(C x) {
    if constexpr (kIsSigned<C>) {
      return x < C(0);
    } else {
      return false;
    }
  }
  static INTENT_DEVICE Folded magnitude(C x) {
    return fold(is_negative(x) ? u128(0) - u128(x) : u128(x));
  }
  // Scaled after rounding: only the largest overflow, and those to infinity.
  template <class To>
  static INTENT_DEVICE To to_real(C x) {
    const Folded folded = magnitude(x);
    const To y = To(folded.significand) * To(folded.scale);
    return is_negative(x) ? -y : y;
  }
  static INTENT_DEVICE float to_odd(C x) {
    const Folded folded = magnitude(x);
    const float y = intent::to_odd(folded.significand) * folded.scale;
    return is_negative(x) ? -y : y;
  }
  static INTENT_DEVICE C truncate(double x) {
    const double limit = kIsSigned<C> ? 0x1p127 : 0x1p128;
    if (x != x) return C(0);
    if (x >= limit) return greatest<C>();
    if (x <= (kIsSigned<C> ? -limit : 0.0)) return lowest<C>();
    const u64 bits = u64(__double_as_longlong(x));
    const int exponent = int(bits >> 52 & 0x7ff) - 1075;
    const u64 significand = (bits & 0xfffffffffffff) | 0x10000000000000;
    u128 y;
    if (exponent >= 0) {
      y = u128(significand) << exponent;
    } else {
      y = exponent > -64 ? significand >> -exponent : 0;
    }
    return C(x < 0 ? u128(0) - y : y);
  }
  static INTENT_DEVICE C from_words(u64 low, u64 high) { return C(u128(high) << 64 | low); }
};

}  // namespace intent
