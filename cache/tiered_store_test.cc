#include "cache/tiered_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "cache/test_support.h"

namespace intent::cache {
namespace {

std::unique_ptr<Store> Disk(const std::string& folder) {
  auto store = DiskStore::Open({.folder = folder, .max_bytes = 1 << 20, .reserve_bytes = 0});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

std::unique_ptr<TieredStore> Tiered(const std::string& folder, uint64_t memory_bytes = 1 << 20) {
  return std::make_unique<TieredStore>(std::make_unique<MemoryStore>(memory_bytes), Disk(folder));
}

TEST(TieredStore, FindsOnDiskWhatAnEarlierDaemonPutAndKeepsItInMemory) {
  TempDir folder;
  const Key key = TestKey("k");
  ASSERT_TRUE(Tiered(folder.path())->Put(TestEntry(key, "x")).ok());

  const auto store = Tiered(folder.path());
  auto hit = store->Get(key);
  ASSERT_TRUE(hit.ok());
  EXPECT_EQ(hit->tier, Tier::kDisk);
  hit = store->Get(key);
  ASSERT_TRUE(hit.ok());
  EXPECT_EQ(hit->tier, Tier::kMemory);
  const StoreStats stats = store->Stats();
  EXPECT_EQ(stats.hits_disk, 1u);
  EXPECT_EQ(stats.hits_memory, 1u);
  EXPECT_EQ(stats.misses, 0u) << "a miss in memory that disk answers is none";
}

TEST(TieredStore, AnEmptiedFolderIsAMissForTheNextDaemon) {
  TempDir folder;
  const Key key = TestKey("k");
  ASSERT_TRUE(Tiered(folder.path())->Put(TestEntry(key, "x")).ok());
  for (const auto& file : FilesUnder(folder.path())) std::filesystem::remove(file);
  EXPECT_EQ(ObjectIn(*Tiered(folder.path()), key), "(miss)");
}

TEST(TieredStore, ServesFromDiskWhatIsTooLargeForMemory) {
  TempDir folder;
  const Key key = TestKey("k");
  const auto store = Tiered(folder.path(), 10'000);
  const std::string object(50'000, 'x');
  ASSERT_TRUE(store->Put(TestEntry(key, object)).ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ObjectIn(*store, key), object);
  EXPECT_EQ(store->Stats().hits_disk, 2u);
  EXPECT_EQ(store->Stats().write_failures, 0u);
}

TEST(TieredStore, AHitInMemoryIsAUseOnDisk) {
  TempDir folder;
  const Key key = TestKey("k");
  const auto store = Tiered(folder.path());
  ASSERT_TRUE(store->Put(TestEntry(key, "x")).ok());
  const auto file = EntryFile(folder.path(), key);
  SetModified(file, 1000);
  ASSERT_TRUE(store->Get(key).ok());
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_GT(info.st_mtim.tv_sec, 1000);
}

TEST(TieredStore, APutIsKeptWhenOneTierKeepsIt) {
  TempDir folder;
  const Key key = TestKey("k");
  auto reserve_everything = DiskStore::Open(
      {.folder = folder.path(), .max_bytes = 1 << 20, .reserve_bytes = uint64_t{1} << 62});
  ASSERT_TRUE(reserve_everything.ok());
  TieredStore store(std::make_unique<MemoryStore>(1 << 20), *std::move(reserve_everything));
  EXPECT_TRUE(store.Put(TestEntry(key, "x")).ok());
  EXPECT_EQ(ObjectIn(store, key), "x");
  EXPECT_EQ(store.Stats().write_failures, 1u) << "and the disk's trouble shows";
}

}  // namespace
}  // namespace intent::cache
