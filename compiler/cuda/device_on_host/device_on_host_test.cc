// The exact functions of the device library, compiled for this machine, against compiler/numerics,
// bit for bit; and its own functions of real numbers against MPFR. What only a GPU can show is in
// tests/gpu.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/cuda/device_on_host/kernels.h"
#include "compiler/cuda/device_sweep.h"
#include "compiler/numerics/scalar.h"
#include "tests/numerics/ulp_points.h"
#include "tests/support/mpfr_reference.h"

namespace intent::cuda {
namespace {

class DeviceOnHost : public testing::TestWithParam<DType> {};

TEST_P(DeviceOnHost, GivesWhatNumericsGives) {
  const std::vector<DeviceFunction> functions = ExactDeviceFunctions();
  ASSERT_EQ(functions.size(), HostKernels().size());
  for (size_t k = 0; k < functions.size(); ++k) {
    const DeviceFunction& f = functions[k];
    if (f.in != GetParam()) continue;
    const DeviceOperands& operands = OperandsOf(f);
    std::vector<uint8_t> got(operands.count * static_cast<size_t>(StorageBytes(f.out)), 0xee);
    HostKernels()[k](operands.x.data(), operands.y.data(), operands.z.data(), got.data(),
                     operands.count);
    EXPECT_EQ(FirstDifference(f, operands, got), "");
  }
}

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};
INSTANTIATE_TEST_SUITE_P(Of, DeviceOnHost, testing::ValuesIn(kDTypes),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

TEST(LgammaBetweenPoles, KeepsItsDigitsBesideItsZeros) {
  reference::Real x(53), exact(96);
  double worst = 0;
  for (const ScalarValue& point : numerics::UnaryPoints(DType::kF64, 1 << 15)) {
    const double argument = numerics::AsDouble(point);
    if (!(argument > -24 && argument < -2) || std::floor(argument) == argument) continue;
    reference::Set(point, &x);
    reference::Evaluate(UnaryKind::kLgamma, x, &exact);
    const ScalarValue got = numerics::MakeFloat(DType::kF64, LgammaBetweenPoles(argument));
    worst = std::max(worst, reference::UlpError(got, exact));
  }
  EXPECT_GT(worst, 0);
  EXPECT_LE(worst, 1.5);
}

}  // namespace
}  // namespace intent::cuda
