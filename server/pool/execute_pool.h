#pragma once

// ExecutePool: executors and the calls that wait for one. As CompilePool: each thread owns one
// process; Submit is thread-safe and does not block; callbacks run on a pool thread, `done` exactly
// once.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/entry.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/pool/arena_pool.h"
#include "server/pool/cancel_signal.h"
#include "server/pool/counters.h"
#include "server/pool/job_queue.h"
#include "server/pool/worker_factory.h"
#include "server/pool/worker_process.h"

namespace intent {

struct ExecutePoolOptions {
  int executors = 1;
  size_t queue_jobs = 256;
  std::chrono::milliseconds time_limit{600'000};
  int64_t memory_limit_bytes = int64_t{4} << 30;  // private memory: code and scratch, not tensors
};

struct ExecuteResult {
  worker::v1::Executed executed;
  int64_t load_nanoseconds = 0;
};

struct ExecuteJob {
  worker::v1::ExecuteTask task;  // complete but for the arena's descriptor
  std::shared_ptr<ArenaPool::Arena> arena;
  std::shared_ptr<const cache::Entry> artifact;
  std::shared_ptr<CancelSignal> cancel;
  std::function<void(absl::StatusOr<ExecuteResult>)> done;

  bool IsCancelled() const { return cancel->IsSet(); }
  uint64_t Bytes() const { return 0; }  // the arenas are what is bounded
  ~ExecuteJob();
};

class ExecutePool {
 public:
  ExecutePool(WorkerFactory& factory, const ArenaPool& arenas, const ExecutePoolOptions& options,
              Counters& counters);
  ~ExecutePool() { Stop(); }

  // False, and `job` is still the caller's, when the queue is full.
  bool Submit(std::unique_ptr<ExecuteJob>& job) { return queue_.Push(job); }

  // Waits for what runs and gives up what waits; no callback comes afterwards. The first call
  // counts.
  void Stop();

 private:
  // One executor and what it maps.
  struct Executor {
    std::unique_ptr<WorkerProcess> process;
    std::set<uint64_t> arenas;
  };

  void Run();
  absl::StatusOr<Executor> StartExecutor();
  absl::StatusOr<ExecuteResult> RunJob(ExecuteJob& job, Executor& executor);
  absl::Status Failure(Ending ending, const ExecuteJob& job, const WorkerProcess& process);

  WorkerFactory& factory_;
  const ArenaPool& arenas_;
  const ExecutePoolOptions options_;
  Counters& counters_;
  JobQueue<ExecuteJob> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace intent
