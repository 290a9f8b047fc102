#include "cache/alias.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "cache/test_support.h"
#include "cache/tiered_store.h"

namespace intent::cache {
namespace {

constexpr uint64_t kMaxBytes = 1 << 20;

std::string Resolved(Store& store, const Key& key) {
  const auto hit = Lookup(store, key);
  return hit.ok() ? std::string(hit->entry->Find("object").value_or("(no object)")) : "(miss)";
}

TEST(Alias, LeadsToItsTarget) {
  MemoryStore store(kMaxBytes);
  const Key request = TestKey("request");
  const Key canonical = TestKey("canonical");
  EXPECT_EQ(Resolved(store, request), "(miss)");
  ASSERT_TRUE(store.Put(TestEntry(canonical, "code")).ok());
  ASSERT_TRUE(PutAlias(store, request, canonical).ok());
  EXPECT_EQ(Resolved(store, request), "code");
  EXPECT_EQ(Resolved(store, canonical), "code") << "a plain entry needs no alias";
}

TEST(Alias, ManyRequestsShareOneArtifact) {
  MemoryStore store(kMaxBytes);
  const Key canonical = TestKey("canonical");
  ASSERT_TRUE(store.Put(TestEntry(canonical, "code")).ok());
  ASSERT_TRUE(PutAlias(store, TestKey("r1"), canonical).ok());
  ASSERT_TRUE(PutAlias(store, TestKey("r2"), canonical).ok());
  EXPECT_EQ(Lookup(store, TestKey("r1"))->entry, Lookup(store, TestKey("r2"))->entry);
}

TEST(Alias, ALostTargetIsAMissUntilItIsPutAgain) {
  MemoryStore store(kMaxBytes);
  ASSERT_TRUE(PutAlias(store, TestKey("request"), TestKey("canonical")).ok());
  EXPECT_EQ(Lookup(store, TestKey("request")).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store.Put(TestEntry(TestKey("canonical"), "code")).ok());
  EXPECT_EQ(Resolved(store, TestKey("request")), "code");
}

TEST(Alias, IsFollowedOnce) {
  MemoryStore store(kMaxBytes);
  ASSERT_TRUE(store.Put(TestEntry(TestKey("c"), "code")).ok());
  ASSERT_TRUE(PutAlias(store, TestKey("a"), TestKey("b")).ok());
  ASSERT_TRUE(PutAlias(store, TestKey("b"), TestKey("c")).ok());
  EXPECT_EQ(Resolved(store, TestKey("a")), "(miss)");
  ASSERT_TRUE(PutAlias(store, TestKey("self"), TestKey("self")).ok());
  EXPECT_EQ(Resolved(store, TestKey("self")), "(miss)");
}

TEST(Alias, ReportsTheSlowerTier) {
  TempDir folder;
  const auto open = [&] {
    auto disk =
        DiskStore::Open({.folder = folder.path(), .max_bytes = kMaxBytes, .reserve_bytes = 0});
    EXPECT_TRUE(disk.ok()) << disk.status();
    return TieredStore(std::make_unique<MemoryStore>(kMaxBytes), *std::move(disk));
  };
  {
    TieredStore store = open();
    ASSERT_TRUE(store.Put(TestEntry(TestKey("canonical"), "code")).ok());
    ASSERT_TRUE(PutAlias(store, TestKey("request"), TestKey("canonical")).ok());
    EXPECT_EQ(Lookup(store, TestKey("request"))->tier, Tier::kMemory);
  }
  TieredStore store = open();
  ASSERT_TRUE(store.Get(TestKey("canonical")).ok());
  EXPECT_EQ(Lookup(store, TestKey("request"))->tier, Tier::kDisk) << "the alias came from disk";
  EXPECT_EQ(Lookup(store, TestKey("request"))->tier, Tier::kMemory);
}

}  // namespace
}  // namespace intent::cache
