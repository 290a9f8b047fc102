#pragma once

// ThreadPool: the threads that share a kernel's parallel loops.
//
// ParallelFor cuts a range into chunks that threads take one after another, the caller being one of
// them, so uneven chunks balance. A loop inside a chunk, or a second caller while the pool is busy,
// runs serially on its own thread: there is nothing to wait for and nothing to deadlock on.
// Between two loops that follow closely, threads spin for some tens of microseconds: a wake-up by
// the kernel costs as much as a small loop. Threads are started by the first loop that is shared.
// Thread-safe. A pool that a fork leaves behind in the child has no threads there: make another.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"

namespace intent {

class ThreadPool {
 public:
  // Runs members [begin, end) on thread `thread`, 0 being the caller; nonzero ends the whole loop.
  using Chunk = std::function<int32_t(int thread, int64_t begin, int64_t end)>;

  // `threads` counts the caller; at least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // At most `max_threads` threads (0: all) in chunks of at least `grain`. Returns the first nonzero
  // result. All chunks have ended when it returns.
  int32_t ParallelFor(int64_t begin, int64_t end, int64_t grain, int max_threads,
                      const Chunk& chunk);

  // The number of the calling thread inside a chunk, otherwise 0.
  static int CurrentThread();

 private:
  struct Loop;

  void Help(int thread);

  const int threads_;  // with the caller
  std::mutex caller_;  // who may use the helpers; order: before mutex_
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  Loop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Written under mutex_; also watched without it by threads that spin for a moment before they
  // sleep.
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> working_{0};
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> helpers_;  // grows under caller_
};

}  // namespace intent
