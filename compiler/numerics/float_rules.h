#pragma once

// Floating arithmetic, T is float or double. Chapters are those of seed 000, with an L
// language.md's.
// + - * / sqrt and floor are the C++ operations: the build forbids contraction, and the rounding
// mode is to nearest.

#include <cmath>
#include <limits>

#include "compiler/numerics/element.h"

namespace intent::numerics {

// 5.2, L 16, IEEE 754-2019 maximum: NaN propagates, +0 is greater than -0.
template <typename T>
T Maximum(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}
template <typename T>
T Minimum(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

// 5.2, L 16, maximumNumber: NaN only if both are NaN.
template <typename T>
T MaximumNum(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
  }
  return Maximum(a, b);
}
template <typename T>
T MinimumNum(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
  }
  return Minimum(a, b);
}

// 5.1: subnormals become zeros of their sign.
inline float FlushToZero(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

// 5.1, the approximate quotient: exact division satisfies its bound; beyond 2^126 the divisor's
// reciprocal is zero.
inline float ApproximateDivide(float a, float b) {
  const float magnitude = std::fabs(b);
  if (magnitude > 0x1p126f && std::isfinite(b)) {
    if (std::isinf(a)) return std::numeric_limits<float>::quiet_NaN();
    if (std::isfinite(a)) {
      return std::signbit(a) != std::signbit(b) ? -0.0f : 0.0f;
    }
  }
  return a / b;
}

// floor of the once-rounded quotient (arithmetic.md): rounded into the operands' own format.
template <DType D>
typename Element<D>::Compute FloatFloorDiv(typename Element<D>::Compute a,
                                           typename Element<D>::Compute b) {
  return std::floor(Element<D>::Load(Element<D>::Store(a / b)));
}

// The exact floored remainder, rounded once; a zero takes the divisor's sign (arithmetic.md).
template <typename T>
T FloatFloorMod(T a, T b) {
  const T remainder = std::fmod(a, b);
  if (remainder == T{0}) return std::copysign(T{0}, b);
  return (remainder < T{0}) != (b < T{0}) ? remainder + b : remainder;
}

// 5, library functions: f32 evaluates in double and rounds once, f64 in the widest type the bound
// needs. Special values are those of chapter 5.
float Exp(float x);
double Exp(double x);
float Exp2(float x);
double Exp2(double x);
float Log(float x);
double Log(double x);
float Log1p(float x);
double Log1p(double x);
float Lgamma(float x);
double Lgamma(double x);
float Sin(float x);
double Sin(double x);
float Asin(float x);
double Asin(double x);
float Cos(float x);
double Cos(double x);
float Erf(float x);
double Erf(double x);
float Erfc(float x);
double Erfc(double x);
float I0(float x);
double I0(double x);
float Rsqrt(float x);
double Rsqrt(double x);
float Sigmoid(float x);
double Sigmoid(double x);
float Tanh(float x);
double Tanh(double x);
float Pow(float x, float y);
double Pow(double x, double y);

}  // namespace intent::numerics
