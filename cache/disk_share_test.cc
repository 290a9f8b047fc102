// Several daemons on one folder, at once.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/disk_store.h"
#include "cache/test_support.h"

namespace intent::cache {
namespace {

constexpr uint64_t kMaxBytes = 512 << 10;
constexpr int kKeys = 120;

std::unique_ptr<DiskStore> Open(const std::string& folder) {
  auto store = DiskStore::Open({.folder = folder, .max_bytes = kMaxBytes, .reserve_bytes = 0});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Its length depends on the key, its letter on the writer.
std::string Object(int key, char letter) { return std::string(1000 + 100 * key, letter); }

// What one daemon does; true when all it saw was whole and right.
bool Work(const std::string& folder, int daemon) {
  const auto store = Open(folder);
  std::mt19937 random(static_cast<unsigned>(daemon));
  bool right = true;
  int hits = 0;
  for (int i = 0; i < 1500; ++i) {
    const int number = static_cast<int>(random() % kKeys);
    const Key key = TestKey(std::to_string(number));
    const std::string found = ObjectIn(*store, key);
    if (found == "(miss)") {
      const char letter = static_cast<char>('a' + daemon);
      store->Put(TestEntry(key, Object(number, letter))).IgnoreError();
    } else {
      ++hits;
      right = right && found == Object(number, found[0]);
    }
    if (i % 100 == 0) store->Maintain();
  }
  const StoreStats stats = store->Stats();
  return right && hits > 0 && stats.corrupt == 0 && stats.hits_disk + stats.misses == 1500;
}

TEST(SharedFolder, DaemonsThatWriteAndEvictAtOnceSeeWholeEntriesOnly) {
  TempDir folder;
  std::vector<pid_t> children;
  for (int daemon = 0; daemon < 3; ++daemon) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(Work(folder.path(), daemon) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));

  const auto store = Open(folder.path());
  store->Maintain();
  EXPECT_LE(store->Stats().bytes_disk, kMaxBytes);
  for (int i = 0; i < kKeys; ++i) ObjectIn(*store, TestKey(std::to_string(i)));
  EXPECT_EQ(store->Stats().corrupt, 0u);
  EXPECT_GT(store->Stats().hits_disk, 0u);
}

TEST(SharedFolder, WritersDoNotDisturbEachOthersTemporaries) {
  TempDir folder;
  std::vector<std::thread> writers;
  for (int daemon = 0; daemon < 4; ++daemon) {
    writers.emplace_back([&, daemon] {
      const auto store = Open(folder.path());
      for (int i = 0; i < 25; ++i) {
        const Key key = TestKey(std::to_string(daemon * 100 + i));
        EXPECT_TRUE(store->Put(TestEntry(key, "x")).ok());
      }
      EXPECT_EQ(store->Stats().write_failures, 0u);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
}

TEST(SharedFolder, OneDaemonFindsWhatAnotherJustPut) {
  TempDir folder;
  const auto one = Open(folder.path());
  const auto other = Open(folder.path());
  ASSERT_TRUE(one->Put(TestEntry(TestKey("k"), "x")).ok());
  EXPECT_EQ(ObjectIn(*other, TestKey("k")), "x");
}

TEST(SharedFolder, TheWritesOfOthersCountFromTheNextScan) {
  TempDir folder;
  const auto one = Open(folder.path());
  const auto other = Open(folder.path());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(one->Put(TestEntry(TestKey(std::to_string(i)), std::string(20'000, 'x'))).ok());
  }
  other->Maintain();
  EXPECT_GE(other->Stats().bytes_disk, 200'000u);
}

}  // namespace
}  // namespace intent::cache
