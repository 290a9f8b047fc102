#pragma once

// Functions of real numbers, within the bounds of docs/numerics.md. f32 and f64 take the device's
// own library; formats below f32 evaluate in f32 and round once more.

#include "intent/core.cuh"

namespace intent {

// t = exp(-|x|) never overflows, and keeps its precision where the result is tiny.
INTENT_DEVICE float sigmoid(float x) {
  const float t = expf(-fabsf(x));
  return __fdiv_rn(x < 0.0f ? t : 1.0f, 1.0f + t);
}
INTENT_DEVICE double sigmoid(double x) {
  const double t = exp(-fabs(x));
  return __ddiv_rn(x < 0.0 ? t : 1.0, 1.0 + t);
}

#define INTENT_REAL(name, single, wide)                          \
  static INTENT_DEVICE float name(float x) { return single(x); } \
  static INTENT_DEVICE double name(double x) { return wide(x); }
struct RealUnary {
  INTENT_REAL(exp, ::expf, ::exp)
  INTENT_REAL(exp2, ::exp2f, ::exp2)
  INTENT_REAL(log, ::logf, ::log)
  INTENT_REAL(log1p, ::log1pf, ::log1p)
  INTENT_REAL(sin, ::sinf, ::sin)
  INTENT_REAL(cos, ::cosf, ::cos)
  INTENT_REAL(asin, ::asinf, ::asin)
  INTENT_REAL(erf, ::erff, ::erf)
  INTENT_REAL(erfc, ::erfcf, ::erfc)
  INTENT_REAL(rsqrt, ::rsqrtf, ::rsqrt)
  INTENT_REAL(tanh, ::tanhf, ::tanh)
  INTENT_REAL(sigmoid, intent::sigmoid, intent::sigmoid)
};
#undef INTENT_REAL

template <>
struct Real<float> {
  static INTENT_DEVICE float pow(float a, float b) { return ::powf(a, b); }
  static INTENT_DEVICE float remainder(float a, float b) { return ::fmodf(a, b); }
  static INTENT_DEVICE float zero_like(float x) { return ::copysignf(0.0f, x); }
};
template <>
struct Real<double> {
  static INTENT_DEVICE double pow(double a, double b) { return ::pow(a, b); }
  static INTENT_DEVICE double remainder(double a, double b) { return ::fmod(a, b); }
  static INTENT_DEVICE double zero_like(double x) { return ::copysign(0.0, x); }
};

#define INTENT_REAL(name)                      \
  template <class T>                           \
  INTENT_DEVICE T u_##name(T x) {              \
    return close<T>(RealUnary::name(open(x))); \
  }
INTENT_REAL(exp)
INTENT_REAL(exp2)
INTENT_REAL(log)
INTENT_REAL(log1p)
INTENT_REAL(sin)
INTENT_REAL(cos)
INTENT_REAL(asin)
INTENT_REAL(erf)
INTENT_REAL(erfc)
INTENT_REAL(rsqrt)
INTENT_REAL(tanh)
INTENT_REAL(sigmoid)
#undef INTENT_REAL

// The exact floored remainder, rounded once; a zero takes the divisor's sign.
template <class T>
INTENT_DEVICE T b_float_floor_mod(T x, T y) {
  typedef Compute<T> C;
  const C a = open(x), b = open(y);
  const C rest = Real<C>::remainder(a, b);
  if (rest == C(0)) return close<T>(Real<C>::zero_like(b));
  return close<T>((rest < C(0)) != (b < C(0)) ? rest + b : rest);
}

// Chapter 5.1.
INTENT_DEVICE float approx_u_exp2(float x) { return ptx_exp2_approx(x); }
INTENT_DEVICE float approx_u_exp2_ftz(float x) { return ptx_exp2_approx_ftz(x); }
INTENT_DEVICE float approx_u_tanh(float x) { return ptx_tanh_approx(x); }

}  // namespace intent
