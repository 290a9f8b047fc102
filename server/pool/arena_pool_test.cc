#include "server/pool/arena_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "gtest/gtest.h"

namespace intent {
namespace {

constexpr uint64_t kMiB = 1 << 20;

bool IsZero(const ArenaPool::Arena& arena) {
  return std::all_of(arena.data(), arena.data() + arena.size(), [](char c) { return c == 0; });
}

TEST(ArenaPool, AnArenaComesBackZeroed) {
  ArenaPool pool(256 * kMiB, 256 * kMiB);
  for (const uint64_t bytes : {uint64_t{1}, kMiB, 3 * kMiB, 65 * kMiB}) {
    auto first = pool.Acquire(bytes);
    ASSERT_TRUE(first.ok());
    const uint64_t id = (*first)->id();
    // A kernel that is trusted with bounds may write anywhere.
    std::memset((*first)->data(), 7, (*first)->size());
    first->reset();
    const auto second = pool.Acquire(bytes);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ((*second)->id(), id) << "arenas are used again";
    EXPECT_TRUE(IsZero(**second)) << bytes;
  }
}

TEST(ArenaPool, NobodyCanShrinkAnArenaUnderUs) {
  ArenaPool pool(kMiB, kMiB);
  const auto arena = pool.Acquire(10);
  ASSERT_TRUE(arena.ok());
  EXPECT_NE(ftruncate((*arena)->fd(), 0), 0);
  EXPECT_NE(ftruncate((*arena)->fd(), 16 * kMiB), 0);
}

TEST(ArenaPool, ArenasInUseAreBounded) {
  ArenaPool pool(4 * kMiB, 4 * kMiB);
  EXPECT_EQ(pool.Acquire(4 * kMiB + 1).status().code(), absl::StatusCode::kInvalidArgument);
  auto all = pool.Acquire(4 * kMiB);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(pool.Acquire(1).status().code(), absl::StatusCode::kResourceExhausted);
  all->reset();
  EXPECT_TRUE(pool.Acquire(1).ok()) << "idle arenas make room";
}

TEST(ArenaPool, DroppedArenasDoNotExist) {
  ArenaPool pool(8 * kMiB, 0);
  auto arena = pool.Acquire(1);
  ASSERT_TRUE(arena.ok());
  const uint64_t id = (*arena)->id();
  EXPECT_TRUE(pool.Exists(id));
  arena->reset();
  EXPECT_FALSE(pool.Exists(id));
}

TEST(ArenaPool, ArenasMayOutliveThePool) {
  auto pool = std::make_unique<ArenaPool>(kMiB, kMiB);
  auto arena = pool->Acquire(1);
  ASSERT_TRUE(arena.ok());
  pool.reset();
  (*arena)->data()[0] = 1;
}

}  // namespace
}  // namespace intent
