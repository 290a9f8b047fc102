#pragma once

// Operations on elements of one dtype: the rules on the types that are computed in, then the
// functions by the names of KIR's kinds.

#include "intent/element.cuh"

namespace intent {

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
  if constexpr (kIsSigned<C> && sizeof(C) < 4) {
    // As abs.s16 the assembler takes the result for one that is never negative (CUDA 13.0).
    return C(ptx_abs(i32(x)));
  } else if constexpr (kIsSigned<C>) {
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
#undef INTENT_DEVICE_UNARY
#undef INTENT_DEVICE_BINARY
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

}  // namespace intent
