// Kernels as CUDA C++: what the text must hold, and that NVRTC takes it. Without libnvrtc the
// compilations skip and say so. That the code is right is shown where a GPU runs it (tests/gpu).

#include "compiler/cuda/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/cuda/device_library.h"
#include "compiler/cuda/nvrtc_fixture.h"
#include "compiler/ir/parse.h"
#include "compiler/lower/lower.h"
#include "compiler/specialize/specialize.h"
#include "compiler/tile/print.h"
#include "compiler/tile/verify_tile.h"
#include "compiler/verify/verify.h"

namespace intent::cuda {
namespace {

using compile::v1::Variant;
using testing::HasSubstr;

absl::StatusOr<CudaSource> Emit(const std::string& kernel) {
  const ParsedModule parsed = ParseModule(kernel);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : ToString(parsed.diagnostics[0])) << kernel;
  if (!parsed.ok()) return absl::InvalidArgumentError("does not parse");
  const Diagnostics found = Verify(*parsed.module);
  EXPECT_TRUE(found.empty()) << ToString(found[0]);
  EXPECT_TRUE(Specialize(parsed.module.get(), {}).empty());
  const lower::Lowered lowered = lower::LowerToTiles(*parsed.module, Lowering(*parsed.module));
  const absl::Status verified = tile::VerifyTile(*lowered.program);
  EXPECT_TRUE(verified.ok()) << verified;
  EmitOptions options;
  const Function& function = parsed.module->kernel_function();
  for (uint32_t i = 0; i < function.parameters.size(); ++i) {
    (function.parameters[i].type.IsView() ? options.view_parameters : options.scalar_parameters)
        .push_back(i);
  }
  return EmitCuda(*lowered.program, options);
}

CudaSource ExpectCompiles(const std::string& kernel) {
  const auto source = Emit(kernel);
  EXPECT_TRUE(source.ok()) << source.status();
  if (!source.ok()) return {};
  const Nvrtc* nvrtc = NvrtcForTests();
  if (nvrtc == nullptr) return *source;
  const auto result =
      nvrtc->Compile({.source = source->text, .headers = DeviceLibrary(), .architecture = "sm_80"});
  EXPECT_TRUE(result.ok()) << result.status() << "\n" << source->text;
  return *source;
}

constexpr char kChain[] = R"(kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]>) {
  %x = view_load %0 [:] : tensor<f32, [s0]>
  %y = unary exp %x : tensor<f32, [s0]>
  %z = binary mul %y, %x : tensor<f32, [s0]>
  view_store %1 [:] = %z
  return
}
)";

TEST(EmitCuda, AChainIsOneGridOfTasksAndWaitsOnlyIfViewsOverlap) {
  const CudaSource source = ExpectCompiles(kChain);
  EXPECT_THAT(source.text, HasSubstr("load_lanes<4>"));
  // A copy of what overlapping views would change needs scratch memory and a barrier, others do
  // not.
  ASSERT_EQ(source.variants.size(), 2u);
  EXPECT_TRUE(source.variants[0].has_guard());
  EXPECT_FALSE(source.variants[0].cooperative());
  EXPECT_FALSE(source.variants[0].has_scratch_bytes());
  EXPECT_FALSE(source.variants[1].has_guard());
  EXPECT_TRUE(source.variants[1].cooperative());
  EXPECT_TRUE(source.variants[1].has_scratch_bytes());
}

}  // namespace
}  // namespace intent::cuda
