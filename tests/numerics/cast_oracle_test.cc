// Casts, saturating casts and bitcasts between every pair of dtypes against an independent oracle:
// every code of sources of at most 16 bits, and the neighbourhood of every boundary of every
// destination for the others. Interpreter and compiled code.

#include "tests/numerics/cast_oracle.h"

#include <gtest/gtest.h>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/cpu/pointwise_sweep.h"
#include "compiler/numerics/scalar.h"

namespace intent::numerics {
namespace {

using cpu::Scalars;
using oracle::Bits;

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};

std::string Hex(Bits bits) {
  char text[48];
  std::snprintf(text, sizeof(text), "0x%llx%016llx", static_cast<unsigned long long>(bits >> 64),
                static_cast<unsigned long long>(bits));
  return text;
}

enum class Conversion : uint8_t { kCast, kSaturate, kBitcast };

struct Case {
  Conversion conversion;
  DType to;
};

std::vector<Case> CasesFrom(DType from) {
  std::vector<Case> cases;
  for (DType to : kDTypes) {
    cases.push_back({Conversion::kCast, to});
    if (from != DType::kBool && to != DType::kBool) cases.push_back({Conversion::kSaturate, to});
    if (BitWidth(from) == BitWidth(to)) cases.push_back({Conversion::kBitcast, to});
  }
  return cases;
}

// The first disagreement of each case is a failure.
class CastOracle : public testing::TestWithParam<DType> {
 protected:
  void Check(const std::string& who, const Case& c, const Scalars& xs, const Scalars& got) {
    const DType from = GetParam();
    ASSERT_GE(got.size(), xs.size());
    for (size_t i = 0; i < xs.size(); ++i) {
      oracle::Expectation expected;
      switch (c.conversion) {
        case Conversion::kCast:
          expected = oracle::Cast(from, c.to, xs[i].bits);
          break;
        case Conversion::kSaturate:
          expected = oracle::SaturatingCast(from, c.to, xs[i].bits);
          break;
        case Conversion::kBitcast:
          expected.code = xs[i].bits;
          break;
      }
      if (expected.Admits(c.to, got[i].bits)) continue;
      ADD_FAILURE() << who << ": "
                    << (c.conversion == Conversion::kCast       ? "cast"
                        : c.conversion == Conversion::kSaturate ? "saturating_cast"
                                                                : "bitcast")
                    << " of " << DTypeName(from) << " " << Hex(xs[i].bits) << " to "
                    << DTypeName(c.to) << " gives " << Hex(got[i].bits) << " for "
                    << (expected.nan ? "NaN" : Hex(expected.code));
      return;
    }
  }
};

TEST_P(CastOracle, Interpreter) {
  const Scalars xs = CastSources(GetParam());
  for (const Case& c : CasesFrom(GetParam())) {
    Scalars got;
    for (const ScalarValue& x : xs) {
      switch (c.conversion) {
        case Conversion::kCast:
          got.push_back(EvalCast(x, c.to));
          break;
        case Conversion::kSaturate:
          got.push_back(EvalSaturatingCast(x, c.to));
          break;
        case Conversion::kBitcast:
          got.push_back(*EvalBitcast(x, c.to));
          break;
      }
    }
    Check("interpreter", c, xs, got);
    if (c.conversion != Conversion::kCast) continue;
    // What has no meaning is known as invalid.
    for (const ScalarValue& x : xs) {
      if (!oracle::Cast(GetParam(), c.to, x.bits).any) continue;
      ASSERT_FALSE(IsValidCast(x, c.to)) << Hex(x.bits) << " to " << DTypeName(c.to);
    }
  }
}

TEST_P(CastOracle, CompiledCode) {
  const Scalars xs = CastSources(GetParam());
  const std::vector<std::string> targets = cpu::RunnableTargets();
  for (const std::string& target : {targets.front(), targets.back()}) {
    const int lanes = BitWidth(GetParam()) == 128 ? 4 : 16;
    cpu::Sweep sweep(GetParam(), lanes);
    const std::vector<Case> cases = CasesFrom(GetParam());
    for (const Case& c : cases) {
      sweep.Add(c.conversion == Conversion::kCast       ? "cast(%x)"
                : c.conversion == Conversion::kSaturate ? "saturating_cast(%x)"
                                                        : "bitcast(%x)",
                c.to);
    }
    Scalars padded = xs;
    while (padded.size() % 16 != 0) padded.push_back(xs[0]);
    const std::vector<Scalars> got = sweep.Run(padded, padded, padded, {target, 2});
    for (size_t k = 0; k < cases.size(); ++k) Check(target, cases[k], xs, got[k]);
    if (targets.size() == 1) break;
  }
}

INSTANTIATE_TEST_SUITE_P(From, CastOracle, testing::ValuesIn(kDTypes),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace intent::numerics
