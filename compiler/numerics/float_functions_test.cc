// Library functions against MPFR: errors in units of the last place of the correctly rounded
// result, on structured points; and the special values of seed 000 chapter 5.

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compiler/numerics/float_rules.h"

namespace intent::numerics {
namespace {

using MpfrFunction = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);

template <typename T>
struct Case {
  const char* name;
  T (*ours)(T);
  MpfrFunction oracle;
  double bound;      // in ulp, half an ulp for the oracle's own rounding included
  double low, high;  // the domain tried
};

int MpfrI0(mpfr_t out, const mpfr_t x, mpfr_rnd_t) {
  // The power series in enough bits for every argument tried.
  mpfr_t term, square, limit;
  mpfr_inits2(2400, term, square, limit, nullptr);
  mpfr_sqr(square, x, MPFR_RNDN);
  mpfr_div_ui(square, square, 4, MPFR_RNDN);
  mpfr_set_ui(out, 1, MPFR_RNDN);
  mpfr_set_ui(term, 1, MPFR_RNDN);
  for (unsigned long k = 1; k < 4000; ++k) {
    mpfr_mul(term, term, square, MPFR_RNDN);
    mpfr_div_ui(term, term, k * k, MPFR_RNDN);
    mpfr_add(out, out, term, MPFR_RNDN);
    mpfr_mul_2si(limit, out, -130, MPFR_RNDN);
    if (mpfr_cmp(term, limit) < 0) break;
  }
  mpfr_clears(term, square, limit, nullptr);
  return 0;
}
int MpfrRsqrt(mpfr_t out, const mpfr_t x, mpfr_rnd_t mode) { return mpfr_rec_sqrt(out, x, mode); }
int MpfrLgamma(mpfr_t out, const mpfr_t x, mpfr_rnd_t mode) {
  int sign = 0;
  return mpfr_lgamma(out, &sign, x, mode);
}
int MpfrSigmoid(mpfr_t out, const mpfr_t x, mpfr_rnd_t mode) {
  mpfr_neg(out, x, mode);
  mpfr_exp(out, out, mode);
  mpfr_add_ui(out, out, 1, mode);
  return mpfr_ui_div(out, 1, out, mode);
}

template <typename T>
double UlpError(const Case<T>& c, T x) {
  mpfr_t exact, rounded;
  mpfr_init2(exact, 300);
  mpfr_init2(rounded, 300);
  mpfr_set_d(rounded, static_cast<double>(x), MPFR_RNDN);
  c.oracle(exact, rounded, MPFR_RNDN);
  const double reference = mpfr_get_d(exact, MPFR_RNDN);
  const T nearest = static_cast<T>(reference);
  const T ours = c.ours(x);
  double error = 0;
  if (std::isinf(nearest) || std::isinf(ours) || std::isnan(ours) || std::isnan(nearest)) {
    error = (std::isnan(ours) && std::isnan(nearest)) || ours == nearest
                ? 0
                : std::numeric_limits<double>::infinity();
  } else {
    const T ulp =
        std::nextafter(std::fabs(nearest), std::numeric_limits<T>::infinity()) - std::fabs(nearest);
    mpfr_set_d(rounded, static_cast<double>(ours), MPFR_RNDN);
    mpfr_sub(rounded, rounded, exact, MPFR_RNDN);
    error = std::fabs(mpfr_get_d(rounded, MPFR_RNDN)) / static_cast<double>(ulp);
  }
  mpfr_clear(exact);
  mpfr_clear(rounded);
  return error;
}

// Small integers and halves, powers of two with neighbours, and an even spread of the domain.
template <typename T>
std::vector<T> Points(double low, double high) {
  std::vector<T> points;
  const auto add = [&](double x) {
    for (T v : {static_cast<T>(x), std::nextafter(static_cast<T>(x), T{0}),
                std::nextafter(static_cast<T>(x), std::numeric_limits<T>::max())}) {
      if (v >= low && v <= high) points.push_back(v);
    }
  };
  for (int i = -80; i <= 80; ++i) add(i * 0.5);
  for (int e = -40; e <= 10; ++e) {
    add(std::ldexp(1.0, e));
    add(-std::ldexp(1.0, e));
  }
  for (int i = 0; i <= 400; ++i) add(low + (high - low) * i / 400.0);
  return points;
}

template <typename T>
void Check(const std::vector<Case<T>>& cases) {
  for (const Case<T>& c : cases) {
    double worst = 0;
    T worst_at = 0;
    for (T x : Points<T>(c.low, c.high)) {
      const double error = UlpError(c, x);
      if (error > worst) {
        worst = error;
        worst_at = x;
      }
    }
    EXPECT_LE(worst, c.bound) << c.name << " at " << worst_at;
  }
}

TEST(Functions, SingleIsRoundedOnceFromDouble) {
  constexpr double kOnce = 0.5001;
  Check<float>({
      {"exp", Exp, mpfr_exp, kOnce, -104, 89},
      {"exp2", Exp2, mpfr_exp2, kOnce, -150, 128},
      {"log", Log, mpfr_log, kOnce, 0, 1e6},
      {"log1p", Log1p, mpfr_log1p, kOnce, -1, 1e6},
      {"sin", Sin, mpfr_sin, kOnce, -1e6, 1e6},
      {"cos", Cos, mpfr_cos, kOnce, -1e6, 1e6},
      {"asin", Asin, mpfr_asin, kOnce, -1, 1},
      {"erf", Erf, mpfr_erf, kOnce, -10, 10},
      {"erfc", Erfc, mpfr_erfc, kOnce, -10, 11},
      {"i0", I0, MpfrI0, kOnce, -92, 92},
      {"lgamma", Lgamma, MpfrLgamma, kOnce, 0.25, 1000},
      {"rsqrt", Rsqrt, MpfrRsqrt, kOnce, 0, 1e6},
      {"sigmoid", Sigmoid, MpfrSigmoid, kOnce, -104, 100},
      {"tanh", Tanh, mpfr_tanh, kOnce, -20, 20},
  });
}

TEST(Functions, DoubleKeepsTheBounds) {
  Check<double>({
      {"exp", Exp, mpfr_exp, 1, -745, 709.7},
      {"exp2", Exp2, mpfr_exp2, 1, -1074, 1023.9},
      {"log", Log, mpfr_log, 1, 0, 1e6},
      {"log1p", Log1p, mpfr_log1p, 0.51, -1, 1e6},
      {"sin", Sin, mpfr_sin, 1, -1e6, 1e6},
      {"cos", Cos, mpfr_cos, 1, -1e6, 1e6},
      {"asin", Asin, mpfr_asin, 1, -1, 1},
      {"erf", Erf, mpfr_erf, 1.5, -10, 10},
      {"erfc", Erfc, mpfr_erfc, 0.6, -10, 27},
      {"i0", I0, MpfrI0, 1, -713, 713},
      {"lgamma", Lgamma, MpfrLgamma, 1, 0.25, 1000},
      {"rsqrt", Rsqrt, MpfrRsqrt, 0.51, 0, 1e6},
      {"sigmoid", Sigmoid, MpfrSigmoid, 0.51, -745, 100},
      {"tanh", Tanh, mpfr_tanh, 2, -20, 20},
  });
}

template <typename T>
void CheckSpecialValues() {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  for (T pole : {T{0}, T{-0.0}, T{-1}, T{-2}, T{-100}, kInf, -kInf}) EXPECT_EQ(Lgamma(pole), kInf);
  for (T root : {T{1}, T{2}}) {
    EXPECT_EQ(Lgamma(root), 0);
    EXPECT_FALSE(std::signbit(Lgamma(root)));
  }
  for (T bad : {T{1.5}, T{-1.5}, kInf, -kInf}) EXPECT_TRUE(std::isnan(Asin(bad)));
  EXPECT_TRUE(std::signbit(Asin(T{-0.0})));
  EXPECT_TRUE(std::signbit(Log1p(T{-0.0})));
  EXPECT_EQ(Log1p(T{-1}), -kInf);
  EXPECT_TRUE(std::isnan(Log1p(T{-1.5})));
  EXPECT_EQ(Log1p(kInf), kInf);
  EXPECT_EQ(Erfc(T{-0.0}), 1);
  EXPECT_EQ(Erfc(kInf), 0);
  EXPECT_FALSE(std::signbit(Erfc(kInf)));
  EXPECT_EQ(Erfc(-kInf), 2);
  EXPECT_EQ(I0(T{-0.0}), 1);
  EXPECT_EQ(I0(-kInf), kInf);
  EXPECT_EQ(I0(T{1000}), kInf);
  EXPECT_EQ(I0(T{-3}), I0(T{3}));
  EXPECT_EQ(Exp2(-kInf), 0);
  EXPECT_EQ(Exp2(T{-0.0}), 1);
  EXPECT_EQ(Sigmoid(-kInf), 0);
  EXPECT_EQ(Sigmoid(kInf), 1);
  EXPECT_EQ(Rsqrt(T{0}), kInf);
  EXPECT_EQ(Rsqrt(kInf), 0);
  EXPECT_TRUE(std::signbit(Tanh(T{-0.0})));
  for (T nan : {Lgamma(kNan), Asin(kNan), Log1p(kNan), Erfc(kNan), I0(kNan), Exp2(kNan)}) {
    EXPECT_TRUE(std::isnan(nan));
  }
}

TEST(Functions, SpecialValues) {
  CheckSpecialValues<float>();
  CheckSpecialValues<double>();
}

TEST(Functions, PowerOfSpecials) {
  EXPECT_TRUE(std::isnan(Pow(-2.0f, 0.5f)));
  EXPECT_EQ(Pow(2.0f, 200.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(Pow(0.0, 0.0), 1.0);
}

}  // namespace
}  // namespace intent::numerics
