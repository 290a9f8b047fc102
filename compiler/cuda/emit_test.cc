// Kernels as CUDA C++: what the text must hold, and that NVRTC takes it. Without libnvrtc the
// compilations skip and say so. That the code is right shows where it runs (docs/testing.md).

#include "compiler/cuda/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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

absl::StatusOr<CudaSource> Emit(const std::string& kernel,
                                const std::string& architecture = "sm_80") {
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
  options.architecture = architecture;
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

CudaSource ExpectCompiles(const std::string& kernel, const std::string& architecture = "sm_80") {
  const auto source = Emit(kernel, architecture);
  EXPECT_TRUE(source.ok()) << source.status();
  if (!source.ok()) return {};
  const Nvrtc* nvrtc = NvrtcForTests();
  if (nvrtc == nullptr) return *source;
  const auto result = nvrtc->Compile(
      {.source = source->text, .headers = DeviceLibrary(), .architecture = architecture});
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

// A task's scratch memory where the first view has `extent` elements.
int64_t BlockScratch(const Variant& variant, int64_t extent) {
  EXPECT_TRUE(variant.has_block_scratch_bytes());
  const auto bytes = Evaluate(variant.block_scratch_bytes(),
                              [&](const compile::v1::Instruction&) { return extent; });
  EXPECT_TRUE(bytes.has_value());
  return bytes.value_or(-1);
}

TEST(EmitCuda, ASubregionThatDataCutTakesNoMoreMemoryThanItsDomain) {
  const CudaSource source = ExpectCompiles(R"(
kernel (%0: view<in, f32, [s0]>, %1: view<in, index, [2]>, %2: view<inout, f32, [s0]>) {
  %zero = constant 0 : index
  %one = constant 1 : index
  %n = dim %0 axis 0 : index
  %members = domain %zero, %n, %one : domain<[s0]>
  %once = domain %zero, %one, %one : domain<[1]>
  parallel %i = %once {
    %b = view_load %1 [0] : index
    %e = view_load %1 [1] : index
    %own = subregion %members [%b:%e] : domain<[%e - %b]>
    %x = view_load %0 [region %own] : tensor<f32, [%e - %b]>
    %roots = unary sqrt %x : tensor<f32, [%e - %b]>
    %pairs = join %roots, %x : tensor<f32, [%e - %b, 2]>
    %flat = reshape %pairs : tensor<f32, [2*%e - 2*%b]>
    %z = constant 0.0 : f32
    %sum = reduce %flat, %z axes [0] combine add : f32
    %sums = broadcast %sum : tensor<f32, [2*%e - 2*%b]>
    %y = binary mul %flat, %sums : tensor<f32, [2*%e - 2*%b]>
    %t = reduce %y, %z axes [0] combine add : f32
    view_store %2 [0] = %t
    yield
  }
  return
}
)");
  ASSERT_FALSE(source.variants.empty());
  const Variant& variant = source.variants.back();
  const int64_t none = BlockScratch(variant, 0), all = BlockScratch(variant, 1000);
  EXPECT_GE(all, 1000 * 2 * 4);
  EXPECT_EQ((all - none) % (1000 * 4), 0);
  EXPECT_LE(all - none, 1000 * 4 * 4);
}

TEST(EmitCuda, AnExtentThatNothingBoundsWhereMemoryIsTakenIsRefused) {
  // The subregion of the other arm says nothing of this one.
  const auto source = Emit(R"(
kernel (%0: view<in, f32, [s0]>, %1: view<in, index, [2]>, %2: view<inout, f32, [s0]>) {
  %zero = constant 0 : index
  %one = constant 1 : index
  %n = dim %0 axis 0 : index
  %members = domain %zero, %n, %one : domain<[s0]>
  %once = domain %zero, %one, %one : domain<[1]>
  parallel %i = %once {
    %b = view_load %1 [0] : index
    %e = view_load %1 [1] : index
    %z = constant 0.0 : f32
    %ordered = compare le %b, %e : bool
    if %ordered {
      %own = subregion %members [%b:%e] : domain<[%e - %b]>
      %x = view_load %0 [region %own] : tensor<f32, [%e - %b]>
      view_store %2 [region %own] = %x
      yield
    } else {
      %zeros = full %z : tensor<f32, [%e - %b]>
      %sums = scan %zeros, %z axis 0 inclusive combine add : tensor<f32, [%e - %b]>
      %t = reduce %sums, %z axes [0] combine add : f32
      view_store %2 [0] = %t
      yield
    }
    yield
  }
  return
}
)");
  ASSERT_FALSE(source.ok());
  EXPECT_TRUE(absl::IsUnimplemented(source.status())) << source.status();
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("operation 16 depends on data"));
}

TEST(EmitCuda, ATaskOfTiledPointsTakesMemoryOfATileUnlessTilesMayMeet) {
  const CudaSource source = ExpectCompiles(R"(
kernel (%0: view<in, f32, [s0, s1, s2]>, %1: view<in, f32, [s0, s3, s2]>, %2: view<out, f32, [s0, s1, s2]>) symbols 5 {
  %zero = constant 0 : index
  %one = constant 1 : index
  %n = dim %0 axis 0 : index
  %heads = domain %zero, %n, %one : domain<[s0]>
  %none = constant 0.0 : f32
  parallel %h = %heads {
    %q = view_load %0 [%h, :, :] : tensor<f32, [s1, s2]>
    %k = view_load %1 [%h, :, :] : tensor<f32, [s3, s2]>
    %nothing = full %none : tensor<f32, [s1, s2]>
    %r = region_fold %k, %nothing, %q axis 0 slice s4 summarize (%ks: tensor<f32, [s4, s2]>, %qs: tensor<f32, [s1, s2]>) {
      %scores = contract %qs, %ks reduce [(1, 1)] batch [] : tensor<f32, [s1, s4]>
      %part = contract %scores, %ks reduce [(1, 0)] batch [] : tensor<f32, [s1, s2]>
      yield %part
    } combine (%a: tensor<f32, [s1, s2]>, %b: tensor<f32, [s1, s2]>) {
      %sum = binary add %a, %b : tensor<f32, [s1, s2]>
      yield %sum
    } : tensor<f32, [s1, s2]>
    view_store %2 [%h, :, :] = %r
    yield
  }
  return
}
)");
  // Where scratch memory fits, it is shared; that is not at issue here.
  std::vector<Variant> variants;
  for (const Variant& variant : source.variants) {
    if (variant.has_block_scratch_bytes()) variants.push_back(variant);
  }
  ASSERT_EQ(variants.size(), 2u);
  const Variant &apart = variants[0], &any = variants[1];
  EXPECT_TRUE(apart.has_guard());
  EXPECT_FALSE(any.has_guard());
  const auto evaluate = [&](const compile::v1::Program& program, int64_t queries) {
    const auto value = Evaluate(program, [&](const compile::v1::Instruction& leaf) -> int64_t {
      if (leaf.opcode() != compile::v1::Instruction::OPCODE_EXTENT) return 1;
      if (leaf.axis() == 0) return 3;
      return leaf.axis() == 1 && leaf.index() != 1 ? queries : 64;
    });
    EXPECT_TRUE(value.has_value());
    return value.value_or(-1);
  };
  const auto scratch = [&](const Variant& variant, int64_t queries) {
    return evaluate(variant.block_scratch_bytes(), queries);
  };
  EXPECT_EQ(scratch(apart, 1 << 20), scratch(apart, 128));
  EXPECT_GT(scratch(apart, 128), scratch(apart, 64));
  EXPECT_GT(scratch(any, 1 << 20), scratch(any, 128) * 1000);
  EXPECT_EQ(evaluate(apart.grid(0), 1000), 3 * 8);
  EXPECT_EQ(evaluate(apart.grid(0), 0), 3);
}

// A product of matrices whose elements are of `dtype`, with sums of `sum`; `left` computes the left
// operand from %x.
std::string Product(const std::string& dtype, const std::string& sum,
                    const std::string& left = "") {
  const std::string l = left.empty() ? "%x" : "%l";
  return "kernel (%0: view<in, " + dtype + ", [s0, s1]>, %1: view<in, " + dtype +
         ", [s1, s2]>, %2: view<out, " + sum + ", [s0, s2]>) {\n" +
         "  %x = view_load %0 [:, :] : tensor<" + dtype + ", [s0, s1]>\n" +
         "  %y = view_load %1 [:, :] : tensor<" + dtype + ", [s1, s2]>\n" + left +
         "  %z = contract " + l + ", %y reduce [(1, 0)] : tensor<" + sum + ", [s0, s2]>\n" +
         "  view_store %2 [:, :] = %z\n  return\n}\n";
}

TEST(EmitCuda, AMatrixProductTakesTheTargetsMatrixInstructions) {
  const struct {
    const char *dtype, *sum, *architecture, *config;
  } kCases[] = {
      {"bf16", "f32", "sm_90a", "WarpgroupCores<bf16, bf16, float, "},
      {"bf16", "f32", "sm_80", "TensorCores<bf16, bf16, float, "},
      {"f16", "f32", "sm_90a", "WarpgroupCores<f16, f16, float, "},
      {"i8", "i32", "sm_90a", "WarpgroupCores<i8, i8, i32, "},
      {"f64", "f64", "sm_80", "DoubleCores<"},
      {"f32", "f32", "sm_90a", "ScalarCores<float, "},
      {"i64", "i64", "sm_80", "ScalarCores<i64, "},
      {"f16", "f64", "sm_80", "DoubleCores<"},
      {"f8e4m3fn", "f32", "sm_90a", "WarpgroupCores<f16, f16, float, "},
      {"f8e5m2", "f32", "sm_80", "TensorCores<f16, f16, float, "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.config);
    const CudaSource source = ExpectCompiles(Product(c.dtype, c.sum), c.architecture);
    EXPECT_THAT(source.text, HasSubstr(c.config));
    ASSERT_FALSE(source.variants.empty());
    for (const Variant& variant : source.variants) EXPECT_TRUE(variant.has_shared_bytes());
  }
}

TEST(EmitCuda, AProductLeavesSharedMemoryForTheRestOfItsKernel) {
  for (const auto& [architecture, limit] : std::map<std::string, int64_t>{
           {"sm_80", 163}, {"sm_86", 99}, {"sm_89", 99}, {"sm_90a", 227}}) {
    for (const char* dtype : {"bf16", "i8", "f64", "f32", "i64"}) {
      SCOPED_TRACE(architecture + " " + dtype);
      const std::string sum = dtype[0] == 'b' ? "f32" : dtype == std::string("i8") ? "i32" : dtype;
      const auto source = Emit(Product(dtype, sum), architecture);
      ASSERT_TRUE(source.ok()) << source.status();
      const auto nothing = [](const compile::v1::Instruction&) { return 0; };
      const auto bytes = Evaluate(source->variants[0].shared_bytes(), nothing);
      // As much again as slots in shared memory may take, and an exchange of 16 bytes a thread.
      EXPECT_LE(bytes.value_or(1 << 30) + (20 << 10), limit << 10);
    }
  }
}

// Each point's product, and the greatest sum of each row, from what `load` makes of %0 and %1.
std::string ProductOfPoints(const std::string& rows, const std::string& load) {
  const std::string shape = "[" + rows + ", s1]", square = "[" + rows + ", " + rows + "]";
  return "kernel (%0: view<in, bf16, [s3, " + rows + ", s1]>, %1: view<out, f32, [s3, " + rows +
         "]>) {\n  %zero = constant 0 : index\n  %step = constant 1 : index\n"
         "  %n = dim %0 axis 0 : index\n  %all = domain %zero, %n, %step : domain<[s3]>\n"
         "  parallel %i = %all {\n    %v = view_load %0 [%i, :, :] : tensor<bf16, " +
         shape + ">\n" + load + "    %z = contract %x, %x reduce [(1, 1)] : tensor<f32, " + square +
         ">\n    %least = constant -inf : f32\n"
         "    %m = reduce %z, %least axes [1] combine maximum : tensor<f32, [" +
         rows + "]>\n    view_store %1 [%i, :] = %m\n    yield\n  }\n  return\n}\n";
}

TEST(EmitCuda, ATasksBlockMultipliesAndItsWarpsTakeRows) {
  const std::string same = "    %x = reshape %v : tensor<bf16, [s0, s1]>\n";
  const CudaSource source = ExpectCompiles(ProductOfPoints("s0", same), "sm_90a");
  EXPECT_THAT(source.text, HasSubstr("WarpgroupCores<bf16, bf16, float, 2, 128, 2>"));
  EXPECT_THAT(source.text, HasSubstr("contract_alone<Config>(v"));
  EXPECT_THAT(source.text, HasSubstr("const Direct<bf16, Axis::kInner> left"));
  EXPECT_THAT(source.text,
              HasSubstr("for (i64 part = unit_in_block<32>(); part < parts; part += 8)"));
  for (const Variant& variant : source.variants) {
    EXPECT_FALSE(variant.cooperative());
    EXPECT_TRUE(variant.has_shared_bytes()) << "tiles";
    EXPECT_TRUE(variant.has_block_scratch_bytes())
        << "sums, which tiles' copies read from global memory";
  }
  const CudaSource small = ExpectCompiles(
      ProductOfPoints("16", "    %x = reshape %v : tensor<bf16, [16, s1]>\n"), "sm_90a");
  EXPECT_THAT(small.text, Not(HasSubstr("contract_"))) << "most of a tile would be empty";
}

TEST(EmitCuda, ATaskEndsWithItsPartsFailure) {
  const std::string found =
      "    %at = full %n : tensor<index, [s1]>\n"
      "    %w = gather %v [:, %at] : tensor<bf16, [s0, s1]>\n"
      "    %b = buffer %w : buffer<bf16, [s0, s1]>\n"
      "    %x = buffer_load %b [:, :] : tensor<bf16, [s0, s1]>\n";
  const CudaSource source = ExpectCompiles(ProductOfPoints("s0", found));
  EXPECT_THAT(source.text, HasSubstr("if (failed) part_failed = true;"));
  EXPECT_THAT(source.text, HasSubstr("if (part_failed) goto next_"));
  const std::string same = "    %x = reshape %v : tensor<bf16, [s0, s1]>\n";
  EXPECT_THAT(ExpectCompiles(ProductOfPoints("s0", same)).text, Not(HasSubstr("part_failed")));
}

TEST(EmitCuda, WhatLiesInSharedMemoryIsNoDirectOperand) {
  const auto buffered = [](const std::string& rows, const std::string& columns) {
    const std::string shape = "bf16, [" + rows + ", " + columns + "]>\n";
    return "    %b = buffer %v : buffer<" + shape + "    %x = buffer_load %b [:, :] : tensor<" +
           shape;
  };
  const CudaSource scratch = ExpectCompiles(ProductOfPoints("s0", buffered("s0", "s1")), "sm_80");
  EXPECT_THAT(scratch.text, HasSubstr("const Direct<bf16, Axis::kInner> left"));
  std::string kernel = ProductOfPoints("20", buffered("20", "24"));
  for (size_t at = kernel.find("s1"); at != std::string::npos; at = kernel.find("s1"))
    kernel.replace(at, 2, "24");
  const CudaSource slot = ExpectCompiles(kernel, "sm_80");
  EXPECT_THAT(slot.text, HasSubstr("__shared__ __align__(16) bf16 slot"));
  EXPECT_THAT(slot.text, HasSubstr("const auto left = computed<bf16, Axis::kInner>"));
}

TEST(EmitCuda, ElementsInMemoryAreDirectOperandsAndOthersAreComputed) {
  const CudaSource direct = ExpectCompiles(Product("bf16", "f32"), "sm_90a");
  EXPECT_THAT(direct.text, HasSubstr("const Direct<bf16, Axis::kInner> left"));
  EXPECT_THAT(direct.text, HasSubstr("const Direct<bf16, Axis::kOwn> right"));
  const CudaSource negated = ExpectCompiles(
      Product("bf16", "f32", "  %l = unary negate %x : tensor<bf16, [s0, s1]>\n"), "sm_90a");
  EXPECT_THAT(negated.text, HasSubstr("const auto left = computed<bf16, Axis::kInner>"));
  // 8-bit floats become f16: in a copy, or where tasks read them.
  const CudaSource copied = ExpectCompiles(Product("f8e4m3fn", "f32"), "sm_90a");
  EXPECT_THAT(copied.text, HasSubstr("const Direct<f16, Axis::kInner> left"));
  std::string points = ProductOfPoints("s0", "    %x = reshape %v : tensor<bf16, [s0, s1]>\n");
  for (size_t at = points.find("bf16"); at != std::string::npos; at = points.find("bf16"))
    points.replace(at, 4, "f8e4m3fn");
  EXPECT_THAT(ExpectCompiles(points, "sm_90a").text,
              HasSubstr("const Widened<f8e4m3fn, Axis::kInner> left"));
}

TEST(EmitCuda, OnlyLaunchesThatNeedCopiesOfOperandsWaitForThem) {
  const CudaSource source = ExpectCompiles(Product("bf16", "f32"), "sm_90a");
  ASSERT_EQ(source.variants.size(), 2u);
  EXPECT_FALSE(source.variants[0].cooperative());
  EXPECT_TRUE(source.variants[1].cooperative());
  EXPECT_FALSE(source.variants[1].has_guard());
  // Whether a launch of dense matrices takes the first variant, and its scratch memory.
  const auto launch = [&](int64_t rows, int64_t depth, int64_t columns, int64_t overlap = 0) {
    const int64_t extents[3][2] = {{rows, depth}, {depth, columns}, {rows, columns}};
    const auto leaf = [&](const compile::v1::Instruction& at) -> std::optional<int64_t> {
      switch (at.opcode()) {
        case compile::v1::Instruction::OPCODE_EXTENT:
          return extents[at.index()][at.axis()];
        case compile::v1::Instruction::OPCODE_STRIDE:
          return at.axis() == 1 ? 1 : extents[at.index()][1];
        case compile::v1::Instruction::OPCODE_OVERLAP:
          return overlap;
        default:
          return std::nullopt;
      }
    };
    const Variant& first = source.variants[0];
    EXPECT_GT(Evaluate(first.grid(0), leaf).value_or(0), 0);
    const auto holds = Evaluate(first.guard(), leaf);
    EXPECT_TRUE(holds.has_value());
    if (holds == 0) return Evaluate(source.variants[1].scratch_bytes(), leaf).value_or(-1) > 0;
    return first.has_scratch_bytes() && Evaluate(first.scratch_bytes(), leaf) != 0;
  };
  EXPECT_FALSE(launch(4096, 4096, 4096));
  EXPECT_TRUE(launch(4096, 4095, 4096)) << "lines of the left side begin anywhere";
  EXPECT_TRUE(launch(4096, 4096, 4095)) << "lines of the right side";
  EXPECT_FALSE(launch(4096, 4095, 200)) << "too few columns to pay for a copy";
  EXPECT_TRUE(launch(4096, 4096, 4096, /*overlap=*/1));
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

TEST(EmitCuda, WhatIsReadOnceMayWaitInMoreBlocks) {
  const auto blocks = [](const std::string& kernel) {
    const ParsedModule parsed = ParseModule(kernel);
    EXPECT_TRUE(parsed.ok()) << kernel;
    return parsed.ok() ? ResidentBlocks(*parsed.module) : -1;
  };
  EXPECT_EQ(blocks("kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, []>) {\n"
                   "  %x = view_load %0 [:] : tensor<f32, [s0]>\n  %zero = constant 0.0 : f32\n"
                   "  %s = reduce %x, %zero axes [0] combine add : f32\n"
                   "  view_store %1 [] = %s\n  return\n}\n"),
            4);
  const auto rows = [](const std::string& reduces, const std::string& result) {
    return "kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, " + result +
           ", [s0]>) {\n  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
           "  %zero = constant 0.0 : f32\n" +
           reduces + "  view_store %1 [:] = %r\n  return\n}\n";
  };
  const std::string sum = " = reduce %x, %zero axes [1] combine add : tensor<f32, [s0]>\n";
  EXPECT_EQ(blocks(rows("  %r" + sum, "f32")), 0);
  EXPECT_EQ(blocks(rows("  %s" + sum + "  %r" + sum, "f32")), 0);
  EXPECT_EQ(
      blocks(rows("  %begin = constant 0 : index\n  %one = constant 1 : index\n"
                  "  %n = dim %0 axis 1 : index\n"
                  "  %all = domain %begin, %n, %one : domain<[s1]>\n"
                  "  %i = indices %all : tensor<index, [s1]>\n"
                  "  %at = broadcast %i : tensor<index, [s0, s1]>\n"
                  "  %pairs = make_tuple %x, %at : tuple<tensor<f32, [s0, s1]>, tensor<index, "
                  "[s0, s1]>>\n"
                  "  %none = make_tuple %zero, %begin : tuple<f32, index>\n"
                  "  %m = reduce %pairs, %none axes [1] combine arg_max : tuple<tensor<f32, [s0]>, "
                  "tensor<index, [s0]>>\n"
                  "  %r = extract %m axis 1 : tensor<index, [s0]>\n",
                  "index")),
      3);
  EXPECT_EQ(blocks(kDifferences), 0) << "what is stored needs the row again";
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
