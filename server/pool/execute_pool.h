#pragma once

// ExecutePool: executors of one kind and the calls that wait for one. A call gets the process that
// was used last among the idle ones, for it has the most at hand; there are as many as threads at
// most. Submit is thread-safe and does not block; callbacks run on a pool thread, `done` exactly
// once.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/pool/arena_pool.h"
#include "server/pool/counters.h"
#include "server/pool/executor.h"
#include "server/pool/job_queue.h"
#include "server/pool/worker_factory.h"

namespace intent {

struct ExecutePoolOptions {
  int executors = 1;
  size_t queue_jobs = 256;
  bool start_early = true;  // otherwise each process starts with its first call
  ExecutorOptions executor;
};

class ExecutePool {
 public:
  // Told of every call that an executor ended, on a pool thread. `rerun`: the call cost its
  // executor and may be done again elsewhere. True: `job` was taken over, `done` and all.
  using Watch =
      std::function<bool(std::unique_ptr<ExecuteJob>& job, const absl::Status& status, bool rerun)>;

  ExecutePool(WorkerFactory& factory, const ArenaPool& arenas, const ExecutePoolOptions& options,
              Counters::Processes& counters, Watch watch = nullptr);
  ~ExecutePool() { Stop(); }

  // False, and `job` is still the caller's, when the queue is full.
  bool Submit(std::unique_ptr<ExecuteJob>& job) { return queue_.Push(job); }

  // Waits for what runs and gives up what waits; no callback comes afterwards. The first call
  // counts.
  void Stop();

 private:
  void Run();
  absl::StatusOr<std::unique_ptr<Executor>> Start();
  // An idle executor, or a new one.
  absl::StatusOr<std::unique_ptr<Executor>> Take();
  void GiveBack(std::unique_ptr<Executor> executor);

  WorkerFactory& factory_;
  const ArenaPool& arenas_;
  const ExecutePoolOptions options_;
  Counters::Processes& counters_;
  const Watch watch_;
  JobQueue<ExecuteJob> queue_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Executor>> idle_ ABSL_GUARDED_BY(mutex_);  // used last: at the end
  std::vector<std::thread> threads_;
};

}  // namespace intent
