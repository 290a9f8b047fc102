// The measure itself: known distances, and what must agree.

#include "tests/support/mpfr_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/numerics/scalar.h"

namespace intent::reference {
namespace {

using numerics::MakeFloat;

double Error(const ScalarValue& got, double exact) {
  Real value(64);
  mpfr_set_d(value.get(), exact, MPFR_RNDN);
  return UlpError(got, value);
}

TEST(UlpError, CountsUnitsOfTheFormatAtTheExactValue) {
  EXPECT_EQ(Error(MakeFloat(DType::kF32, 1 + 0x1p-23), 1), 1);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, 1 - 0x1p-24), 1), 0.5);
  EXPECT_EQ(Error(MakeFloat(DType::kF16, 2048), 2049), 0.5);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, 0x1p-149), 0x1p-150), 0.5);
  EXPECT_EQ(Error(MakeFloat(DType::kF64, 3), std::nextafter(3.0, 4.0)), 1);
}

TEST(UlpError, OverflowStandsForThePowerAbove) {
  EXPECT_EQ(Error(MakeFloat(DType::kF16, INFINITY), 65520), 0);
  EXPECT_EQ(Error(MakeFloat(DType::kF16, INFINITY), 65504), 1);
  EXPECT_EQ(Error(MakeFloat(DType::kF16, 65504), 65520), 0.5);
  EXPECT_GT(Error(MakeFloat(DType::kF16, 65504), 1e9), 100);
  EXPECT_EQ(Error(MakeFloat(DType::kF8E4M3FN, NAN), 1000), 0);
  EXPECT_EQ(Error(MakeFloat(DType::kF4E2M1FN, 6), 1000), 0);
}

TEST(UlpError, SpecialValuesAgreeOrAreWrong) {
  EXPECT_EQ(Error(MakeFloat(DType::kF32, NAN), NAN), 0);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, NAN), 1), 1e9);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, 1), NAN), 1e9);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, -INFINITY), INFINITY), 1e9);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, 0.0), -0.0), 1e9);
  EXPECT_EQ(Error(MakeFloat(DType::kF32, -0.0), 1e-60), 1e9);
  EXPECT_LT(Error(MakeFloat(DType::kF32, 0.0), 1e-60), 1e-10);
}

TEST(Reference, BesselAgreesWithItsFirstTermsAndItsTail) {
  Real x(53), y(96);
  mpfr_set_d(x.get(), 0x1p-20, MPFR_RNDN);
  Evaluate(UnaryKind::kI0, x, &y);
  EXPECT_EQ(mpfr_get_d(y.get(), MPFR_RNDN), 1 + 0x1p-42);
  mpfr_set_d(x.get(), 1, MPFR_RNDN);
  Evaluate(UnaryKind::kI0, x, &y);
  EXPECT_EQ(mpfr_get_d(y.get(), MPFR_RNDN), 1.2660658777520084);
  mpfr_set_d(x.get(), -700, MPFR_RNDN);
  Evaluate(UnaryKind::kI0, x, &y);
  EXPECT_NEAR(mpfr_get_d(y.get(), MPFR_RNDN) / 1.529593347671874e+302, 1, 1e-15);
}

}  // namespace
}  // namespace intent::reference
