// The approximate forms of fdiv, exp2 and tanh (seed 000 chapter 5.1): bounds and special values,
// and flush_to_zero, which turns subnormals at the one operation's boundaries into zeros of their
// sign and touches nothing else. Compiled code and the tile interpreter.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/cpu/pointwise_sweep.h"
#include "compiler/numerics/scalar.h"
#include "tests/support/mpfr_reference.h"

namespace intent::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = 0x1p-140f;  // a subnormal

ScalarValue F32(float x) { return {DType::kF32, std::bit_cast<uint32_t>(x)}; }
float Float(const ScalarValue& x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits)); }
bool IsSubnormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL; }
float Flushed(float x) { return IsSubnormal(x) ? std::copysign(0.0f, x) : x; }

// The interpreter and every level.
std::vector<SweepTarget> Everyone() {
  std::vector<SweepTarget> all = {{}};
  for (const std::string& target : RunnableTargets()) {
    all.emplace_back(target, 2);
    all.emplace_back(target, 0);
  }
  return all;
}

// One expression of %x and %y on lists of floats.
std::vector<float> Evaluate(const std::string& expression, std::vector<float> xs,
                            std::vector<float> ys, const SweepTarget& target) {
  const size_t count = xs.size();
  Scalars left, right;
  for (size_t i = 0; i < (count + 15) / 16 * 16; ++i) {
    left.push_back(F32(i < count ? xs[i] : 1));
    right.push_back(F32(i < count ? ys[i] : 1));
  }
  Sweep sweep(DType::kF32, 16);
  sweep.Add(expression, DType::kF32);
  const std::vector<Scalars> outputs = sweep.Run(left, right, left, target);
  std::vector<float> results;
  for (const ScalarValue& value : outputs[0]) results.push_back(Float(value));
  results.resize(count);
  return results;
}

void ExpectBits(float got, float expected, float x, float y, const SweepTarget& target) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << target.first << " at " << x << " and " << y << ": " << got;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
        << target.first << " at " << x << " and " << y << ": " << got << " for " << expected;
  }
}

std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<float> values = {0.0f,  -0.0f, kInf,  -kInf,    kNan,    kTiny,  -kTiny,
                               1.0f,  -1.0f, 128,   -126,     -126.5f, -149,   -150,
                               10.0f, 0.5f,  1e-6f, 0x1p-13f, 88.0f,   -88.0f, 0x1p126f};
  while (values.size() < count / 2) values.push_back(std::bit_cast<float>(uint32_t(random())));
  std::uniform_real_distribution<float> uniform(-160, 140);
  while (values.size() < count) values.push_back(uniform(random));
  return values;
}

struct Row {
  float x, y, expected;
};

TEST(Approximate, QuotientsByHugeDivisorsAreZerosOfTheirSign) {
  const float huge = 0x1.8p126f;
  const std::vector<Row> rows = {
      {1, huge, 0.0f},    {-1, huge, -0.0f},      {1, -huge, -0.0f},  {3e38f, 0x1p127f, 0.0f},
      {0.0f, huge, 0.0f}, {-0.0f, huge, -0.0f},   {kInf, huge, kNan}, {-kInf, -huge, kNan},
      {kNan, huge, kNan}, {3e38f, 3.4e38f, 0.0f}, {kInf, kInf, kNan}, {1, kInf, 0.0f},
      {-1, kInf, -0.0f},  {kInf, 2, kInf},        {1, 0.0f, kInf},    {1, -0.0f, -kInf},
      {0.0f, 0.0f, kNan}, {0.0f, 3, 0.0f},        {1, kNan, kNan},    {0x1p126f, 0x1p126f, 1}};
  std::vector<float> xs, ys;
  for (const Row& row : rows) xs.push_back(row.x), ys.push_back(row.y);
  for (const SweepTarget& target : Everyone()) {
    const auto got = Evaluate("binary.div(%x, %y) {approximate}", xs, ys, target);
    for (size_t i = 0; i < rows.size(); ++i) {
      ExpectBits(got[i], rows[i].expected, xs[i], ys[i], target);
    }
  }
}

TEST(Approximate, SpecialValuesOfExp2AndTanh) {
  const std::vector<float> xs = {0.0f, -0.0f, kInf, -kInf, kNan, kTiny, -kTiny};
  const std::vector<float> powers = {1, 1, kInf, 0.0f, kNan, 1, 1};
  const std::vector<float> tangents = {0.0f, -0.0f, 1, -1, kNan, kTiny, -kTiny};
  for (const SweepTarget& target : Everyone()) {
    const auto exp2 = Evaluate("unary.exp2(%x) {approximate}", xs, xs, target);
    const auto tanh = Evaluate("unary.tanh(%x) {approximate}", xs, xs, target);
    for (size_t i = 0; i < xs.size(); ++i) {
      ExpectBits(exp2[i], powers[i], xs[i], 0, target);
      ExpectBits(tanh[i], tangents[i], xs[i], 0, target);
    }
  }
}

TEST(Approximate, ErrorsKeepTheBounds) {
  const std::vector<float> xs = RandomFloats(1 << 12, 1);
  std::vector<float> ys = RandomFloats(1 << 12, 2);
  std::shuffle(ys.begin(), ys.end(), std::mt19937(3));
  reference::Real x(53), y(53), exact(64);
  for (const SweepTarget& target : Everyone()) {
    const auto exp2 = Evaluate("unary.exp2(%x) {approximate}", xs, xs, target);
    const auto tanh = Evaluate("unary.tanh(%x) {approximate}", xs, xs, target);
    const auto quotient = Evaluate("binary.div(%x, %y) {approximate}", xs, ys, target);
    for (size_t i = 0; i < xs.size(); ++i) {
      reference::Set(F32(xs[i]), &x);
      reference::Set(F32(ys[i]), &y);
      reference::Evaluate(UnaryKind::kExp2, x, &exact);
      ASSERT_LE(reference::UlpError(F32(exp2[i]), exact), 2) << target.first << " " << xs[i];
      if (std::isfinite(xs[i]) && xs[i] != 0) {
        reference::Evaluate(UnaryKind::kTanh, x, &exact);
        const double true_value = mpfr_get_d(exact.get(), MPFR_RNDN);
        ASSERT_LE(std::fabs(static_cast<double>(tanh[i]) - true_value),
                  0x1p-11 * std::fabs(true_value))
            << target.first << " " << xs[i];
      }
      const float magnitude = std::fabs(ys[i]);
      if (magnitude < 0x1p-126f || magnitude > 0x1p126f) continue;
      reference::Evaluate(BinaryKind::kDiv, DType::kF32, x, y, &exact);
      ASSERT_LE(reference::UlpError(F32(quotient[i]), exact), 2)
          << target.first << " " << xs[i] << " / " << ys[i];
    }
  }
}

// x op y with flush_to_zero is the same operation on flushed operands, its result flushed.
TEST(Approximate, FlushToZeroActsOnTheBoundariesOnly) {
  std::vector<float> xs = RandomFloats(1 << 12, 4), ys = RandomFloats(1 << 12, 5);
  for (size_t i = 0; i < xs.size(); i += 3) {  // many quotients below the normal range
    xs[i] = std::ldexp(xs[i], -130);
    ys[i] = std::ldexp(1.5f, static_cast<int>(i % 20));
  }
  std::vector<float> flushed_xs, flushed_ys;
  for (float v : xs) flushed_xs.push_back(Flushed(v));
  for (float v : ys) flushed_ys.push_back(Flushed(v));
  for (const SweepTarget& target : Everyone()) {
    const auto quotient =
        Evaluate("binary.div(%x, %y) {approximate flush_to_zero}", xs, ys, target);
    const auto plain = Evaluate("binary.div(%x, %y) {approximate}", flushed_xs, flushed_ys, target);
    const auto power = Evaluate("unary.exp2(%x) {approximate flush_to_zero}", xs, xs, target);
    const auto exp2 = Evaluate("unary.exp2(%x) {approximate}", flushed_xs, flushed_xs, target);
    for (size_t i = 0; i < xs.size(); ++i) {
      ExpectBits(quotient[i], Flushed(plain[i]), xs[i], ys[i], target);
      ExpectBits(power[i], Flushed(exp2[i]), xs[i], 0, target);
    }
  }
}

// Neighbours of a flushing operation keep their subnormals, in the same program.
TEST(Approximate, NeighboursKeepSubnormals) {
  for (const SweepTarget& target : Everyone()) {
    Sweep sweep(DType::kF32, 16);
    sweep.Add("binary.div(%x, %y) {approximate flush_to_zero}", DType::kF32);
    sweep.Add("binary.div(%x, %y) {approximate}", DType::kF32);
    sweep.Add("binary.div(%x, %y)", DType::kF32);
    sweep.Add("binary.mul(%x, %y)", DType::kF32);
    const Scalars xs(16, F32(kTiny)), ys(16, F32(1));
    const auto got = sweep.Run(xs, ys, xs, target);
    EXPECT_EQ(Float(got[0][0]), 0) << target.first;
    for (int k : {1, 2, 3}) EXPECT_EQ(Float(got[static_cast<size_t>(k)][0]), kTiny) << target.first;
  }
}

}  // namespace
}  // namespace intent::cpu
