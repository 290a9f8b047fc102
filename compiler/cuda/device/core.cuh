#pragma once

// Scalar arithmetic on bool, integers of up to 64 bits, f16, bf16, f32 and f64, and the rules that
// the other headers extend to their types. Every function means what compiler/numerics means, bit
// for bit (seed 000 chapters 4 and 5): invalid input gives the same value and never traps.
//
//   u_<unary>(x)  b_<binary>(a, b)  c_<compare>(a, b)   one for each kind of KIR
//   rn_b_<add|sub|mul>(a, b)         rounds by itself, whatever stands around it
//   fma_(a, b, c)                    f32, f64: rounded once
//   cast<To>(x)  saturating_cast<To>(x)  bitcast<To>(x)
//   select_(c, a, b)  from_bits<T>(low, high)  zero<T>()  load_bool(stored)
//
// To be compiled without contraction (--fmad=false) and without flushing (--ftz=false).

#include "intent/ptx.cuh"

namespace intent {

// An element and the type it is computed in. This one is for types that compute in themselves.
template <class T>
struct Element {
  typedef T Compute;
  static INTENT_DEVICE T open(T x) { return x; }
  static INTENT_DEVICE T close(T x) { return x; }
};
template <class T>
using Compute = typename Element<T>::Compute;
template <class T>
INTENT_DEVICE Compute<T> open(T x) {
  return Element<T>::open(x);
}
template <class T>
INTENT_DEVICE T close(Compute<T> x) {
  return Element<T>::close(x);
}

// A format below f32 computes in f32 and rounds once. saturate clamps, infinities too.
INTENT_DEVICE float clamp_magnitude(float x, float greatest) {
  return fabsf(x) > greatest ? copysignf(greatest, x) : x;
}
template <>
struct Element<f16> {
  typedef float Compute;
  static INTENT_DEVICE float open(f16 x) { return f16_to_f32(x); }
  static INTENT_DEVICE f16 close(float x) { return f32_to_f16(x); }
  static INTENT_DEVICE f16 saturate(float x) { return close(clamp_magnitude(x, 65504.0f)); }
};
template <>
struct Element<bf16> {
  typedef float Compute;
  static INTENT_DEVICE float open(bf16 x) { return __int_as_float(i32(u32(x.bits) << 16)); }
  static INTENT_DEVICE bf16 close(float x) { return f32_to_bf16(x); }
  static INTENT_DEVICE bf16 saturate(float x) {
    return close(clamp_magnitude(x, __int_as_float(0x7f7f0000)));
  }
};

// The unsigned type in which integers of so many bytes wrap.
template <int bytes>
struct WrapOf {
  typedef u32 type;
};
template <>
struct WrapOf<8> {
  typedef u64 type;
};
template <class C>
using Wrap = typename WrapOf<sizeof(C)>::type;

template <class C>
constexpr bool kIsSigned = C(-1) < C(0);
// Bits of a value.
template <class T>
struct WidthOf {
  enum : int { value = 8 * sizeof(T) };
};
template <>
struct WidthOf<bool> {
  enum : int { value = 1 };
};
template <class T>
constexpr int kWidth = WidthOf<T>::value;
// Bits beside the sign.
template <class T>
constexpr int kDigits = kWidth<T> - (kIsSigned<Compute<T>> ? 1 : 0);
template <class T>
INTENT_DEVICE constexpr Compute<T> greatest() {
  typedef Compute<T> C;
  return C(((Wrap<C>(1) << (kDigits<T> - 1)) - 1) * 2 + 1);
}
template <class T>
INTENT_DEVICE constexpr Compute<T> lowest() {
  typedef Compute<T> C;
  return kIsSigned<C> ? C(-greatest<T>() - 1) : C(0);
}

// Functions of real numbers: in math.cuh and special.cuh.
template <class C>
struct Real;

// The rules on compute types.
namespace rule {

template <class C>
INTENT_DEVICE C add(C a, C b) {
  if constexpr (kIsReal<C>) {
    return a + b;
  } else {
    return C(Wrap<C>(a) + Wrap<C>(b));
  }
}
template <class C>
INTENT_DEVICE C sub(C a, C b) {
  if constexpr (kIsReal<C>) {
    return a - b;
  } else {
    return C(Wrap<C>(a) - Wrap<C>(b));
  }
}
template <class C>
INTENT_DEVICE C mul(C a, C b) {
  if constexpr (kIsReal<C>) {
    return a * b;
  } else {
    return C(Wrap<C>(a) * Wrap<C>(b));
  }
}
template <class C>
INTENT_DEVICE C negate(C x) {
  if constexpr (kIsReal<C>) {
    return -x;
  } else {
    return sub(C(0), x);
  }
}
INTENT_DEVICE float abs(float x) { return fabsf(x); }
INTENT_DEVICE double abs(double x) { return fabs(x); }
template <class C>
INTENT_DEVICE C abs(C x) {
  if constexpr (kIsSigned<C>) {
    if (x < C(0)) return negate(x);
  }
  return x;
}
template <class C>
INTENT_DEVICE C complement(C x) {
  if constexpr (kSame<C, bool>) {
    return !x;
  } else {
    return C(~x);
  }
}
INTENT_DEVICE float div(float a, float b) { return __fdiv_rn(a, b); }
INTENT_DEVICE double div(double a, double b) { return __ddiv_rn(a, b); }
INTENT_DEVICE float sqrt(float x) { return __fsqrt_rn(x); }
INTENT_DEVICE double sqrt(double x) { return __dsqrt_rn(x); }
INTENT_DEVICE float floor(float x) { return floorf(x); }
INTENT_DEVICE double floor(double x) { return ::floor(x); }

// A divisor of 0 gives 0; MIN // -1 wraps.
template <class C>
INTENT_DEVICE C floordiv(C a, C b) {
  if (b == C(0)) return C(0);
  if constexpr (kIsSigned<C>) {
    if (b == C(-1)) return negate(a);
    const C quotient = C(a / b);
    const bool inexact = C(quotient * b) != a;
    return inexact && (a < C(0)) != (b < C(0)) ? C(quotient - 1) : quotient;
  } else {
    return C(a / b);
  }
}
template <class C>
INTENT_DEVICE C mod(C a, C b) {
  if (b == C(0)) return C(0);
  if constexpr (kIsSigned<C>) {
    if (b == C(-1)) return C(0);
    const C rest = C(a % b);
    return rest != C(0) && (rest < C(0)) != (b < C(0)) ? C(rest + b) : rest;
  } else {
    return C(a % b);
  }
}
// Integers: a^b modulo 2^width; a negative exponent gives 0.
template <class C>
INTENT_DEVICE C pow(C a, C b) {
  if constexpr (kIsReal<C>) {
    return Real<C>::pow(a, b);
  } else if constexpr (kSame<C, bool>) {
    return a || !b;
  } else {
    if constexpr (kIsSigned<C>) {
      if (b < C(0)) return C(0);
    }
    C result = C(1);
    for (Wrap<C> exponent = Wrap<C>(b); exponent != 0; exponent >>= 1, a = mul(a, a)) {
      if ((exponent & 1) != 0) result = mul(result, a);
    }
    return result;
  }
}
// A negative exponent truncates the true value.
template <class C>
INTENT_DEVICE C ipow_trunc(C a, C b) {
  if constexpr (kIsSigned<C>) {
    if (b < C(0)) {
      if (a == C(1)) return C(1);
      return a == C(-1) ? ((b & C(1)) != C(0) ? a : C(1)) : C(0);
    }
  }
  return pow(a, b);
}

INTENT_DEVICE float maximum(float a, float b) { return ptx_maximum(a, b); }
INTENT_DEVICE float minimum(float a, float b) { return ptx_minimum(a, b); }
INTENT_DEVICE float maximum_num(float a, float b) { return ptx_maximum_num(a, b); }
INTENT_DEVICE float minimum_num(float a, float b) { return ptx_minimum_num(a, b); }
// NaN propagates; zeros of both signs settle by their bits.
INTENT_DEVICE double maximum(double a, double b) {
  if (a == b) return __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b));
  return a != a || a > b ? a : b;
}
INTENT_DEVICE double minimum(double a, double b) {
  if (a == b) return __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b));
  return a != a || a < b ? a : b;
}
INTENT_DEVICE double maximum_num(double a, double b) {
  return b != b ? a : a != a ? b : maximum(a, b);
}
INTENT_DEVICE double minimum_num(double a, double b) {
  return b != b ? a : a != a ? b : minimum(a, b);
}
template <class C>
INTENT_DEVICE C maximum(C a, C b) {
  return a > b ? a : b;
}
template <class C>
INTENT_DEVICE C minimum(C a, C b) {
  return a < b ? a : b;
}
template <class C>
INTENT_DEVICE C maximum_num(C a, C b) {
  return maximum(a, b);
}
template <class C>
INTENT_DEVICE C minimum_num(C a, C b) {
  return minimum(a, b);
}

template <class C>
INTENT_DEVICE C bit_and(C a, C b) {
  return C(a & b);
}
template <class C>
INTENT_DEVICE C bit_or(C a, C b) {
  return C(a | b);
}
template <class C>
INTENT_DEVICE C bit_xor(C a, C b) {
  return C(a ^ b);
}
// An amount outside [0, width) gives 0.
template <int width, class C>
INTENT_DEVICE C shl(C a, C amount) {
  return Wrap<C>(amount) < Wrap<C>(width) ? C(Wrap<C>(a) << int(amount)) : C(0);
}
template <int width, class C>
INTENT_DEVICE C shr(C a, C amount) {
  return Wrap<C>(amount) < Wrap<C>(width) ? C(a >> int(amount)) : C(0);
}

}  // namespace rule

#define INTENT_DEVICE_UNARY(name, function)   \
  template <class T>                          \
  INTENT_DEVICE T u_##name(T x) {             \
    return close<T>(rule::function(open(x))); \
  }
#define INTENT_DEVICE_BINARY(name, function)           \
  template <class T>                                   \
  INTENT_DEVICE T b_##name(T a, T b) {                 \
    return close<T>(rule::function(open(a), open(b))); \
  }
#define INTENT_DEVICE_COMPARE(name, sign) \
  template <class T>                      \
  INTENT_DEVICE bool c_##name(T a, T b) { \
    return open(a) sign open(b);          \
  }
INTENT_DEVICE_UNARY(negate, negate)
INTENT_DEVICE_UNARY(abs, abs)
INTENT_DEVICE_UNARY(not, complement)
INTENT_DEVICE_UNARY(floor, floor)
INTENT_DEVICE_UNARY(sqrt, sqrt)
INTENT_DEVICE_BINARY(add, add)
INTENT_DEVICE_BINARY(sub, sub)
INTENT_DEVICE_BINARY(mul, mul)
INTENT_DEVICE_BINARY(div, div)
INTENT_DEVICE_BINARY(floordiv, floordiv)
INTENT_DEVICE_BINARY(mod, mod)
INTENT_DEVICE_BINARY(pow, pow)
INTENT_DEVICE_BINARY(ipow_trunc, ipow_trunc)
INTENT_DEVICE_BINARY(maximum, maximum)
INTENT_DEVICE_BINARY(minimum, minimum)
INTENT_DEVICE_BINARY(maximum_num, maximum_num)
INTENT_DEVICE_BINARY(minimum_num, minimum_num)
INTENT_DEVICE_BINARY(and, bit_and)
INTENT_DEVICE_BINARY(or, bit_or)
INTENT_DEVICE_BINARY(xor, bit_xor)
INTENT_DEVICE_BINARY(shl, shl<kWidth<T>>)
INTENT_DEVICE_BINARY(shr, shr<kWidth<T>>)
INTENT_DEVICE_COMPARE(eq, ==)
INTENT_DEVICE_COMPARE(ne, !=)
INTENT_DEVICE_COMPARE(lt, <)
INTENT_DEVICE_COMPARE(le, <=)
INTENT_DEVICE_COMPARE(gt, >)
INTENT_DEVICE_COMPARE(ge, >=)
#undef INTENT_DEVICE_COMPARE

// The floor of the quotient rounded into the operands' format.
template <class T>
INTENT_DEVICE T b_float_floor_div(T a, T b) {
  return u_floor(b_div(a, b));
}

// Native forms. The sign of these formats is a bit of its own.
#define INTENT_NATIVE(type)                                                          \
  INTENT_DEVICE type u_negate(type x) { return type{u16(x.bits ^ 0x8000)}; }         \
  INTENT_DEVICE type u_abs(type x) { return type{u16(x.bits & 0x7fff)}; }            \
  INTENT_DEVICE type b_maximum(type a, type b) { return ptx_maximum(a, b); }         \
  INTENT_DEVICE type b_minimum(type a, type b) { return ptx_minimum(a, b); }         \
  INTENT_DEVICE type b_maximum_num(type a, type b) { return ptx_maximum_num(a, b); } \
  INTENT_DEVICE type b_minimum_num(type a, type b) { return ptx_minimum_num(a, b); }
INTENT_NATIVE(f16)
INTENT_NATIVE(bf16)
#undef INTENT_NATIVE
INTENT_DEVICE f16 b_add(f16 a, f16 b) { return ptx_add(a, b); }
INTENT_DEVICE f16 b_sub(f16 a, f16 b) { return ptx_sub(a, b); }
INTENT_DEVICE f16 b_mul(f16 a, f16 b) { return ptx_mul(a, b); }
// One product or one addend is exact. a * b - 0 keeps the sign of a zero product.
INTENT_DEVICE bf16 b_add(bf16 a, bf16 b) { return ptx_fma(a, bf16{0x3f80}, b); }
INTENT_DEVICE bf16 b_sub(bf16 a, bf16 b) { return ptx_fma(b, bf16{0xbf80}, a); }
INTENT_DEVICE bf16 b_mul(bf16 a, bf16 b) { return ptx_fma(a, b, bf16{0x8000}); }

#define INTENT_ROUNDED(name)              \
  template <class T>                      \
  INTENT_DEVICE T rn_b_##name(T a, T b) { \
    return b_##name(a, b);                \
  }
INTENT_ROUNDED(add)
INTENT_ROUNDED(sub)
INTENT_ROUNDED(mul)
#undef INTENT_ROUNDED
INTENT_DEVICE float rn_b_add(float a, float b) { return __fadd_rn(a, b); }
INTENT_DEVICE float rn_b_sub(float a, float b) { return __fsub_rn(a, b); }
INTENT_DEVICE float rn_b_mul(float a, float b) { return __fmul_rn(a, b); }
INTENT_DEVICE double rn_b_add(double a, double b) { return __dadd_rn(a, b); }
INTENT_DEVICE double rn_b_sub(double a, double b) { return __dsub_rn(a, b); }
INTENT_DEVICE double rn_b_mul(double a, double b) { return __dmul_rn(a, b); }
INTENT_DEVICE float fma_(float a, float b, float c) { return __fmaf_rn(a, b, c); }
INTENT_DEVICE double fma_(double a, double b, double c) { return __fma_rn(a, b, c); }

// Chapter 5.1. The _ftz form turns subnormal operands and results into zeros of their sign.
INTENT_DEVICE float approx_b_div(float a, float b) { return ptx_divide_approx(a, b); }
INTENT_DEVICE float approx_b_div_ftz(float a, float b) { return ptx_divide_approx_ftz(a, b); }

// Conversions.

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

template <class T>
INTENT_DEVICE T select_(bool condition, T a, T b) {
  return condition ? a : b;
}

// A literal from its storage bits.
template <class T>
INTENT_DEVICE T from_bits(u64 low, u64 high = 0) {
  if constexpr (kSame<T, float>) {
    return __int_as_float(i32(low));
  } else if constexpr (kSame<T, double>) {
    return __longlong_as_double(i64(low));
  } else if constexpr (sizeof(T) == 16) {
    return Wide<T>::from_words(low, high);
  } else if constexpr (kSame<T, Compute<T>>) {
    return T(low);
  } else {
    T x;
    x.bits = static_cast<decltype(x.bits)>(low);
    return x;
  }
}
template <class T>
INTENT_DEVICE T zero() {
  return from_bits<T>(0);
}

INTENT_DEVICE bool load_bool(u8 stored) { return stored != 0; }

// The end of a call: intent_error of compiler/driver/intent_call.h. The first failure stays.
struct Error {
  i32 status;
  u32 ordinal;
  i32 parameter;
  i32 axis;
  i64 value;
  i64 limit;
};
INTENT_DEVICE void fail(Error* error, i32 status, u32 ordinal, i32 parameter, i32 axis, i64 value,
                        i64 limit) {
  if (!ptx_claim(&error->status, status)) return;
  error->ordinal = ordinal;
  error->parameter = parameter;
  error->axis = axis;
  error->value = value;
  error->limit = limit;
}

}  // namespace intent
