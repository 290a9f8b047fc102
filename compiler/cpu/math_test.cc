// Real functions of compiled code against values of more precision (the C library's double for f32,
// MPFR for f64), in units in the last place of the result's format, over the whole number line.

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "compiler/cpu/kernel_fixture.h"

namespace intent::cpu {
namespace {

struct Function {
  const char* name;
  double bound32, bound64;  // ULP
  double (*exact)(double);
  int (*precise)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
};

double ExactRsqrt(double x) { return 1 / std::sqrt(x); }
double ExactSigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
int PreciseSigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round) {
  mpfr_neg(y, x, round);
  mpfr_exp(y, y, round);
  mpfr_add_ui(y, y, 1, round);
  return mpfr_ui_div(y, 1, y, round);
}

int PreciseRsqrt(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round) {
  mpfr_sqrt(y, x, round);
  return mpfr_ui_div(y, 1, y, round);
}

const Function kFunctions[] = {
    {"exp", 1.2, 1.5, std::exp, mpfr_exp},    {"exp2", 1.3, 1.5, std::exp2, mpfr_exp2},
    {"log", 1.0, 1, std::log, mpfr_log},      {"log1p", 0.51, 1, std::log1p, mpfr_log1p},
    {"sin", 0.51, 1, std::sin, mpfr_sin},     {"cos", 0.51, 1, std::cos, mpfr_cos},
    {"asin", 0.51, 1, std::asin, mpfr_asin},  {"erf", 2.0, 2, std::erf, mpfr_erf},
    {"erfc", 0.51, 5, std::erfc, mpfr_erfc},  {"rsqrt", 2.0, 2, ExactRsqrt, PreciseRsqrt},
    {"tanh", 2.0, 3, std::tanh, mpfr_tanh},   {"sigmoid", 2.5, 3, ExactSigmoid, PreciseSigmoid},
    {"sqrt", 0.5, 0.5, std::sqrt, mpfr_sqrt},
};

std::string Program(const std::string& operation, const std::string& dtype, int lanes,
                    bool two_inputs) {
  const std::string type = dtype + (lanes == 1 ? "" : "x" + std::to_string(lanes));
  return "tile { view " + dtype + " rank 1 read view " + dtype + " rank 1 read view " + dtype +
         " rank 1 write %a: mem<" + dtype + "> = view_base {view=0} %b: mem<" + dtype +
         "> = view_base {view=1} %o: mem<" + dtype +
         "> = view_base {view=2} %n: index = view_extent {view=0 axis=0} %z: index = const 0 "
         "%s: index = const " +
         std::to_string(lanes) + " for(%z, %n, %s) (%i: index) { %x: " + type +
         " = load(%a, %i) {stride=1} %y: " + type + " = load(%b, %i) {stride=1} %r: " + type +
         " = " + operation + (two_inputs ? "(%x, %y)" : "(%x)") +
         " store(%o, %i, %r) {stride=1} yield } }";
}

template <typename T>
std::vector<T> Evaluate(const std::string& operation, int lanes, const std::vector<T>& xs,
                        const std::vector<T>& ys, const std::string& target) {
  const std::string dtype = sizeof(T) == 4 ? "f32" : "f64";
  const auto program = ParseOrDie(Program(operation, dtype, lanes, !ys.empty()));
  const auto bytes = BytesOf(xs);
  const int size = static_cast<int>(sizeof(T));
  const Outcome outcome =
      RunCompiled(*program,
                  {Contiguous(bytes, size), Contiguous(ys.empty() ? bytes : BytesOf(ys), size),
                   Contiguous(std::vector<uint8_t>(bytes.size()), size)},
                  {}, target);
  return ValuesOf<T>(outcome.allocations[2]);
}

// Every exponent with random fractions of both signs, ranges where the functions bend, and the
// special values.
template <typename T>
std::vector<T> Points(size_t count) {
  std::mt19937_64 random(1);
  std::vector<T> points = {T(0),
                           -T(0),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(2),
                           T(3),
                           T(88.72283),
                           T(88.72284),
                           T(-103.97),
                           T(-103.98),
                           T(128),
                           T(-149),
                           T(-150),
                           T(-151),
                           T(1048576),
                           T(1e10)};
  while (points.size() < count / 2) {
    T value;
    const uint64_t bits = random();
    std::memcpy(&value, &bits, sizeof(value));
    points.push_back(value);
  }
  for (double range : {1.0, 2.0, 10.0, 110.0, 5000.0}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    for (size_t i = 0; i < count / 10; ++i) points.push_back(static_cast<T>(uniform(random)));
  }
  points.resize(count, T(0.25));
  return points;
}

// |got - exact| in units of the format at the exact value; zeros' signs and NaNs must agree.
double Ulps32(float got, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    return rounded == got ? 0 : std::fabs(rounded) > 3.4e38 && std::fabs(got) > 3.4e38 ? 1 : 1e9;
  }
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : 1e9;
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::fabs(static_cast<double>(got) - exact) / std::ldexp(1.0, exponent - 23);
}

double Ulps64(double got, mpfr_srcptr exact) {
  const double rounded = mpfr_get_d(exact, MPFR_RNDN);
  if (std::isnan(rounded) || std::isnan(got)) {
    return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  }
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e9;
  if (mpfr_zero_p(exact)) return got == 0 && std::signbit(got) == std::signbit(rounded) ? 0 : 1e9;
  const int exponent = std::max<int>(static_cast<int>(mpfr_get_exp(exact)) - 1, -1022);
  mpfr_t difference;
  mpfr_init2(difference, 200);
  mpfr_sub_d(difference, exact, got, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, 52 - exponent, MPFR_RNDN);
  const double ulps = std::fabs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(difference);
  return ulps;
}

TEST(MathTest, SinglePrecision) {
  const std::vector<float> xs = Points<float>(1 << 16);
  for (const std::string& target : RunnableTargets()) {
    for (int lanes : {1, 16}) {
      for (const Function& function : kFunctions) {
        const auto got =
            Evaluate<float>("unary." + std::string(function.name), lanes, xs, {}, target);
        double worst = 0;
        float at = 0, value = 0;
        for (size_t i = 0; i < xs.size(); ++i) {
          const double ulps = Ulps32(got[i], function.exact(static_cast<double>(xs[i])));
          if (ulps > worst) worst = ulps, at = xs[i], value = got[i];
        }
        if (lanes == 16)
          std::printf("%-8s f32 %-10s %.3f ulp\n", function.name, target.c_str(), worst);
        EXPECT_LE(worst, function.bound32)
            << function.name << " on " << target << " lanes " << lanes << " at " << at << " gives "
            << value << ", exact " << function.exact(static_cast<double>(at));
      }
    }
  }
}

TEST(MathTest, DoublePrecision) {
  const std::vector<double> xs = Points<double>(1 << 14);
  mpfr_t x, y;
  mpfr_init2(x, 53);
  mpfr_init2(y, 200);
  for (const std::string& target : RunnableTargets()) {
    for (const Function& function : kFunctions) {
      const auto got = Evaluate<double>("unary." + std::string(function.name), 8, xs, {}, target);
      double worst = 0, at = 0;
      for (size_t i = 0; i < xs.size(); ++i) {
        mpfr_set_d(x, xs[i], MPFR_RNDN);
        function.precise(y, x, MPFR_RNDN);
        const double ulps = Ulps64(got[i], y);
        if (ulps > worst) worst = ulps, at = xs[i];
      }
      std::printf("%-8s f64 %-10s %.3f ulp\n", function.name, target.c_str(), worst);
      EXPECT_LE(worst, function.bound64) << function.name << " on " << target << " at " << at;
    }
  }
  mpfr_clear(x);
  mpfr_clear(y);
}

TEST(MathTest, Power) {
  std::mt19937_64 random(5);
  const std::vector<float> some = Points<float>(1 << 15);
  std::vector<float> xs = some, ys = some;
  std::shuffle(ys.begin(), ys.end(), random);
  const float special[] = {0.0f,  -0.0f, 1.0f,   -1.0f,    2.0f,      -2.0f, 0.5f,       3.0f,
                           -3.0f, 4.5f,  1e-40f, INFINITY, -INFINITY, NAN,   16777215.0f};
  for (float a : special) {
    for (float b : special) xs.push_back(a), ys.push_back(b);
  }
  std::uniform_real_distribution<float> base(-20, 20), exponent(-30, 30);
  while (xs.size() < (1 << 16)) {
    xs.push_back(base(random));
    ys.push_back(xs.size() % 2 == 0 ? std::floor(exponent(random)) : exponent(random));
  }
  for (const std::string& target : RunnableTargets()) {
    const auto got = Evaluate<float>("binary.pow", 16, xs, ys, target);
    double worst = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double exact = std::pow(static_cast<double>(xs[i]), static_cast<double>(ys[i]));
      const double ulps = Ulps32(got[i], exact);
      worst = std::max(worst, ulps);
      ASSERT_LE(ulps, 0.51) << target << ": pow(" << xs[i] << ", " << ys[i] << ") gives " << got[i]
                            << ", exact " << exact;
    }
    std::printf("pow      f32 %-10s %.3f ulp\n", target.c_str(), worst);
  }
}

// The distance of two codes in the order of their values; NaNs are equal.
int Steps(DType dtype, uint16_t a, uint16_t b) {
  const int infinity = dtype == DType::kF16 ? 0x7c00 : 0x7f80;
  const auto place = [&](int code) { return code & 0x8000 ? -(code & 0x7fff) : code; };
  const bool a_nan = (a & 0x7fff) > infinity, b_nan = (b & 0x7fff) > infinity;
  if (a_nan || b_nan) return a_nan && b_nan ? 0 : 1 << 20;
  return std::abs(place(a) - place(b));
}

// Every code of f16 and bf16: evaluated in f32, rounded once more.
TEST(MathTest, NarrowFormats) {
  std::vector<uint16_t> codes(1 << 16);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  const std::vector<ViewArgument> views = {Contiguous(BytesOf(codes), 2),
                                           Contiguous(BytesOf(codes), 2),
                                           Contiguous(std::vector<uint8_t>(2 * codes.size()), 2)};
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Function& function : kFunctions) {
      const auto program = ParseOrDie(
          Program("unary." + std::string(function.name), std::string(DTypeName(dtype)), 16, false));
      const auto expected = ValuesOf<uint16_t>(RunInterpreted(*program, views).allocations[2]);
      for (const std::string& target : RunnableTargets()) {
        const auto got =
            ValuesOf<uint16_t>(RunCompiled(*program, views, {}, target).allocations[2]);
        for (size_t i = 0; i < codes.size(); ++i) {
          ASSERT_LE(Steps(dtype, got[i], expected[i]), 1)
              << function.name << " of " << DTypeName(dtype) << " code " << i << " on " << target
              << ": " << got[i] << " for " << expected[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace intent::cpu
