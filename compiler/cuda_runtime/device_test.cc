#include "compiler/cuda_runtime/device.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_cuda/load_fake_cuda.h"

namespace intent::gpu {
namespace {

using testing::HasSubstr;

DeviceInfo Of(int major, int minor) {
  DeviceInfo device;
  device.name = "a GPU";
  device.major = major;
  device.minor = minor;
  return device;
}

bool RunsOn(int major, int minor, const std::string& target) {
  return Runs(Of(major, minor), *ParseTarget(target));
}

TEST(Device, PlainCodeRunsOnLaterRevisionsOfItsMajorOne) {
  EXPECT_TRUE(RunsOn(8, 0, "sm_80"));
  EXPECT_TRUE(RunsOn(8, 9, "sm_86"));
  EXPECT_FALSE(RunsOn(8, 0, "sm_86"));
  EXPECT_FALSE(RunsOn(9, 0, "sm_80"));
  EXPECT_TRUE(RunsOn(12, 1, "sm_120"));
}

TEST(Device, CodeForOneArchitectureRunsThereAlone) {
  EXPECT_TRUE(RunsOn(9, 0, "sm_90a"));
  EXPECT_TRUE(RunsOn(9, 0, "sm_90"));
  EXPECT_TRUE(RunsOn(10, 0, "sm_100a"));
  EXPECT_FALSE(RunsOn(10, 3, "sm_100a"));
  EXPECT_FALSE(RunsOn(9, 0, "x86-64-v3"));
}

TEST(Device, TheNativeTargetIsTheBestThatRuns) {
  EXPECT_EQ(NativeTarget(Of(9, 0))->ToString(), "sm_90a");
  EXPECT_EQ(NativeTarget(Of(8, 0))->ToString(), "sm_80");
  EXPECT_EQ(NativeTarget(Of(8, 8))->ToString(), "sm_87");
  EXPECT_EQ(NativeTarget(Of(10, 3))->ToString(), "sm_103a");
  EXPECT_EQ(NativeTarget(Of(7, 5)).status().code(), absl::StatusCode::kFailedPrecondition);
}

class FakeDevices : public testing::Test {
 protected:
  FakeDevices() {
    LoadFakeCuda();
    devices_ = ListDevices().value();
  }
  std::vector<DeviceInfo> devices_;
};

TEST_F(FakeDevices, AreDescribed) {
  ASSERT_EQ(devices_.size(), 2);
  EXPECT_EQ(devices_[1].index, 1);
  EXPECT_EQ(devices_[1].name, "Fake GPU B");
  EXPECT_EQ(devices_[1].uuid, "GPU-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf");
  EXPECT_EQ(devices_[1].Architecture(), "sm_90");
  EXPECT_EQ(devices_[1].multiprocessors, 4);
  EXPECT_TRUE(devices_[1].cooperative);
}

TEST_F(FakeDevices, ArePickedByIndexOrUuid) {
  EXPECT_EQ(PickDevice(devices_, "")->index, 0);
  EXPECT_EQ(PickDevice(devices_, "1")->index, 1);
  EXPECT_EQ(PickDevice(devices_, devices_[1].uuid)->index, 1);
  EXPECT_EQ(PickDevice(devices_, "GPU-b0b1")->index, 1);
  for (const char* wrong : {"2", "-1", "GPU-", "GPU-b0b", "GPU-c0c1", "Fake GPU B", "01"}) {
    const absl::Status status = PickDevice(devices_, wrong).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << wrong;
    EXPECT_THAT(std::string(status.message()), HasSubstr("Fake GPU B, sm_90, GPU-b0b1"));
  }
}

TEST_F(FakeDevices, AreChosenByWhatTheyRun) {
  EXPECT_EQ(FirstThatRuns(devices_, *ParseTarget("sm_90a"))->index, 0);
  const absl::Status status = FirstThatRuns(devices_, *ParseTarget("sm_80")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no device here runs code for sm_80"));
}

}  // namespace
}  // namespace intent::gpu
