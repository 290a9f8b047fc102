#pragma once

// CompilePool: compile workers and the jobs that wait for one. Each of its threads owns one worker
// process, starts it again when it is gone, and recycles it when it has grown.
//
// Submit is thread-safe and does not block; a job's callbacks run on a pool thread, `done` exactly
// once, also for jobs that were cancelled in the queue. The destructor waits for what runs and
// gives up what waits.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "cache/digest.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/pool/cancel_signal.h"
#include "server/pool/counters.h"
#include "server/pool/job_queue.h"
#include "server/pool/worker_factory.h"
#include "server/pool/worker_process.h"

namespace intent {

struct CompilePoolOptions {
  int workers = 1;
  size_t queue_jobs = 256;
  uint64_t queue_bytes = uint64_t{256} << 20;
  std::chrono::milliseconds time_limit{60'000};
  int64_t memory_limit_bytes = int64_t{2} << 30;
  int64_t recycle_bytes = int64_t{512} << 20;  // a worker above this is replaced after its job
  bool start_at_once = true;  // otherwise each worker starts with the first job that needs it
  std::string ready_for;      // the target for which workers that start at once get ready
};

// The caller's decision had been Drop.
struct Dropped {};

// What became of a job: what the worker made, the author's mistakes, or a status.
struct CompileResult {
  std::variant<absl::Status, Dropped, compile::v1::Diagnostics, worker::v1::Compiled> content;
  bool crashed = false;  // the status says how; another request need not share it
};

struct CompileJob {
  worker::v1::Prepare prepare;
  cache::Digest input;  // names the input in errors
  std::shared_ptr<CancelSignal> cancel;
  // Whether the code for this canonical module is wanted.
  std::function<bool(const std::string& canonical_kir)> proceed;
  std::function<void(CompileResult)> done;

  bool IsCancelled() const { return cancel->IsSet(); }
  uint64_t Bytes() const { return prepare.module().size(); }
  ~CompileJob();
};

class CompilePool {
 public:
  CompilePool(WorkerFactory& factory, const CompilePoolOptions& options, Counters& counters);
  ~CompilePool() { Stop(); }

  // False, and `job` is still the caller's, when the queue is full.
  bool Submit(std::unique_ptr<CompileJob>& job) { return queue_.Push(job); }

  // Waits for what runs and gives up what waits; no callback comes afterwards. The first call
  // counts.
  void Stop();

 private:
  using Worker = std::unique_ptr<WorkerProcess>;

  void Run();
  CompileResult RunJob(CompileJob& job, WorkerProcess& worker);
  CompileResult Judge(Ending ending, const CompileJob& job, const WorkerProcess& worker,
                      worker::v1::FromWorker& answer);

  WorkerFactory& factory_;
  const CompilePoolOptions options_;
  Counters& counters_;
  JobQueue<CompileJob> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace intent
