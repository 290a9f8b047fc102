// Kernels as CUDA C++: what the text must hold, and that NVRTC takes it. Without libnvrtc the
// compilations skip and say so. That the code is right is shown where a GPU runs it (tests/gpu).

#include "compiler/cuda/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/cuda/device_library.h"
#include "compiler/cuda/nvrtc_fixture.h"
#include "compiler/ir/parse.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/launch_program.h"
#include "compiler/specialize/specialize.h"
#include "compiler/tile/print.h"
#include "compiler/tile/verify_tile.h"
#include "compiler/verify/verify.h"

namespace intent::cuda {
namespace {

using compile::v1::Variant;
using testing::HasSubstr;
using testing::Not;

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
  for (const SpecialLowering& special :
       SpecialLowerings(*parsed.module, Lowering(*parsed.module), lowered)) {
    options.special.push_back(
        {special.suffix, lower::LowerToTiles(*parsed.module, special.options)});
    const tile::Program& program = *options.special.back().lowered.program;
    EXPECT_TRUE(tile::VerifyTile(program).ok()) << tile::Print(program);
  }
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

// The code of one entry.
std::string CodeOf(const CudaSource& source, const std::string& entry) {
  const size_t begin = source.text.find(" " + entry + "(");
  EXPECT_NE(begin, std::string::npos) << entry;
  return source.text.substr(begin, source.text.find("extern \"C\"", begin) - begin);
}

// A matrix and a result like it, as one call has them.
struct Call {
  int64_t columns = 1024, row_stride = 1024, stride = 1, address = 256;
  bool overlap = false, same = false;

  std::string EntryOf(const CudaSource& source) const {
    for (const Variant& variant : source.variants) {
      if (variant.guard().instructions_size() == 0) return variant.entry_symbol();
      const auto guard =
          Evaluate(variant.guard(), [&](const compile::v1::Instruction& leaf) -> int64_t {
            switch (leaf.opcode()) {
              case compile::v1::Instruction::OPCODE_EXTENT:
                return leaf.axis() == 0 ? 64 : columns;
              case compile::v1::Instruction::OPCODE_STRIDE:
                return leaf.axis() == 0 ? row_stride : stride;
              case compile::v1::Instruction::OPCODE_ADDRESS:
                return address;
              case compile::v1::Instruction::OPCODE_OVERLAP:
                return overlap;
              default:
                return same;
            }
          });
      if (guard.value_or(0) != 0) return variant.entry_symbol();
    }
    return "";
  }
};

constexpr char kDifferences[] =
    R"(kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0, s1]>) {
  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>
  %least = constant -inf : f32
  %m = reduce %x, %least axes [1] combine maximum : tensor<f32, [s0]>
  %m1 = reshape %m : tensor<f32, [s0, 1]>
  %m2 = broadcast %m1 : tensor<f32, [s0, s1]>
  %d = binary sub %x, %m2 : tensor<f32, [s0, s1]>
  view_store %1 [:, :] = %d
  return
}
)";

TEST(EmitCuda, WhichRowsAreHeldIsUpToTheCall) {
  const CudaSource source = ExpectCompiles(kDifferences);
  const std::string warps = "intent_kernel_rows_of_warps", blocks = "intent_kernel_rows_of_blocks";
  EXPECT_EQ(Call().EntryOf(source), warps);
  EXPECT_EQ(Call({.columns = 4}).EntryOf(source), warps);
  EXPECT_EQ(Call({.columns = 1028, .row_stride = 1028}).EntryOf(source), blocks);
  EXPECT_EQ(Call({.columns = 8192, .row_stride = 8192}).EntryOf(source), blocks);
  EXPECT_EQ(Call({.columns = 8196, .row_stride = 8196}).EntryOf(source), "intent_kernel");
  EXPECT_EQ(Call({.overlap = true, .same = true}).EntryOf(source), warps);
  // A part of a row's end would stand beside, or no access of 16 bytes would do.
  for (const Call& call : {Call{.columns = 1022}, Call{.row_stride = 1026}, Call{.stride = 2},
                           Call{.address = 260}, Call{.overlap = true}}) {
    EXPECT_EQ(call.EntryOf(source), "intent_kernel_short_rows");
  }
}

TEST(EmitCuda, AHeldRowIsReadOnceByFullAccessesAndNeedsNoScratchMemory) {
  const CudaSource source = ExpectCompiles(kDifferences);
  const std::string code = CodeOf(source, "intent_kernel_rows_of_warps");
  size_t loads = 0;
  for (size_t at = code.find("load_packed<4>"); at != std::string::npos;
       at = code.find("load_packed<4>", at + 1)) {
    ++loads;
  }
  EXPECT_EQ(loads, 8u) << code;
  EXPECT_THAT(code, HasSubstr("store_packed<4>"));
  EXPECT_THAT(code, Not(HasSubstr("load_lanes")));
  EXPECT_THAT(code, Not(HasSubstr("take_scratch")));
  EXPECT_FALSE(source.variants[0].has_scratch_bytes());
  EXPECT_FALSE(source.variants[0].resident());
}

TEST(EmitCuda, AWindowOfARowIsNotTakenToBeAligned) {
  const CudaSource source =
      ExpectCompiles(R"(kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0, s1 - 1]>) {
  %one = constant 1 : index
  %n = dim %0 axis 1 : index
  %x = view_load %0 [:, %one:%n] : tensor<f32, [s0, s1 - 1]>
  %least = constant -inf : f32
  %m = reduce %x, %least axes [1] combine maximum : tensor<f32, [s0]>
  %m1 = reshape %m : tensor<f32, [s0, 1]>
  %m2 = broadcast %m1 : tensor<f32, [s0, s1 - 1]>
  %d = binary sub %x, %m2 : tensor<f32, [s0, s1 - 1]>
  view_store %1 [:, :] = %d
  return
}
)");
  const std::string code = CodeOf(source, "intent_kernel_rows_of_warps");
  EXPECT_THAT(code, Not(HasSubstr("load_packed")));
  EXPECT_THAT(code, HasSubstr("load_lanes"));
}

}  // namespace
}  // namespace intent::cuda
