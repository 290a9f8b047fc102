#include "compiler/runtime/thread_pool.h"

#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace intent {
namespace {

TEST(ThreadPool, EveryMemberRunsOnce) {
  ThreadPool pool(4);
  for (const int64_t count : {0, 1, 2, 63, 64, 65, 1000, 100'003}) {
    std::vector<std::atomic<int>> seen(count);
    EXPECT_EQ(pool.ParallelFor(0, count, 7, 0,
                               [&](int, int64_t begin, int64_t end) {
                                 for (int64_t i = begin; i < end; ++i) ++seen[i];
                                 return 0;
                               }),
              0);
    for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 1);
  }
}

TEST(ThreadPool, ChunksAreNotSmallerThanTheGrain) {
  ThreadPool pool(4);
  std::mutex mutex;
  std::multiset<int64_t> sizes;
  pool.ParallelFor(0, 1000, 90, 0, [&](int, int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    sizes.insert(end - begin);
    return 0;
  });
  EXPECT_EQ(sizes.size(), 12u);
  EXPECT_EQ(sizes.count(90), 11u);
}

TEST(ThreadPool, TheFirstErrorEndsTheLoop) {
  ThreadPool pool(2);
  std::atomic<int64_t> chunks{0};
  EXPECT_EQ(pool.ParallelFor(0, 1'000'000, 1, 0,
                             [&](int, int64_t, int64_t) {
                               ++chunks;
                               return 5;
                             }),
            5);
  EXPECT_LE(chunks, 2);
}

TEST(ThreadPool, LoopsInsideChunksRunOnTheirOwnThread) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(0, 64, 1, 0, [&](int thread, int64_t, int64_t) {
    return pool.ParallelFor(0, 10, 1, 0, [&](int inner, int64_t begin, int64_t end) {
      EXPECT_EQ(inner, thread);
      sum += end - begin;
      return 0;
    });
  });
  EXPECT_EQ(sum % 10, 0);
  EXPECT_GT(sum, 0);
}

TEST(ThreadPool, HugeRangesDoNotOverflow) {
  ThreadPool pool(3);
  std::atomic<uint64_t> total{0};
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  pool.ParallelFor(kMin, kMax, 1, 0, [&](int, int64_t begin, int64_t end) {
    total += static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
    return 0;
  });
  EXPECT_EQ(total, std::numeric_limits<uint64_t>::max());
}

TEST(ThreadPool, MaxThreadsIsHeld) {
  ThreadPool pool(8);
  std::atomic<int> highest{0};
  pool.ParallelFor(0, 10'000, 1, 2, [&](int thread, int64_t, int64_t) {
    int seen = highest;
    while (thread > seen && !highest.compare_exchange_weak(seen, thread)) {
    }
    return 0;
  });
  EXPECT_LT(highest, 2);
}

}  // namespace
}  // namespace intent
