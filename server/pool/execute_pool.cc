#include "server/pool/execute_pool.h"

#include <utility>

namespace intent {

ExecutePool::ExecutePool(WorkerFactory& factory, const ArenaPool& arenas,
                         const ExecutePoolOptions& options, Counters::Processes& counters,
                         Watch watch)
    : factory_(factory),
      arenas_(arenas),
      options_(options),
      counters_(counters),
      watch_(std::move(watch)),
      queue_(options.queue_jobs, 0) {
  for (int i = 0; i < options.executors; ++i) threads_.emplace_back([this] { Run(); });
}

void ExecutePool::Stop() {
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutePool::Start() {
  return Executor::Start(factory_, arenas_, options_.executor, counters_);
}

void ExecutePool::Run() {
  absl::StatusOr<std::unique_ptr<Executor>> executor = nullptr;
  if (options_.start_early) executor = Start();
  while (std::unique_ptr<ExecuteJob> job = queue_.Pop()) {
    if (job->IsCancelled()) continue;
    if (!executor.ok() || *executor == nullptr || !(*executor)->CheckAlive()) executor = Start();
    bool rerun = false;
    absl::StatusOr<ExecuteResult> result = executor.ok()
                                               ? (*executor)->Run(*job, &rerun)
                                               : absl::StatusOr<ExecuteResult>(executor.status());
    const bool taken = watch_ != nullptr && watch_(job, result.status(), rerun);
    if (!taken) std::exchange(job->done, nullptr)(std::move(result));
    job.reset();
    // The next call should not wait for a fork.
    if (executor.ok() && !(*executor)->alive()) executor = Start();
  }
}

}  // namespace intent
