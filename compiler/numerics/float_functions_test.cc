// Library functions: the special values of seed 000 chapter 5. Errors are measured by
// tests/numerics/ulp_test.cc.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/numerics/float_rules.h"

namespace intent::numerics {
namespace {

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
