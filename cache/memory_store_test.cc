#include "cache/memory_store.h"

#include <gtest/gtest.h>

#include <string>

#include "cache/test_support.h"

namespace intent::cache {
namespace {

constexpr size_t kObjectBytes = 1000;

std::shared_ptr<const Entry> Sized(const std::string& name) {
  return TestEntry(TestKey(name), std::string(kObjectBytes, 'x'));
}

uint64_t ChargeOfOne() {
  MemoryStore store(1 << 20);
  EXPECT_TRUE(store.Put(Sized("a")).ok());
  return store.Stats().bytes_memory;
}

bool Has(MemoryStore& store, const std::string& name) { return store.Get(TestKey(name)).ok(); }

TEST(MemoryStore, EvictsTheLeastRecentlyUsed) {
  MemoryStore store(3 * ChargeOfOne());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(store.Put(Sized(name)).ok());
  EXPECT_EQ(store.Stats().evictions, 0u);
  EXPECT_TRUE(Has(store, "a"));
  ASSERT_TRUE(store.Put(Sized("d")).ok());
  EXPECT_EQ(store.Stats().evictions, 1u);
  EXPECT_TRUE(Has(store, "a"));
  EXPECT_FALSE(Has(store, "b"));
  EXPECT_TRUE(Has(store, "c"));
  EXPECT_TRUE(Has(store, "d"));
}

TEST(MemoryStore, ATouchIsAUse) {
  MemoryStore store(2 * ChargeOfOne());
  for (const char* name : {"a", "b"}) ASSERT_TRUE(store.Put(Sized(name)).ok());
  store.Touch(TestKey("a"));
  ASSERT_TRUE(store.Put(Sized("c")).ok());
  EXPECT_TRUE(Has(store, "a"));
  EXPECT_FALSE(Has(store, "b"));
}

TEST(MemoryStore, CountsRealBytes) {
  MemoryStore store(1 << 20);
  ASSERT_TRUE(store.Put(Sized("a")).ok());
  const uint64_t one = store.Stats().bytes_memory;
  EXPECT_GE(one, Sized("a")->MemoryBytes());
  ASSERT_TRUE(store.Put(Sized("a")).ok());
  EXPECT_EQ(store.Stats().bytes_memory, one) << "a replacement takes no further room";
  ASSERT_TRUE(store.Put(Sized("b")).ok());
  EXPECT_EQ(store.Stats().bytes_memory, 2 * one);
}

TEST(MemoryStore, OneLargeEntryMayDisplaceMany) {
  MemoryStore store(3 * ChargeOfOne());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(store.Put(Sized(name)).ok());
  ASSERT_TRUE(store.Put(TestEntry(TestKey("d"), std::string(3 * kObjectBytes, 'x'))).ok());
  EXPECT_EQ(store.Stats().evictions, 3u);
  EXPECT_TRUE(Has(store, "d"));
}

TEST(MemoryStore, ARefusedReplacementLeavesNothingOld) {
  MemoryStore store(2 * ChargeOfOne());
  ASSERT_TRUE(store.Put(Sized("a")).ok());
  EXPECT_FALSE(store.Put(TestEntry(TestKey("a"), std::string(10 * kObjectBytes, 'x'))).ok());
  EXPECT_FALSE(Has(store, "a"));
  EXPECT_EQ(store.Stats().bytes_memory, 0u);
}

}  // namespace
}  // namespace intent::cache
