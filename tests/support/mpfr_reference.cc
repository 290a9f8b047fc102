#include "tests/support/mpfr_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/diag/check.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"

namespace intent::reference {
namespace {

using numerics::FloatFormat;
using numerics::FormatOf;

constexpr mpfr_rnd_t kNearest = MPFR_RNDN;
constexpr double kWrong = 1e9;

void Sigmoid(const Real& x, Real* y) {
  mpfr_neg(y->get(), x.get(), kNearest);
  mpfr_exp(y->get(), y->get(), kNearest);
  mpfr_add_ui(y->get(), y->get(), 1, kNearest);
  mpfr_ui_div(y->get(), 1, y->get(), kNearest);
}

// sum of (x^2 / 4)^k / k!^2: all terms are positive, so no digits cancel.
void Bessel(const Real& x, Real* y) {
  if (mpfr_nan_p(x.get()) || mpfr_inf_p(x.get())) {
    mpfr_abs(y->get(), x.get(), kNearest);
    return;
  }
  if (mpfr_cmpabs_ui(x.get(), 2000) > 0) {  // beyond every format
    mpfr_set_inf(y->get(), 1);
    return;
  }
  const auto precision = static_cast<int>(mpfr_get_prec(y->get())) + 40;
  Real sum(precision), term(precision), square(precision);
  mpfr_sqr(square.get(), x.get(), kNearest);
  mpfr_div_ui(square.get(), square.get(), 4, kNearest);
  mpfr_set_ui(term.get(), 1, kNearest);
  mpfr_set_ui(sum.get(), 1, kNearest);
  for (unsigned long k = 1;; ++k) {
    mpfr_mul(term.get(), term.get(), square.get(), kNearest);
    mpfr_div_ui(term.get(), term.get(), k * k, kNearest);
    mpfr_add(sum.get(), sum.get(), term.get(), kNearest);
    const bool falling = mpfr_cmp_ui(square.get(), k * k) < 0;
    if (mpfr_zero_p(term.get()) ||
        (falling && mpfr_get_exp(term.get()) < mpfr_get_exp(sum.get()) - precision)) {
      break;
    }
  }
  mpfr_set(y->get(), sum.get(), kNearest);
}

// The exact floored remainder; a zero takes the divisor's sign.
void FloorRemainder(const Real& x, const Real& y, Real* r) {
  mpfr_fmod(r->get(), x.get(), y.get(), kNearest);
  if (mpfr_nan_p(r->get())) return;
  if (mpfr_zero_p(r->get())) {
    mpfr_setsign(r->get(), r->get(), mpfr_signbit(y.get()), kNearest);
  } else if (mpfr_signbit(r->get()) != mpfr_signbit(y.get())) {
    mpfr_add(r->get(), r->get(), y.get(), kNearest);
  }
}

bool IsNan(const ScalarValue& x) { return std::isnan(numerics::AsDouble(x)); }

}  // namespace

void Evaluate(UnaryKind kind, const Real& x, Real* result) {
  mpfr_ptr y = result->get();
  switch (kind) {
    case UnaryKind::kNegate:
      mpfr_neg(y, x.get(), kNearest);
      return;
    case UnaryKind::kAbs:
      mpfr_abs(y, x.get(), kNearest);
      return;
    case UnaryKind::kExp:
      mpfr_exp(y, x.get(), kNearest);
      return;
    case UnaryKind::kExp2:
      mpfr_exp2(y, x.get(), kNearest);
      return;
    case UnaryKind::kLog:
      mpfr_log(y, x.get(), kNearest);
      return;
    case UnaryKind::kLog1p:
      mpfr_log1p(y, x.get(), kNearest);
      return;
    case UnaryKind::kLgamma: {
      int sign = 0;
      mpfr_lgamma(y, &sign, x.get(), kNearest);
      return;
    }
    case UnaryKind::kSin:
      mpfr_sin(y, x.get(), kNearest);
      return;
    case UnaryKind::kAsin:
      mpfr_asin(y, x.get(), kNearest);
      return;
    case UnaryKind::kCos:
      mpfr_cos(y, x.get(), kNearest);
      return;
    case UnaryKind::kFloor:
      mpfr_rint_floor(y, x.get(), kNearest);
      return;
    case UnaryKind::kErf:
      mpfr_erf(y, x.get(), kNearest);
      return;
    case UnaryKind::kErfc:
      mpfr_erfc(y, x.get(), kNearest);
      return;
    case UnaryKind::kI0:
      return Bessel(x, result);
    case UnaryKind::kRsqrt:
      // Not mpfr_rec_sqrt: 1 / sqrt(-0) is minus infinity.
      mpfr_sqrt(y, x.get(), kNearest);
      mpfr_ui_div(y, 1, y, kNearest);
      return;
    case UnaryKind::kSqrt:
      mpfr_sqrt(y, x.get(), kNearest);
      return;
    case UnaryKind::kSigmoid:
      return Sigmoid(x, result);
    case UnaryKind::kTanh:
      mpfr_tanh(y, x.get(), kNearest);
      return;
    case UnaryKind::kNot:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

void Evaluate(BinaryKind kind, DType dtype, const Real& x, const Real& y, Real* result) {
  mpfr_ptr r = result->get();
  switch (kind) {
    case BinaryKind::kAdd:
      mpfr_add(r, x.get(), y.get(), kNearest);
      return;
    case BinaryKind::kSub:
      mpfr_sub(r, x.get(), y.get(), kNearest);
      return;
    case BinaryKind::kMul:
      mpfr_mul(r, x.get(), y.get(), kNearest);
      return;
    case BinaryKind::kDiv:
      mpfr_div(r, x.get(), y.get(), kNearest);
      return;
    case BinaryKind::kPow:
      mpfr_pow(r, x.get(), y.get(), kNearest);
      return;
    case BinaryKind::kFloatFloorDiv:
      mpfr_div(r, x.get(), y.get(), kNearest);
      Set(Round(dtype, *result), result);
      mpfr_rint_floor(r, r, kNearest);
      return;
    case BinaryKind::kFloatFloorMod:
      return FloorRemainder(x, y, result);
    case BinaryKind::kMaximum:
    case BinaryKind::kMinimum:
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

void Set(const ScalarValue& x, Real* value) {
  mpfr_set_d(value->get(), numerics::AsDouble(x), kNearest);
}

ScalarValue Round(DType dtype, const Real& value) {
  const FloatFormat format = FormatOf(dtype);
  const auto code = [&](uint64_t bits) { return ScalarValue{dtype, bits}; };
  mpfr_srcptr v = value.get();
  const bool negative = mpfr_signbit(v) != 0;
  if (mpfr_nan_p(v)) return code(numerics::EncodeNan(format));
  const auto ordinary = numerics::Overflow::kOrdinary;
  if (mpfr_inf_p(v)) return code(numerics::EncodeInfinity(format, negative, ordinary));
  if (mpfr_zero_p(v)) return code(numerics::EncodeMagnitude(format, negative, 0, 0, ordinary));
  // 62 bits, then one for what lies below.
  const mpfr_exp_t exponent = std::clamp<mpfr_exp_t>(mpfr_get_exp(v), -2000, 2000);
  Real scaled(static_cast<int>(mpfr_get_prec(v)));
  mpfr_abs(scaled.get(), v, kNearest);
  mpfr_set_exp(scaled.get(), 62);
  const uint64_t whole = mpfr_get_ui(scaled.get(), MPFR_RNDZ);
  const uint64_t sticky = mpfr_integer_p(scaled.get()) ? 0 : 1;
  return code(numerics::EncodeMagnitude(format, negative, whole << 1 | sticky,
                                        static_cast<int>(exponent) - 63, ordinary));
}

double UlpError(const ScalarValue& got, const Real& exact) {
  const FloatFormat format = FormatOf(got.dtype);
  const ScalarValue nearest = Round(got.dtype, exact);
  const bool agrees = got == nearest || (IsNan(got) && IsNan(nearest));
  mpfr_srcptr v = exact.get();
  if (mpfr_number_p(v) == 0 || mpfr_zero_p(v)) return agrees ? 0 : kWrong;
  // The exponent above the largest number's.
  const int top = static_cast<int>(format.max_code >> format.mantissa_bits) - format.bias + 1;
  const auto exponent = static_cast<int>(mpfr_get_exp(v) - 1);
  const double largest = numerics::DecodeToDouble(format, format.max_code);
  const bool outside = exponent >= top || std::fabs(mpfr_get_d(v, MPFR_RNDZ)) > largest ||
                       (!format.has_zero && (exponent < -format.bias || mpfr_signbit(v)));
  if (agrees && outside) return 0;
  const int quantum = std::clamp(exponent, format.MinExponent(), top - 1) - format.mantissa_bits;
  const double sign = mpfr_signbit(v) ? -1 : 1;
  double value = numerics::AsDouble(got);
  if (value == 0 && format.has_negative_zero && std::signbit(value) != (sign < 0)) return kWrong;
  const bool overflowed = std::isinf(value) ? std::signbit(value) == (sign < 0)
                                            : std::isnan(value) && !format.has_infinity;
  if (std::isinf(value) || std::isnan(value)) {
    if (!overflowed) return kWrong;
    value = sign * std::ldexp(1.0, top - quantum);
  } else {
    value = std::ldexp(value, -quantum);
  }
  Real rest(static_cast<int>(mpfr_get_prec(v)) + 8);
  mpfr_mul_2si(rest.get(), v, -quantum, kNearest);
  mpfr_sub_d(rest.get(), rest.get(), value, kNearest);
  return std::fabs(mpfr_get_d(rest.get(), kNearest));
}

}  // namespace intent::reference
