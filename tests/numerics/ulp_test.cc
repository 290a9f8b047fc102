// Every floating function of every format, in the interpreter and in compiled code, keeps the bound
// that docs/numerics.md states. INTENT_ULP_POINTS=1048576 is the long run.

#include <gtest/gtest.h>

#include <cstdio>

#include "compiler/ir/module.h"
#include "compiler/numerics/scalar.h"
#include "tests/numerics/ulp_measure.h"

namespace intent::numerics {
namespace {

class UlpTest : public testing::TestWithParam<DType> {
 protected:
  void Check(bool unary) {
    for (const Measurement& m : Measure(GetParam(), unary, PointsFromEnvironment())) {
      for (const Worst& worst : m.worst) {
        EXPECT_LE(worst.ulps, worst.bound)
            << m.function->name << " of " << DTypeName(m.dtype) << ", " << worst.implementation
            << ", at " << AsDouble(worst.x) << " and " << AsDouble(worst.y) << " gives "
            << AsDouble(worst.got);
      }
    }
  }
};

TEST_P(UlpTest, UnaryFunctions) { Check(true); }
TEST_P(UlpTest, BinaryFunctions) { Check(false); }

std::vector<DType> FloatFormats() {
  std::vector<DType> formats;
#define INTENT_DTYPE(name, text, bits, bytes, cls) \
  if (IsFloat(DType::name)) formats.push_back(DType::name);
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, UlpTest, testing::ValuesIn(FloatFormats()),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace intent::numerics
