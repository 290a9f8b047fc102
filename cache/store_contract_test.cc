// The contract of store.h, run against every store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "cache/store.h"
#include "cache/test_support.h"
#include "cache/tiered_store.h"

namespace intent::cache {
namespace {

constexpr uint64_t kMaxBytes = 1 << 20;

std::unique_ptr<Store> Disk(const std::string& folder) {
  auto store = DiskStore::Open({.folder = folder, .max_bytes = kMaxBytes, .reserve_bytes = 0});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

struct StoreCase {
  const char* name;
  std::function<std::unique_ptr<Store>(const std::string& folder)> make;
};

const StoreCase kStores[] = {
    {"Memory", [](const std::string&) { return std::make_unique<MemoryStore>(kMaxBytes); }},
    {"Disk", Disk},
    {"Tiered",
     [](const std::string& folder) {
       return std::make_unique<TieredStore>(std::make_unique<MemoryStore>(kMaxBytes), Disk(folder));
     }},
    {"TieredWithoutMemory",
     [](const std::string& folder) {
       return std::make_unique<TieredStore>(std::make_unique<MemoryStore>(0), Disk(folder));
     }},
    {"TieredWithSmallMemory",
     [](const std::string& folder) {
       return std::make_unique<TieredStore>(std::make_unique<MemoryStore>(4096), Disk(folder));
     }},
    {"TieredOfThree",
     [](const std::string& folder) {
       return std::make_unique<TieredStore>(
           std::make_unique<MemoryStore>(4096),
           std::make_unique<TieredStore>(std::make_unique<MemoryStore>(65536), Disk(folder)));
     }},
};

class StoreContract : public ::testing::TestWithParam<StoreCase> {
 protected:
  TempDir folder_;
  std::unique_ptr<Store> store_ = GetParam().make(folder_ / "cache");
};

uint64_t Lookups(const StoreStats& stats) {
  return stats.hits_memory + stats.hits_disk + stats.misses;
}

TEST_P(StoreContract, AnUnknownKeyIsNotFound) {
  EXPECT_EQ(store_->Get(TestKey("k")).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreContract, AnEntryComesBackByteForByte) {
  const Key key = TestKey("k");
  const auto entry = TestEntry(key, std::string("\0code\xFF", 6));
  ASSERT_TRUE(store_->Put(entry).ok());
  const auto hit = store_->Get(key);
  ASSERT_TRUE(hit.ok()) << hit.status();
  EXPECT_EQ(hit->entry->bytes(), entry->bytes());
}

TEST_P(StoreContract, KeysDoNotDisturbEachOther) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_TRUE(store_->Put(TestEntry(TestKey(name), "object " + name)).ok());
  }
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    EXPECT_EQ(ObjectIn(*store_, TestKey(name)), "object " + name);
  }
  EXPECT_EQ(ObjectIn(*store_, TestKey("20")), "(miss)");
}

TEST_P(StoreContract, APutReplacesWhatWasThere) {
  const Key key = TestKey("k");
  ASSERT_TRUE(store_->Put(TestEntry(key, "old")).ok());
  EXPECT_EQ(ObjectIn(*store_, key), "old");
  ASSERT_TRUE(store_->Put(TestEntry(key, "new")).ok());
  EXPECT_EQ(ObjectIn(*store_, key), "new");
}

TEST_P(StoreContract, AnEqualDigestWithAnotherPreimageIsAMissAndCounted) {
  ASSERT_TRUE(store_->Put(TestEntry(TestKey("a"), "of a")).ok());
  Key forged = TestKey("b");
  forged.digest = TestKey("a").digest;
  EXPECT_EQ(ObjectIn(*store_, forged), "(miss)");
  EXPECT_GE(store_->Stats().corrupt, 1u);
}

TEST_P(StoreContract, EveryGetIsCountedOnce) {
  const Key key = TestKey("k");
  for (int i = 0; i < 3; ++i) ObjectIn(*store_, key);
  EXPECT_EQ(store_->Stats().misses, 3u);
  ASSERT_TRUE(store_->Put(TestEntry(key, "x")).ok());
  for (int i = 0; i < 4; ++i) ObjectIn(*store_, key);
  const StoreStats stats = store_->Stats();
  EXPECT_EQ(stats.misses, 3u);
  EXPECT_EQ(stats.hits_memory + stats.hits_disk, 4u);
  EXPECT_EQ(stats.corrupt, 0u);
  EXPECT_EQ(stats.write_failures, 0u);
}

TEST_P(StoreContract, AHitNamesItsTier) {
  const Key key = TestKey("k");
  ASSERT_TRUE(store_->Put(TestEntry(key, "x")).ok());
  const StoreStats before = store_->Stats();
  const auto hit = store_->Get(key);
  ASSERT_TRUE(hit.ok());
  const StoreStats after = store_->Stats();
  EXPECT_EQ(after.hits_memory - before.hits_memory, hit->tier == Tier::kMemory ? 1u : 0u);
  EXPECT_EQ(after.hits_disk - before.hits_disk, hit->tier == Tier::kDisk ? 1u : 0u);
}

TEST_P(StoreContract, AnEntryLargerThanTheStoreIsRefusedAndHarmless) {
  ASSERT_TRUE(store_->Put(TestEntry(TestKey("small"), "x")).ok());
  const auto large = TestEntry(TestKey("large"), std::string(2 * kMaxBytes, 'x'));
  EXPECT_EQ(store_->Put(large).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ObjectIn(*store_, TestKey("large")), "(miss)");
  EXPECT_EQ(ObjectIn(*store_, TestKey("small")), "x");
}

TEST_P(StoreContract, OldEntriesMakeRoomForNewOnes) {
  const std::string object(20'000, 'x');
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(store_->Put(TestEntry(TestKey(std::to_string(i)), object)).ok());
  }
  const StoreStats stats = store_->Stats();
  EXPECT_GT(stats.evictions, 0u);
  EXPECT_LE(stats.bytes_memory, 2 * kMaxBytes);
  EXPECT_LE(stats.bytes_disk, kMaxBytes + kMaxBytes / 4);
  EXPECT_EQ(ObjectIn(*store_, TestKey("0")), "(miss)");
}

TEST_P(StoreContract, ALargeEntryDisplacesManySmallOnes) {
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(store_->Put(TestEntry(TestKey(std::to_string(i)), std::string(20'000, 'x'))).ok());
  }
  const std::string large(kMaxBytes / 10 * 9, 'l');
  ASSERT_TRUE(store_->Put(TestEntry(TestKey("large"), large)).ok());
  EXPECT_EQ(ObjectIn(*store_, TestKey("large")), large);
}

TEST_P(StoreContract, AnEntryOutlivesItsEvictionAndItsStore) {
  const Key key = TestKey("k");
  ASSERT_TRUE(store_->Put(TestEntry(key, "held")).ok());
  const auto hit = store_->Get(key);
  ASSERT_TRUE(hit.ok());
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(store_->Put(TestEntry(TestKey(std::to_string(i)), std::string(20'000, 'x'))).ok());
  }
  store_.reset();
  EXPECT_EQ(hit->entry->Find("object"), "held");
}

TEST_P(StoreContract, TouchIsHarmless) {
  store_->Touch(TestKey("unknown"));
  ASSERT_TRUE(store_->Put(TestEntry(TestKey("k"), "x")).ok());
  store_->Touch(TestKey("k"));
  EXPECT_EQ(ObjectIn(*store_, TestKey("k")), "x");
  EXPECT_EQ(Lookups(store_->Stats()), 1u) << "a touch is no lookup";
}

TEST_P(StoreContract, ManyThreadsSeeWholeEntriesOnly) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  std::atomic<int> gets{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const std::string name = std::to_string((i * 7 + t) % 40);
        const std::string object(100 + 500 * (i % 40), static_cast<char>('a' + t));
        if (i % 3 == 0) store_->Put(TestEntry(TestKey(name), object)).IgnoreError();
        const std::string found = ObjectIn(*store_, TestKey(name));
        ++gets;
        if (found == "(miss)") continue;
        // Every object ever put is one letter, repeated.
        ASSERT_EQ(found.find_first_not_of(found[0]), std::string::npos);
        ASSERT_GE(found.size(), 100u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StoreStats stats = store_->Stats();
  EXPECT_EQ(Lookups(stats), static_cast<uint64_t>(gets));
  EXPECT_EQ(stats.corrupt, 0u);
}

INSTANTIATE_TEST_SUITE_P(EveryStore, StoreContract, ::testing::ValuesIn(kStores),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intent::cache
