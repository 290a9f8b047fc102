#pragma once

// Executor: one executor process with what it maps and has loaded. Belongs to one thread, which
// blocks in its calls.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "cache/entry.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/pool/arena_pool.h"
#include "server/pool/cancel_signal.h"
#include "server/pool/counters.h"
#include "server/pool/worker_factory.h"
#include "server/pool/worker_process.h"

namespace intent {

struct ExecuteResult {
  worker::v1::Executed executed;
  int64_t load_nanoseconds = 0;
};

struct ExecuteJob {
  worker::v1::ExecuteTask task;  // complete but for the use of its arena
  std::shared_ptr<ArenaPool::Arena> arena;
  std::shared_ptr<const cache::Entry> artifact;
  std::shared_ptr<CancelSignal> cancel;
  std::function<void(absl::StatusOr<ExecuteResult>)> done;

  bool IsCancelled() const { return cancel->IsSet(); }
  uint64_t Bytes() const { return 0; }  // the arenas are what is bounded
  ~ExecuteJob();
};

// Which processes these are and what bounds a task of theirs.
struct ExecutorOptions {
  worker::v1::ZygoteRequest::Role role = worker::v1::ZygoteRequest::ROLE_EXECUTE;
  std::string device;  // of a CUDA executor: its UUID
  std::chrono::milliseconds time_limit{600'000};
  int64_t memory_limit_bytes = int64_t{4} << 30;  // private memory: code and scratch, not tensors
};

class Executor {
 public:
  // Counts into `counters`, which outlives it, as `factory` and `arenas` do.
  static absl::StatusOr<std::unique_ptr<Executor>> Start(WorkerFactory& factory,
                                                         const ArenaPool& arenas,
                                                         const ExecutorOptions& options,
                                                         Counters::Processes& counters);

  // Runs a call. `job` is afterwards as it was. Aborted: the call cost the process, see alive();
  // with `rerun` the arena is as it came.
  absl::StatusOr<ExecuteResult> Run(ExecuteJob& job, bool* rerun);

  // Makes, frees and copies resident memory; copies begin at the start of `arena`.
  absl::StatusOr<uint64_t> Allocate(uint64_t size);
  absl::Status Release(uint64_t resident);
  absl::Status CopyIn(uint64_t resident, uint64_t offset, const ArenaPool::Arena& arena,
                      uint64_t size);
  absl::Status CopyOut(const ArenaPool::Arena& arena, uint64_t resident, uint64_t offset,
                       uint64_t size);

  bool alive() const { return process_->alive(); }
  // Notices, between two tasks, that the process has gone.
  bool CheckAlive() { return process_->CheckAlive(); }

  // Adds to what a task's process may take: resident memory on the host.
  void AllowMemory(int64_t bytes) { extra_memory_ += bytes; }

 private:
  Executor(const ArenaPool& arenas, const ExecutorOptions& options, Counters::Processes& counters,
           std::unique_ptr<WorkerProcess> process)
      : arenas_(arenas), options_(options), counters_(counters), process_(std::move(process)) {}

  // Fills in the use of an arena; true when its descriptor must go with the frame.
  bool Use(const ArenaPool::Arena& arena, worker::v1::ArenaUse* use);
  // One exchange that must bring an answer; `what` names the work in errors.
  absl::StatusOr<worker::v1::FromWorker> Ask(const worker::v1::ToWorker& request, int descriptor,
                                             const CancelSignal* cancel, const std::string& what);
  absl::Status Copy(uint64_t resident, uint64_t offset, const ArenaPool::Arena& arena,
                    uint64_t size, bool out);
  absl::Status Judge(const worker::v1::FromWorker& answer);
  absl::Status Failure(Ending ending, const std::string& what);

  const ArenaPool& arenas_;
  const ExecutorOptions options_;
  Counters::Processes& counters_;
  const std::unique_ptr<WorkerProcess> process_;
  std::set<uint64_t> mapped_;  // arenas
  int64_t extra_memory_ = 0;
};

}  // namespace intent
