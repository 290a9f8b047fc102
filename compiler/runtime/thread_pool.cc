#include "compiler/runtime/thread_pool.h"

#include <algorithm>
#include <atomic>

namespace intent {
namespace {

// Chunks per thread: enough to balance, few enough that taking one costs nothing.
constexpr uint64_t kChunksPerThread = 4;

// How often a thread looks before it sleeps: about 30 microseconds.
constexpr int kSpins = 1000;

// True as soon as `ready` is, false after a moment.
template <typename Ready>
bool SpinUntil(const Ready& ready) {
  for (int i = 0; i < kSpins; ++i) {
    if (ready()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

thread_local bool in_chunk = false;
thread_local int current_thread = 0;

}  // namespace

struct ThreadPool::Loop {
  const Chunk& chunk;
  const int64_t begin;
  const uint64_t size;
  const uint64_t chunk_size;
  const int helpers;  // helpers numbered above take no part
  std::atomic<uint64_t> next{0};
  std::atomic<int32_t> result{0};

  void Work(int thread) {
    in_chunk = true;
    current_thread = thread;
    uint64_t from = next.load(std::memory_order_relaxed);
    while (result.load(std::memory_order_relaxed) == 0 && from < size) {
      // Never beyond the end: a range may be as large as the counter.
      const uint64_t to = from + std::min(chunk_size, size - from);
      if (!next.compare_exchange_weak(from, to, std::memory_order_relaxed)) continue;
      const int32_t status =
          chunk(thread, static_cast<int64_t>(static_cast<uint64_t>(begin) + from),
                static_cast<int64_t>(static_cast<uint64_t>(begin) + to));
      int32_t expected = 0;
      if (status != 0) result.compare_exchange_strong(expected, status);
      from = next.load(std::memory_order_relaxed);
    }
    current_thread = 0;
    in_chunk = false;
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

int ThreadPool::CurrentThread() { return current_thread; }

int32_t ThreadPool::ParallelFor(int64_t begin, int64_t end, int64_t grain, int max_threads,
                                const Chunk& chunk) {
  if (begin >= end) return 0;
  const uint64_t size = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
  const uint64_t least = static_cast<uint64_t>(std::max<int64_t>(grain, 1));
  const int wanted = max_threads > 0 ? std::min(max_threads, threads()) : threads();
  std::unique_lock caller(caller_, std::defer_lock);
  if (in_chunk || wanted == 1 || size <= least || !caller.try_lock()) {
    return chunk(current_thread, begin, end);
  }
  for (int i = static_cast<int>(helpers_.size()) + 1; i < threads_; ++i) {
    helpers_.emplace_back([this, i] { Help(i); });
  }
  const uint64_t parts = static_cast<uint64_t>(wanted) * kChunksPerThread;
  const uint64_t chunk_size = std::max(least, size / parts + (size % parts != 0));
  Loop loop{chunk, begin, size, chunk_size, wanted - 1};
  {
    std::lock_guard lock(mutex_);
    loop_ = &loop;
    ++generation_;
  }
  work_.notify_all();
  loop.Work(0);
  SpinUntil([this] { return working_.load(std::memory_order_relaxed) == 0; });
  std::unique_lock lock(mutex_);
  loop_ = nullptr;
  idle_.wait(lock, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return working_ == 0; });
  return loop.result.load();
}

void ThreadPool::Help(int thread) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    lock.unlock();
    SpinUntil([&] { return generation_.load(std::memory_order_relaxed) != seen; });
    lock.lock();
    work_.wait(lock, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return stopping_ || (loop_ != nullptr && generation_ != seen);
    });
    if (stopping_) return;
    seen = generation_;
    Loop* loop = loop_;
    if (thread > loop->helpers) continue;
    ++working_;
    lock.unlock();
    loop->Work(thread);
    lock.lock();
    if (--working_ == 0) idle_.notify_all();
  }
}

}  // namespace intent
