#pragma once

// Test support: the builtins of CUDA C++ that the device library uses, for this machine's compiler.
// Functions of real numbers are the C library's. What the stand-ins need is included first: the
// macros at the end are words that other headers spell differently.

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/numerics/float_format.h"
#include "compiler/numerics/float_rules.h"

template <class To, class From>
To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}
inline float __int_as_float(int x) { return BitCast<float>(x); }
inline int __float_as_int(float x) { return BitCast<int>(x); }
inline double __longlong_as_double(long long x) { return BitCast<double>(x); }
inline long long __double_as_longlong(double x) { return BitCast<long long>(x); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

// long double holds every source.
inline float TowardZero(long double x) {
  const float near = static_cast<float>(x);
  return std::fabs(static_cast<long double>(near)) > std::fabs(x) ? std::nextafter(near, 0.0f)
                                                                  : near;
}
inline float __double2float_rz(double x) { return TowardZero(x); }
inline float __int2float_rz(int x) { return TowardZero(x); }
inline float __uint2float_rz(unsigned x) { return TowardZero(x); }
inline float __ll2float_rz(long long x) { return TowardZero(x); }
inline float __ull2float_rz(unsigned long long x) { return TowardZero(x); }

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline double cyl_bessel_i0(double x) {
  x = std::fabs(x);
  if (!(x > 500)) return std::cyl_bessel_i(0.0, x);
  if (x > 714) return std::numeric_limits<double>::infinity();
  // Hankel's expansion; the library throws before the format overflows.
  const double y = 1 / (8 * x), half = std::exp(x / 2);
  return half / std::sqrt(2 * M_PI * x) * (1 + y * (1 + y * (4.5 + y * 37.5))) * half;
}
inline float cyl_bessel_i0f(float x) { return static_cast<float>(cyl_bessel_i0(x)); }

#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
