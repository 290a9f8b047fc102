#include "compiler/cuda/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/cuda/nvrtc_fixture.h"

namespace intent::cuda {
namespace {

using testing::HasSubstr;

constexpr char kLog[] =
    "intent.cu(3): warning #177-D: variable \"x\" was declared but never referenced, 9 registers\n"
    "ptxas info    : 304 bytes gmem\n"
    "ptxas info    : Compiling entry function 'intent_kernel' for 'sm_90a'\n"
    "ptxas info    : Function properties for intent_kernel\n"
    "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
    "ptxas info    : Function properties for helper\n"
    "ptxas         .     32 bytes stack frame, 2 bytes spill stores, 1 bytes spill loads\n"
    "ptxas info    : Used 74 registers, used 1 barriers, 48 bytes cumulative stack size, 1344 "
    "bytes "
    "smem, 512 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
    "ptxas info    : Function properties for other\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 0 barriers\n";

TEST(Resources, OfTheKernelThatIsAskedFor) {
  EXPECT_EQ(*ReadResources(kLog, "intent_kernel"), (KernelResources{.registers = 74,
                                                                    .shared_bytes = 1344,
                                                                    .local_bytes = 48,
                                                                    .spill_store_bytes = 10,
                                                                    .spill_load_bytes = 5}));
  EXPECT_EQ(*ReadResources(kLog, "other"), (KernelResources{.registers = 12}));
}

TEST(Resources, ALogWithoutTheKernelIsAnError) {
  for (const char* log :
       {"", "ptxas info    : Used 74 registers\n",
        "ptxas info    : Compiling entry function 'intent_kernel' for 'sm_90'\n"}) {
    const auto resources = ReadResources(log, "intent_kernel");
    EXPECT_EQ(resources.status().code(), absl::StatusCode::kInternal) << log;
    EXPECT_THAT(resources.status().message(), HasSubstr("intent_kernel"));
  }
  // Numbers that are none, or beyond 32 bits.
  std::string broken = kLog;
  broken.replace(broken.find("Used 74"), 7, "Used 99999999999");
  EXPECT_FALSE(ReadResources(broken, "intent_kernel").ok());
}

TEST(Resources, AreDescribed) {
  EXPECT_EQ(
      Describe({.registers = 40, .shared_bytes = 128}),
      "40 registers and 0 bytes of local memory a thread, 128 bytes of static shared memory a "
      "block; no spills");
  EXPECT_THAT(Describe({.spill_store_bytes = 8, .spill_load_bytes = 4}),
              HasSubstr("spills: 8 bytes stored, 4 loaded"));
}

TEST(Resources, DriversOfAMajorVersionLoadWhatItMadeOnceTheyKnowTheArchitecture) {
  EXPECT_EQ(MinimumCuda(12, "sm_80"), 12000);
  EXPECT_EQ(MinimumCuda(12, "sm_90a"), 12000);
  EXPECT_EQ(MinimumCuda(12, "sm_100a"), 12080);
  EXPECT_EQ(MinimumCuda(12, "sm_103"), 12090);
  EXPECT_EQ(MinimumCuda(13, "sm_120"), 13000);
}

// A kernel of known appetite, on each architecture that matters.
TEST(Resources, AreWhatTheAssemblerSays) {
  Nvrtc* const nvrtc = NvrtcForTests();
  if (nvrtc == nullptr) GTEST_SKIP() << "no libnvrtc on this machine";
  constexpr char kSource[] = R"(
__noinline__ int walk(const int* x, int n) {
  int seen[64];
  for (int i = 0; i < 64; ++i) seen[i] = x[i];
  return seen[n & 63];
}
extern "C" __global__ void __launch_bounds__(128) intent_kernel(int* x) {
  __shared__ int s[100];
  s[threadIdx.x % 100] = walk(x, x[0]);
  __syncthreads();
  x[threadIdx.x] = s[99 - threadIdx.x % 100];
})";
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
    if (!nvrtc->Knows(architecture)) continue;
    const auto compiled = nvrtc->Compile({.source = kSource, .architecture = architecture});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto resources = ReadResources(compiled->log, "intent_kernel");
    ASSERT_TRUE(resources.ok()) << resources.status() << "\n" << compiled->log;
    EXPECT_EQ(resources->shared_bytes, 400u) << architecture;
    EXPECT_GT(resources->registers, 4u);
    EXPECT_LE(resources->registers, 255u);
    EXPECT_GE(resources->local_bytes, 256u) << compiled->log;
  }
}

}  // namespace
}  // namespace intent::cuda
