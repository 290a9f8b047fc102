#include <bit>
#include <cmath>
#include <cstdio>

#include "compiler/ir/module.h"
#include "compiler/numerics/float_rules.h"
#include "compiler/numerics/scalar.h"
#include "tests/gpu/function_runner.h"
#include "tests/gpu/functions_check.h"
#include "tests/numerics/ulp_points.h"
#include "tests/support/mpfr_reference.h"

namespace intent::gpu_test {
namespace {

constexpr size_t kPoints = size_t{1} << 16;
constexpr float kLeastNormal = 0x1p-126f;

float Float(const ScalarValue& x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits)); }
ScalarValue F32(float x) { return {DType::kF32, std::bit_cast<uint32_t>(x)}; }

bool SameBits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Whether `got` is within the contract of the operation on x and y, which are flushed already where
// the operation flushes.
bool Admits(const cuda::DeviceFunction& f, float x, float y, float got, reference::Real* exact) {
  reference::Real a(53), b(53);
  reference::Set(F32(x), &a);
  reference::Set(F32(y), &b);
  const auto within_ulps = [&](double bound) {
    const double value = mpfr_get_d(exact->get(), MPFR_RNDN);
    if (f.flush_to_zero && std::fabs(value) < double{kLeastNormal} * (1 + 0x1p-21)) {
      const bool zero = got == 0 && std::signbit(got) == std::signbit(value);
      if (zero) return true;
      if (std::fabs(got) < kLeastNormal) return false;
    }
    return reference::UlpError(F32(got), *exact) <= bound;
  };
  if (f.form == cuda::DeviceFunction::Form::kBinary) {
    const float magnitude = std::fabs(y);
    if (std::isfinite(x) && std::isfinite(y) && y != 0 && x != 0 && magnitude <= 0x1p126f) {
      if (magnitude < kLeastNormal) return true;  // the reciprocal may overflow: no bound is given
      reference::Evaluate(BinaryKind::kDiv, DType::kF32, a, b, exact);
      return within_ulps(2);
    }
    return SameBits(got, numerics::ApproximateDivide(x, y));
  }
  reference::Evaluate(f.unary, a, exact);
  if (!std::isfinite(x) || x == 0)
    return SameBits(got, Float(reference::Round(DType::kF32, *exact)));
  if (f.unary == UnaryKind::kExp2) return within_ulps(2);
  const double value = mpfr_get_d(exact->get(), MPFR_RNDN);
  return std::fabs(static_cast<double>(got) - value) <= 0x1p-11 * std::fabs(value);
}

std::string FirstOutside(const cuda::DeviceFunction& f, const numerics::PointPairs& points,
                         const std::vector<uint8_t>& results) {
  reference::Real exact(64);
  for (size_t i = 0; i < points.xs.size(); ++i) {
    float x = Float(points.xs[i]), y = Float(points.ys[i]);
    const float got = Float(numerics::LoadScalar(DType::kF32, &results[4 * i]));
    if (f.flush_to_zero) {
      x = numerics::FlushToZero(x);
      y = numerics::FlushToZero(y);
    }
    if (Admits(f, x, y, got, &exact)) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "%s: x=%a y=%a gives %a", f.Expression().c_str(), double{x},
                  double{y}, double{got});
    return text;
  }
  return "";
}

}  // namespace

void CheckApproximateForms(const DeviceSession& session, const Images& images, Tally* tally) {
  FunctionRunner runner(session, images, DType::kF32, Conversions::kNative);
  const numerics::Scalars singles = numerics::UnaryPoints(DType::kF32, kPoints);
  const numerics::PointPairs sets[] = {{singles, singles},
                                       numerics::BinaryPoints(DType::kF32, kPoints)};
  for (const numerics::PointPairs& points : sets) {
    const std::vector<uint8_t> x = numerics::Stored(points.xs), y = numerics::Stored(points.ys);
    runner.SetOperands({points.xs.size(), x, y, x});
    for (size_t k = 0; k < runner.functions().size(); ++k) {
      const cuda::DeviceFunction& f = runner.functions()[k];
      if (f.approximate) tally->Add(FirstOutside(f, points, runner.Run(k)));
    }
  }
}

}  // namespace intent::gpu_test
