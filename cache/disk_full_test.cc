// A full disk, for real and by limits: Put fails, is counted, leaves nothing, and the rest works
// on.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "cache/test_support.h"
#include "cache/tiered_store.h"

namespace intent::cache {
namespace {

std::unique_ptr<DiskStore> Open(const std::string& folder, uint64_t reserve_bytes = 0) {
  auto store =
      DiskStore::Open({.folder = folder, .max_bytes = 64 << 20, .reserve_bytes = reserve_bytes});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// A file system of one mebibyte.
class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
              "size=1m,mode=0700") != 0) {
      GTEST_SKIP() << "SKIPPED: cannot mount a small tmpfs (" << std::strerror(errno)
                   << "); run as root to test a full disk";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }

  // Leaves `free_bytes` of room.
  void Fill(uint64_t free_bytes) {
    const auto space = std::filesystem::space(folder_.path());
    WriteFile(folder_ / "ballast", std::string(space.available - free_bytes, 'b'));
  }

  TempDir folder_;
  bool mounted_ = false;
};

TEST_F(FullDisk, PutFailsAndEverythingElseGoesOn) {
  const auto store = Open(folder_.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("before"), "x")).ok());
  int failures = 0;
  for (int i = 0; i < 40; ++i) {
    const Key key = TestKey(std::to_string(i));
    const absl::Status status = store->Put(TestEntry(key, std::string(50'000, 'x')));
    if (status.ok()) {
      EXPECT_EQ(ObjectIn(*store, key), std::string(50'000, 'x'));
    } else {
      ++failures;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
      EXPECT_EQ(ObjectIn(*store, key), "(miss)");
    }
  }
  EXPECT_GT(failures, 10);
  EXPECT_EQ(store->Stats().write_failures, static_cast<uint64_t>(failures));
  EXPECT_EQ(store->Stats().corrupt, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "failed writes leave nothing";
  EXPECT_EQ(ObjectIn(*store, TestKey("before")), "x");
}

TEST_F(FullDisk, AReplacementThatFailsLeavesTheOldEntry) {
  const auto store = Open(folder_.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("k"), "old")).ok());
  Fill(0);
  EXPECT_FALSE(store->Put(TestEntry(TestKey("k"), std::string(50'000, 'n'))).ok());
  EXPECT_EQ(ObjectIn(*store, TestKey("k")), "old");
}

TEST_F(FullDisk, PutsSucceedAgainWhenThereIsRoom) {
  const auto store = Open(folder_.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("first"), "x")).ok());
  Fill(0);
  EXPECT_FALSE(store->Put(TestEntry(TestKey("k"), "x")).ok());
  std::filesystem::remove(folder_ / "ballast");
  EXPECT_TRUE(store->Put(TestEntry(TestKey("k"), "x")).ok());
  EXPECT_EQ(ObjectIn(*store, TestKey("k")), "x");
}

TEST_F(FullDisk, TheReserveIsLeftToOthers) {
  const auto store = Open(folder_.path(), /*reserve_bytes=*/500'000);
  int kept = 0;
  for (int i = 0; i < 20; ++i) {
    kept += store->Put(TestEntry(TestKey(std::to_string(i)), std::string(50'000, 'x'))).ok();
  }
  EXPECT_GT(kept, 5);
  EXPECT_LT(kept, 20);
  EXPECT_GE(std::filesystem::space(folder_.path()).available, 490'000u);
}

TEST_F(FullDisk, AWarmMemoryTierGoesOnServing) {
  TieredStore store(std::make_unique<MemoryStore>(1 << 20), Open(folder_.path()));
  Fill(0);
  EXPECT_TRUE(store.Put(TestEntry(TestKey("k"), "x")).ok());
  EXPECT_EQ(ObjectIn(store, TestKey("k")), "x");
  EXPECT_EQ(store.Stats().write_failures, 1u);
}

TEST_F(FullDisk, AReadOnlyDiskStillAnswers) {
  ASSERT_TRUE(Open(folder_.path())->Put(TestEntry(TestKey("k"), "x")).ok());
  ASSERT_EQ(mount(nullptr, folder_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto store = Open(folder_.path());
  EXPECT_EQ(ObjectIn(*store, TestKey("k")), "x");
  EXPECT_FALSE(store->Put(TestEntry(TestKey("new"), "y")).ok());
  EXPECT_EQ(store->Stats().write_failures, 1u);
}

// Needs no privilege: a write that stops half-way, here by a limit on the size of files.
TEST(HalfWrite, FailsAndLeavesNothing) {
  TempDir folder;
  const auto store = Open(folder.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("small"), "x")).ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit limited = {10'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const absl::Status status = store->Put(TestEntry(TestKey("k"), std::string(50'000, 'x')));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);

  EXPECT_FALSE(status.ok());
  EXPECT_EQ(store->Stats().write_failures, 1u);
  EXPECT_EQ(ObjectIn(*store, TestKey("k")), "(miss)");
  EXPECT_EQ(store->Stats().corrupt, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
  EXPECT_EQ(ObjectIn(*store, TestKey("small")), "x");
}

}  // namespace
}  // namespace intent::cache
