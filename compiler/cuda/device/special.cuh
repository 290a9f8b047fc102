#pragma once

// lgamma and i0.
//
// lgamma has a zero on either side of every pole below -2, where the device's own sum of logarithms
// loses all digits. There 1 / |Gamma(x)| = |x (x + 1) ... (x + m)| / Gamma(1 + u) with x + m = 1 +
// u is taken in double-double arithmetic; x + k is exact, and the logarithm keeps the digits that
// the quotient has beside 1. Below -24 no f64 lies near a zero. f32 goes through f64.

#include "intent/core.cuh"

namespace intent {

// The unevaluated sum of two doubles, the second below the first's last place.
struct DoubleDouble {
  double high, low;
};
INTENT_DEVICE DoubleDouble quick_sum(double x, double y) {  // |x| >= |y|
  const double sum = x + y;
  return {sum, y - (sum - x)};
}
INTENT_DEVICE DoubleDouble exact_sum(double x, double y) {
  const double sum = x + y, back = sum - x;
  return {sum, (x - (sum - back)) + (y - back)};
}
INTENT_DEVICE DoubleDouble product(DoubleDouble x, double y) {
  const double high = x.high * y;
  return quick_sum(high, __fma_rn(x.high, y, -high) + x.low * y);
}

// For arguments in (-40, 0) that are no poles.
INTENT_DEVICE double lgamma_between_poles(double x) {
  static constexpr double kReciprocalGamma[][2] = {
#include "intent/reciprocal_gamma.inc"
  };
  DoubleDouble factors = {1.0, 0.0};
  for (; x < 0.5; x += 1.0) factors = product(factors, x);
  const double u = x - 1.0;
  DoubleDouble series = {0.0, 0.0};
  for (int k = int(sizeof(kReciprocalGamma) / sizeof(kReciprocalGamma[0])) - 1; k >= 0; --k) {
    const DoubleDouble moved = product(series, u);
    const DoubleDouble sum = exact_sum(moved.high, kReciprocalGamma[k][0]);
    series = quick_sum(sum.high, sum.low + (moved.low + kReciprocalGamma[k][1]));
  }
  const DoubleDouble scaled = product(factors, series.high);
  const DoubleDouble whole = quick_sum(scaled.high, scaled.low + factors.high * series.low);
  return -(::log(fabs(whole.high)) + __ddiv_rn(whole.low, whole.high));
}

// Called, not inlined: it is long, and lanes are unrolled.
static __device__ __noinline__ double real_lgamma(double x) {
  if (x > -24.0 && x < -2.0 && ::floor(x) != x) return lgamma_between_poles(x);
  return ::lgamma(x);
}
INTENT_DEVICE float real_lgamma(float x) { return float(real_lgamma(double(x))); }
INTENT_DEVICE double real_i0(double x) { return ::cyl_bessel_i0(x); }
INTENT_DEVICE float real_i0(float x) { return ::cyl_bessel_i0f(x); }

template <class T>
INTENT_DEVICE T u_lgamma(T x) {
  return close<T>(real_lgamma(open(x)));
}
template <class T>
INTENT_DEVICE T u_i0(T x) {
  return close<T>(real_i0(open(x)));
}

}  // namespace intent
