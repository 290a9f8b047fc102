#include "compiler/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/cuda/nvrtc_fixture.h"

namespace intent::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr NvrtcHeader kHeaders[] = {
    {"intent/twice.h", "#pragma once\ntemplate <class T> T twice(T x) { return x + x; }\n"}};
constexpr char kSource[] = R"(#include "intent/twice.h"
extern "C" __global__ void kernel(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = twice(x[i]) * x[i] + 1.0f;
}
)";
NvrtcJob Job(std::string_view source = kSource, std::string_view architecture = "sm_90a") {
  return {.source = source, .headers = kHeaders, .architecture = architecture};
}

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    nvrtc_ = NvrtcForTests();
    if (nvrtc_ == nullptr) GTEST_SKIP() << "no libnvrtc on this machine";
  }
  Nvrtc* nvrtc_ = nullptr;
};

TEST(NvrtcOpen, WhatIsNotThereIsNamed) {
  const auto missing = Nvrtc::Open("/nowhere/libnvrtc.so.13");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(missing.status().message(), HasSubstr("/nowhere/libnvrtc.so.13"));
  const auto folder = Nvrtc::Open("/tmp");
  EXPECT_THAT(folder.status().message(), HasSubstr("/tmp/libnvrtc.so.12"));
}

TEST(NvrtcOpen, AnotherLibraryIsRefused) {
  const auto other = Nvrtc::Open("libm.so.6");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("it has no nvrtcVersion"));
}

TEST_F(NvrtcTest, ALibraryIsFoundByItsFolderAndByItsPath) {
  EXPECT_GE(nvrtc_->major_version(), 12);
  const std::string path = nvrtc_->library_path();
  EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(std::filesystem::exists(nvrtc_->builtins_path())) << nvrtc_->builtins_path();
  EXPECT_TRUE(Nvrtc::Open(path).ok());
  const auto in_folder = Nvrtc::Open(std::filesystem::path(path).parent_path());
  ASSERT_TRUE(in_folder.ok()) << in_folder.status();
  EXPECT_EQ((*in_folder)->VersionText(), nvrtc_->VersionText());
}

TEST_F(NvrtcTest, ArchitecturesAreKnownByTheirNumber) {
  EXPECT_TRUE(nvrtc_->Knows("sm_80"));
  EXPECT_TRUE(nvrtc_->Knows("sm_90a"));
  for (const char* name : {"sm_", "sm_1", "sm_9000", "90", "sm_90b", "sm_-80", "compute_80", ""}) {
    EXPECT_FALSE(nvrtc_->Knows(name)) << name;
  }
  const auto refused = nvrtc_->Compile(Job(kSource, "sm_1"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("does not know sm_1"));
}

TEST_F(NvrtcTest, ACubinForEachArchitectureItKnows) {
  for (const char* name : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    if (!nvrtc_->Knows(name)) continue;
    const auto result = nvrtc_->Compile(Job(kSource, name));
    ASSERT_TRUE(result.ok()) << name << ": " << result.status();
    EXPECT_EQ(result->cubin.substr(0, 4),
              "\x7f"
              "ELF")
        << name;
    EXPECT_THAT(result->ptx, HasSubstr(std::string(".target ") + name));
    EXPECT_THAT(result->log, HasSubstr("registers"));
  }
}

TEST_F(NvrtcTest, ArithmeticKeepsItsRoundings) {
  const auto result = nvrtc_->Compile(Job());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->ptx, Not(HasSubstr("fma")));
  const auto division = nvrtc_->Compile(
      Job("extern \"C\" __global__ void kernel(float* x) { x[0] = sqrtf(x[1] / x[2]); }"));
  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_THAT(division->ptx, HasSubstr("div.rn.f32"));
  EXPECT_THAT(division->ptx, HasSubstr("sqrt.rn.f32"));
  EXPECT_THAT(division->ptx, Not(HasSubstr("ftz")));
}

TEST_F(NvrtcTest, EqualSourcesGiveEqualCode) {
  const auto one = nvrtc_->Compile(Job()), two = nvrtc_->Compile(Job());
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->cubin, two->cubin);
}

TEST_F(NvrtcTest, TheQuickTierIsCodeToo) {
  NvrtcJob job = Job();
  job.quick = true;
  const auto result = nvrtc_->Compile(job);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->ptx, Not(HasSubstr("fma")));
}

TEST_F(NvrtcTest, RefusedSourcesAreOurFaultAndNameTheFirstErrors) {
  const auto result = nvrtc_->Compile(Job("__global__ void kernel() { undefined_name(); }"));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(result.status().message(), HasSubstr("undefined_name"));
  std::string many = "__global__ void kernel() {";
  for (int i = 0; i < 1000; ++i) many += " a_name_that_is_not_there();\n";
  EXPECT_LT(nvrtc_->Compile(Job(many + "}")).status().message().size(), 800u);
}

TEST_F(NvrtcTest, NoFileOfTheMachineIsFound) {
  const auto folder = std::filesystem::temp_directory_path() / "intent_nvrtc_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "here.h") << "#define HERE\n";
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const auto result = nvrtc_->Compile(Job("#include \"here.h\"\n"));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(result.status().message(), HasSubstr("here.h"));
}

TEST_F(NvrtcTest, ACancelledCompileEnds) {
  std::atomic<bool> cancel{true};
  NvrtcJob job = Job();
  job.cancel = &cancel;
  const auto result = nvrtc_->Compile(job);
  if (nvrtc_->major_version() == 12 && nvrtc_->minor_version() < 8) {
    EXPECT_TRUE(result.ok()) << result.status();
  } else {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  }
}

TEST_F(NvrtcTest, PrecompiledHeadersServeThisProcessAndItsForks) {
  const auto plain = nvrtc_->Compile(Job());
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_FALSE(plain->precompiled);
  const absl::Status status = nvrtc_->Precompile("sm_90a", kHeaders);
  if (absl::IsUnimplemented(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(nvrtc_->Precompile("sm_80", kHeaders).ok());
  EXPECT_EQ(nvrtc_->Descriptors().size(), 2u);

  const auto same_code = [&](bool quick) {
    NvrtcJob job = Job();
    job.quick = quick;
    const auto ahead = nvrtc_->Compile(job);
    return ahead.ok() && ahead->precompiled && (quick || ahead->cubin == plain->cubin) &&
           nvrtc_->Compile(Job(kSource, "sm_80"))->precompiled;
  };
  EXPECT_TRUE(same_code(false));
  EXPECT_TRUE(same_code(true));
  const pid_t child = fork();
  if (child == 0) _exit(same_code(false) && same_code(true) ? 0 : 1);
  int ending = -1;
  waitpid(child, &ending, 0);
  EXPECT_EQ(ending, 0);

  // Sources need not include what they use, and count their own lines.
  const auto bare =
      nvrtc_->Compile(Job("__global__ void kernel(float* x) {\n *x = twice(nothing);}"));
  EXPECT_THAT(bare.status().message(), HasSubstr("intent.cu(2): error: identifier \"nothing\""));
  // Other architectures do without.
  EXPECT_FALSE(nvrtc_->Compile(Job(kSource, "sm_90"))->precompiled);
}

}  // namespace
}  // namespace intent::cuda
