#include "compiler/driver/compile_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "compiler/cuda/nvrtc_fixture.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kSquares[] = R"(kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]>) {
  %x = view_load %0 [:] : tensor<f32, [s0]>
  %y = binary mul %x, %x : tensor<f32, [s0]>
  view_store %1 [:] = %y
  return
}
)";

using Outcome = absl::StatusOr<std::variant<CompiledArtifact, Diagnostics>>;

Outcome CompileText(const CompileOptions& options, const cuda::Nvrtc* nvrtc,
                    const std::atomic<bool>* cancel = nullptr) {
  const ParsedModule parsed = ParseModule(kSquares);
  const CompileInput input{EncodeModule(*parsed.module), {}, *ParseTarget("sm_90a"), options};
  auto prepared = Prepare(input, nullptr);
  if (!prepared.ok()) return prepared.status();
  return Compile(input, std::get<Prepared>(*std::move(prepared)), cancel, {.nvrtc = nvrtc});
}

class CompileCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    nvrtc_ = cuda::NvrtcForTests();
    if (nvrtc_ == nullptr) GTEST_SKIP() << "no libnvrtc on this machine";
  }

  void Compile(const CompileOptions& options) {
    Outcome outcome = CompileText(options, nvrtc_);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_TRUE(std::holds_alternative<CompiledArtifact>(*outcome))
        << ToString(std::get<Diagnostics>(*outcome)[0]);
    auto& artifact = std::get<CompiledArtifact>(*outcome);
    ASSERT_TRUE(manifest_.ParseFromString(artifact.manifest));
    payloads_.clear();
    for (auto& [name, bytes] : artifact.payloads) payloads_[name] = std::move(bytes);
    stages_.clear();
    for (const StageTime& time : artifact.times) stages_.push_back(time.stage);
  }

  const cuda::Nvrtc* nvrtc_ = nullptr;
  compile::v1::Manifest manifest_;
  std::map<std::string, std::string> payloads_;
  std::vector<std::string> stages_;
};

TEST(CompileCuda, WithoutNvrtcTheTargetIsNotKnown) {
  const Outcome outcome = CompileText({}, nullptr);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const Diagnostic& diagnostic = std::get<Diagnostics>(*outcome)[0];
  EXPECT_EQ(diagnostic.code, DiagnosticCode::kUnknownTarget);
  EXPECT_THAT(diagnostic.message, HasSubstr("sm_90a needs NVRTC"));
}

TEST_F(CompileCudaTest, AnArtifactIsACubinWithItsManifest) {
  Compile({});
  EXPECT_EQ(payloads_["cubin"].substr(1, 3), "ELF");
  EXPECT_THAT(payloads_, testing::Contains(testing::Key("kir")));
  for (const char* name : {"cuda", "ptx", "tile", "object"}) EXPECT_FALSE(payloads_.contains(name));
  EXPECT_EQ(manifest_.target(), "sm_90a");
  EXPECT_EQ(manifest_.parameters_size(), 2);
  EXPECT_EQ(manifest_.minimum_cuda(), static_cast<uint32_t>(nvrtc_->major_version() * 1000));
  EXPECT_EQ(manifest_.fingerprint(), CudaFingerprint(*nvrtc_));
  EXPECT_NE(manifest_.fingerprint(), CompilerFingerprint());
  ASSERT_GE(manifest_.variants_size(), 1);
  EXPECT_EQ(manifest_.variants(0).entry_symbol(), manifest_.entry_symbol());
  EXPECT_GT(manifest_.variants(0).resources().registers(), 0u);
  EXPECT_THAT(stages_, testing::Contains("nvrtc"));
  EXPECT_THAT(payloads_["report"], HasSubstr("registers"));
  EXPECT_THAT(payloads_["report"], HasSubstr("made by NVRTC " + nvrtc_->VersionText()));
}

TEST_F(CompileCudaTest, SourceAndPtxAreKeptOnRequest) {
  CompileOptions options;
  options.keep_source = options.keep_ptx = true;
  Compile(options);
  EXPECT_THAT(payloads_["cuda"], HasSubstr(manifest_.variants(0).entry_symbol()));
  EXPECT_THAT(payloads_["cuda"], HasSubstr("__global__"));
  EXPECT_THAT(payloads_["ptx"], HasSubstr(".target sm_90a"));
  EXPECT_THAT(payloads_["tile"], HasSubstr("tile {"));
  EXPECT_THAT(payloads_["passes"], HasSubstr("after verify_tile"));
}

TEST_F(CompileCudaTest, EveryTierCompiles) {
  for (int level : {0, 1, 2}) {
    CompileOptions options;
    options.opt_level = level;
    Compile(options);
    EXPECT_FALSE(payloads_["cubin"].empty()) << level;
  }
}

TEST_F(CompileCudaTest, EveryPassCanBeSwitchedOff) {
  for (const char* pass : {"vectorize", "fuse", "parallel", "row_groups", "packed_contractions",
                           "owned_axes", "fuse_multiply_add"}) {
    SCOPED_TRACE(pass);
    CompileOptions options;
    options.opt_level = 1;
    options.disabled_passes = {pass};
    Compile(options);
    EXPECT_FALSE(payloads_["cubin"].empty());
  }
}

TEST_F(CompileCudaTest, AKernelOverItsBudgetIsADiagnosticForEachPart) {
  CompileOptions options;
  options.budget = {.registers = 1, .local_bytes = 1 << 20, .shared_bytes = 1 << 20};
  const Outcome outcome = CompileText(options, nvrtc_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(std::holds_alternative<Diagnostics>(*outcome));
  const auto& diagnostics = std::get<Diagnostics>(*outcome);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, DiagnosticCode::kOverBudget);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("registers a thread; its budget is 1"));
  EXPECT_THAT(diagnostics[0].notes[0].text, HasSubstr("spills"));
  options.budget.registers = 255;
  Compile(options);
}

TEST_F(CompileCudaTest, ACancelledCompileEnds) {
  const std::atomic<bool> cancel{true};
  EXPECT_TRUE(absl::IsCancelled(CompileText({}, nvrtc_, &cancel).status()));
}

}  // namespace
}  // namespace intent
