#pragma once

// Conversions between every two dtypes.

#include "intent/element.cuh"

namespace intent {

// What 128 bits need: in wide.cuh.
template <class C>
struct Wide;

// As f32, odd in the last place where that is not exact: one more rounding, to a format of at most
// 22 bits, is the only one.
INTENT_DEVICE float make_odd(float toward_zero, bool exact) {
  return exact ? toward_zero : __int_as_float(__float_as_int(toward_zero) | 1);
}
template <class C>
INTENT_DEVICE float to_odd(C x) {
  if constexpr (kSame<C, float>) {
    return x;
  } else if constexpr (kSame<C, double>) {
    const float near = __double2float_rz(x);
    return make_odd(near, x != x || double(near) == x);
  } else if constexpr (sizeof(C) == 16) {
    return Wide<C>::to_odd(x);
  } else if constexpr (kSame<C, i64>) {
    const float near = __ll2float_rz(x);
    return make_odd(near, i64(near) == x);
  } else if constexpr (kSame<C, u64>) {
    const float near = __ull2float_rz(x);
    return make_odd(near, u64(near) == x);
  } else if constexpr (kSame<C, i32>) {
    const float near = __int2float_rz(x);
    return make_odd(near, i32(near) == x);
  } else if constexpr (kSame<C, u32>) {
    const float near = __uint2float_rz(x);
    return make_odd(near, u32(near) == x);
  } else {
    return float(x);
  }
}

template <class To, class C>
INTENT_DEVICE To to_real(C x) {
  if constexpr (sizeof(C) == 16) {
    return Wide<C>::template to_real<To>(x);
  } else {
    return To(x);
  }
}

// Into the range of To. Ranges that hold every value of C compare with nothing.
template <class To, class C>
INTENT_DEVICE Compute<To> clamp_integer(C x) {
  if constexpr (kIsSigned<C> && !kIsSigned<Compute<To>>) {
    if (x < C(0)) return Compute<To>(0);
  } else if constexpr (kIsSigned<C> && kDigits<To> < kDigits<C>) {
    if (x < C(lowest<To>())) return lowest<To>();
  }
  if constexpr (kDigits<To> < kDigits<C>) {
    if (x > C(greatest<To>())) return greatest<To>();
  }
  return Compute<To>(x);
}

// Toward zero, clamped; NaN gives 0.
template <class To, class C>
INTENT_DEVICE Compute<To> truncate(C x) {
  typedef Compute<To> R;
  if constexpr (sizeof(R) == 16) {
    return Wide<R>::truncate(double(x));
  } else {
    if (x != x) return R(0);
    if constexpr (sizeof(R) == 8) {
      if constexpr (kIsSigned<R>) {
        return ptx_to_i64(x);
      } else {
        return ptx_to_u64(x);
      }
    } else if constexpr (kIsSigned<R>) {
      return clamp_integer<To>(ptx_to_i32(x));
    } else {
      return clamp_integer<To>(ptx_to_u32(x));
    }
  }
}

template <class To, bool saturates, class C>
INTENT_DEVICE To convert(C x) {
  if constexpr (kSame<To, bool>) {
    return x != C(0);
  } else if constexpr (kIsReal<To>) {
    return to_real<To>(x);
  } else if constexpr (kIsReal<Compute<To>>) {
    if constexpr (saturates) {
      return Element<To>::saturate(to_odd(x));
    } else {
      return close<To>(to_odd(x));
    }
  } else if constexpr (kIsReal<C>) {
    return close<To>(truncate<To>(x));
  } else if constexpr (saturates) {
    return close<To>(clamp_integer<To>(x));
  } else {
    return close<To>(Compute<To>(x));
  }
}

// Seed 000 chapter 5.2. Out of range to an integer clamps, NaN gives 0.
template <class To, class From>
INTENT_DEVICE To cast(From x) {
  if constexpr (kSame<To, From>) {
    return x;
  } else {
    return convert<To, false>(open(x));
  }
}
// Language.md chapter 16.
template <class To, class From>
INTENT_DEVICE To saturating_cast(From x) {
  return convert<To, true>(open(x));
}

template <class To, class From>
INTENT_DEVICE To bitcast(From x) {
  static_assert(sizeof(To) == sizeof(From), "widths differ");
  union {
    From from;
    To to;
  } both;
  both.from = x;
  return both.to;
}

}  // namespace intent
