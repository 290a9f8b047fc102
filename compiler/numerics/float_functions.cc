#include <cmath>
#include <limits>

#include "compiler/numerics/float_rules.h"

namespace intent::numerics {
namespace {

// log|Gamma|: the C library has the poles, the infinities, and +0 at 1 and 2; the reentrant form
// keeps the sign out of a global.
template <typename T>
T LgammaOf(T x) {
  int sign = 0;
  if constexpr (std::is_same_v<T, double>) {
    return ::lgamma_r(x, &sign);
  } else {
    return ::lgammal_r(x, &sign);
  }
}

// The modified Bessel function of order zero. Below 30 its power series, whose terms are all
// positive; above, the asymptotic series, whose terms fall below the precision before they grow.
long double I0Of(long double x) {
  constexpr long double kEpsilon = std::numeric_limits<long double>::epsilon() / 4;
  constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
  if (std::isnan(x)) return x;
  x = std::fabs(x);
  if (std::isinf(x)) return x;
  long double sum = 1, term = 1;
  if (x < 30) {
    const long double square = x * x / 4;
    for (int k = 1; term > sum * kEpsilon; ++k) {
      term *= square / (static_cast<long double>(k) * k);
      sum += term;
    }
    return sum;
  }
  for (int k = 1; term > sum * kEpsilon; ++k) {
    const long double odd = 2 * k - 1;
    term *= odd * odd / (8 * k * x);
    sum += term;
  }
  return std::exp(x) / std::sqrt(kTwoPi * x) * sum;
}

template <typename T>
T SigmoidOf(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

float Exp(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }
double Exp(double x) { return std::exp(x); }
float Exp2(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
double Exp2(double x) { return std::exp2(x); }
float Log(float x) { return static_cast<float>(std::log(static_cast<double>(x))); }
double Log(double x) { return std::log(x); }
float Log1p(float x) { return static_cast<float>(std::log1p(static_cast<double>(x))); }
double Log1p(double x) { return static_cast<double>(std::log1p(static_cast<long double>(x))); }
float Lgamma(float x) { return static_cast<float>(LgammaOf<double>(x)); }
double Lgamma(double x) { return static_cast<double>(LgammaOf<long double>(x)); }
float Sin(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
double Sin(double x) { return std::sin(x); }
float Asin(float x) { return static_cast<float>(std::asin(static_cast<double>(x))); }
double Asin(double x) { return std::asin(x); }
float Cos(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
double Cos(double x) { return std::cos(x); }
float Erf(float x) { return static_cast<float>(std::erf(static_cast<double>(x))); }
double Erf(double x) { return std::erf(x); }
float Erfc(float x) { return static_cast<float>(std::erfc(static_cast<double>(x))); }
double Erfc(double x) { return static_cast<double>(std::erfc(static_cast<long double>(x))); }
float I0(float x) { return static_cast<float>(I0Of(x)); }
double I0(double x) { return static_cast<double>(I0Of(x)); }
float Rsqrt(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
double Rsqrt(double x) {
  return static_cast<double>(1.0L / std::sqrt(static_cast<long double>(x)));
}
float Sigmoid(float x) { return static_cast<float>(SigmoidOf<double>(x)); }
double Sigmoid(double x) { return static_cast<double>(SigmoidOf<long double>(x)); }
float Tanh(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
double Tanh(double x) { return std::tanh(x); }
float Pow(float x, float y) {
  return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}
double Pow(double x, double y) { return std::pow(x, y); }

}  // namespace intent::numerics
