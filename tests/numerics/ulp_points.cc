#include "tests/numerics/ulp_points.h"

#include <bit>
#include <cmath>
#include <random>

#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"
#include "tests/support/mpfr_reference.h"

namespace intent::numerics {
namespace {

// Where lgamma vanishes between two poles: it falls from +infinity and rises again, below zero in
// between where it is negative at all. Bisection from the least value towards either pole.
void AddZerosOfLgamma(std::vector<double>* places) {
  reference::Real x(53), y(80);
  const auto negative = [&](double at) {
    mpfr_set_d(x.get(), at, MPFR_RNDN);
    reference::Evaluate(UnaryKind::kLgamma, x, &y);
    return mpfr_sgn(y.get()) < 0;
  };
  for (int pole = 2; pole < 19; ++pole) {
    const double middle = -pole - (pole == 2 ? 0.6 : 0.5);
    if (!negative(middle)) continue;
    for (double end : {-pole - 1.0, -1.0 * pole}) {
      double inside = middle, outside = end;
      for (int step = 0; step < 80; ++step) {
        const double half = inside + (outside - inside) / 2;
        (negative(half) ? inside : outside) = half;
      }
      places->push_back(inside);
    }
  }
}

const std::vector<double>& Places() {
  static const auto* const kPlaces = [] {
    auto* places = new std::vector<double>{
        0.5,    1,       1.5,       2,         2.5,     3,         4,       7.75,
        8,      0.625,   88.722839, -87.33655, -103.97, 709.78271, -745.13, 128,
        -126,   -149,    -150,      1024,      -1022,   -1074,     -1075,   91.9,
        713.98, 3.0 / 8, 0x1p-126,  0x1p-1022, 0x1p-24, 0x1p-53,   0x1p20,  0x1p24,
        0x1p52, 0x1p53,  0x1p126,   0x1p127,   5.8636,  27.226,    9.194,   171.62,
        35.04,  2.5e305, 4e36,      16,        18.0,    -18.0,     -40,     0x1p-30};
    for (int k = 1; k <= 40; ++k) places->push_back(k * 1.5707963267948966);
    for (double big : {1e5, 1e8, 1e15, 1e22}) {
      places->push_back(std::floor(big / 3.141592653589793) * 3.141592653589793);
    }
    for (size_t i = places->size(); i-- > 0;) places->push_back(-(*places)[i]);
    AddZerosOfLgamma(places);
    return places;
  }();
  return *kPlaces;
}

Scalars SpecialValues(DType dtype) {
  const FloatFormat format = FormatOf(dtype);
  Scalars values;
  for (uint64_t code : {uint64_t{0}, uint64_t{1}, format.max_code, format.max_code + 1,
                        format.nan_code, uint64_t{1} << format.mantissa_bits}) {
    values.push_back({dtype, code & (format.MagnitudeMask() | format.SignBit())});
    values.push_back({dtype, (code & format.MagnitudeMask()) | format.SignBit()});
  }
  for (double number : {1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 4.5, -4.5, 16777215.0}) {
    values.push_back(MakeFloat(dtype, number));
  }
  return values;
}

}  // namespace

Scalars UnaryPoints(DType dtype, size_t count) {
  std::mt19937_64 random(1);
  Scalars points = SpecialValues(dtype);
  const int reach = count > (1 << 16) ? 256 : 8;
  for (double place : Places()) {
    const ScalarValue at = MakeFloat(dtype, place);
    if (std::isinf(AsDouble(at)) || AsDouble(at) == 0) continue;
    for (int step = -reach; step <= reach; ++step) {
      const uint64_t code = static_cast<uint64_t>(at.bits) + static_cast<uint64_t>(step);
      points.push_back(RandomValue(dtype, 0, code));
    }
  }
  const size_t structured = points.size();
  const size_t rest = count > structured ? count - structured : 0;
  for (size_t i = 0; i < rest / 2; ++i) points.push_back(RandomValue(dtype, 0, random()));
  for (double range : {1.0, 2.0, 10.0, 110.0, 750.0}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    for (size_t i = 0; i < rest / 10; ++i) points.push_back(MakeFloat(dtype, uniform(random)));
  }
  return points;
}

PointPairs BinaryPoints(DType dtype, size_t count) {
  std::mt19937_64 random(2);
  PointPairs pairs;
  const auto add = [&](const ScalarValue& x, const ScalarValue& y) {
    pairs.xs.push_back(x);
    pairs.ys.push_back(y);
  };
  const Scalars special = SpecialValues(dtype);
  for (const ScalarValue& x : special) {
    for (const ScalarValue& y : special) add(x, y);
  }
  std::uniform_real_distribution<double> base(-20, 20), exponent(-30, 30);
  while (pairs.xs.size() < count) {
    add(RandomValue(dtype, 0, random()), RandomValue(dtype, 0, random()));
    const ScalarValue x = MakeFloat(dtype, base(random));
    add(x, MakeFloat(dtype, exponent(random)));
    add(x, MakeFloat(dtype, std::floor(exponent(random))));
    add(x, {dtype, x.bits ^ (random() & 0xff)});
  }
  return pairs;
}

PointPairs EveryPair(DType dtype) {
  PointPairs pairs;
  const Scalars codes = EveryCode(dtype);
  for (const ScalarValue& x : codes) {
    for (const ScalarValue& y : codes) {
      pairs.xs.push_back(x);
      pairs.ys.push_back(y);
    }
  }
  return pairs;
}

}  // namespace intent::numerics
