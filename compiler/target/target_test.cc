#include "compiler/target/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace intent {
namespace {

TEST(TargetTest, EveryNameRoundTrips) {
  for (const char* name :
       {"interp", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "sm_80", "sm_90a", "sm_120",
        "x86-64-v4+avx512bf16+avx512fp16", "x86-64-v3+avxvnni", "aarch64+lse", "interp+check",
        "interp+check+laws"}) {
    const auto target = ParseTarget(name);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->ToString(), name);
  }
}

TEST(TargetTest, FeaturesAreASet) {
  const auto target = ParseTarget("x86-64-v4+avx512vnni+avx512bf16+avx512vnni");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->ToString(), "x86-64-v4+avx512bf16+avx512vnni");
}

TEST(TargetTest, UnknownNamesAreRefusedWithTheTable) {
  for (const char* name :
       {"", "x86-64", "skylake", "sm_10", "x86-64-v4+", "x86-64-v4+sse9", "x86-64-v3+avx512bf16",
        "interp+avxvnni", "+avxvnni", "x86-64-v4+lse", "aarch64+avxvnni", "arm64", "sm_90+lse",
        "x86-64-v4+check", "sm_90+check", "aarch64+laws", "interp+lse"}) {
    EXPECT_EQ(ParseTarget(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_THAT(ParseTarget("skylake").status().message(), testing::HasSubstr("x86-64-v4"));
  EXPECT_FALSE(ParseTarget(std::string(1 << 20, '+')).ok());
}

TEST(TargetTest, NativeIsTheHostAndRunsHere) {
  const auto native = ParseTarget("native");
  ASSERT_TRUE(native.ok());
  EXPECT_EQ(*native, HostTarget());
  EXPECT_EQ(MissingOnHost(*native), "");
  EXPECT_EQ(*ParseTarget(native->ToString()), *native);
}

TEST(TargetTest, NativeIsAsWideAsTheHost) {
  // Of the levels that run here, none is wider than what "native" resolves to.
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "aarch64+lse"}) {
    const Target target = *ParseTarget(name);
    if (!MissingOnHost(target).empty()) continue;
    EXPECT_LE(FactsOf(target).vector_bits, FactsOf(HostTarget()).vector_bits) << name;
    EXPECT_EQ(LlvmNames(target).triple, LlvmNames(HostTarget()).triple) << name;
  }
  EXPECT_NE(HostTarget().base, "native");
}

TEST(TargetTest, TheTableHasCudaArchitectures) {
  const std::vector<std::string> names = CudaTargets();
  EXPECT_THAT(names, testing::IsSupersetOf({"sm_80", "sm_90a", "sm_120"}));
  for (const std::string& name : names) {
    EXPECT_EQ(ParseTarget(name)->kind, TargetKind::kCuda) << name;
    EXPECT_TRUE(FactsOf(*ParseTarget(name)).fma);
  }
}

TEST(TargetTest, ForeignTargetsAreMissing) {
  EXPECT_NE(MissingOnHost(*ParseTarget("sm_90")), "");
  const bool arm = HostTarget().base == "aarch64";
  EXPECT_NE(MissingOnHost(*ParseTarget(arm ? "x86-64-v2" : "aarch64")), "");
}

TEST(TargetTest, WiderLevelsHaveWiderFacts) {
  EXPECT_EQ(FactsOf(*ParseTarget("x86-64-v2")).vector_bits, 128);
  EXPECT_FALSE(FactsOf(*ParseTarget("x86-64-v2")).fma);
  EXPECT_EQ(FactsOf(*ParseTarget("x86-64-v3")).vector_bits, 256);
  EXPECT_TRUE(FactsOf(*ParseTarget("x86-64-v4")).avx512);
  EXPECT_EQ(LlvmNames(*ParseTarget("x86-64-v4+avx512bf16")).features, "+avx512bf16");
}

TEST(TargetTest, Aarch64HasNeonFusesAndCallsNoHelpers) {
  const Target target = *ParseTarget("aarch64+lse");
  EXPECT_EQ(FactsOf(target).vector_bits, 128);
  EXPECT_EQ(FactsOf(target).vector_registers, 32);
  EXPECT_TRUE(FactsOf(target).fma);
  EXPECT_EQ(LlvmNames(target).triple, "aarch64-unknown-linux-gnu");
  EXPECT_EQ(LlvmNames(target).features, "+neon,-outline-atomics,+lse");
}

}  // namespace
}  // namespace intent
