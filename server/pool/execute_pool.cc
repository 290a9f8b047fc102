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
  std::lock_guard lock(mutex_);
  idle_.clear();
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutePool::Start() {
  return Executor::Start(factory_, arenas_, options_.executor, counters_);
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutePool::Take() {
  while (true) {
    std::unique_ptr<Executor> executor;
    {
      std::lock_guard lock(mutex_);
      if (idle_.empty()) break;
      executor = std::move(idle_.back());
      idle_.pop_back();
    }
    if (executor->CheckAlive()) return executor;
  }
  return Start();
}

void ExecutePool::GiveBack(std::unique_ptr<Executor> executor) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(executor));
}

void ExecutePool::Run() {
  if (options_.start_early) {
    if (absl::StatusOr<std::unique_ptr<Executor>> early = Start(); early.ok()) {
      GiveBack(*std::move(early));
    }
  }
  while (std::unique_ptr<ExecuteJob> job = queue_.Pop()) {
    if (job->IsCancelled()) continue;
    absl::StatusOr<std::unique_ptr<Executor>> executor = Take();
    bool rerun = false;
    absl::StatusOr<ExecuteResult> result = executor.ok()
                                               ? (*executor)->Run(*job, &rerun)
                                               : absl::StatusOr<ExecuteResult>(executor.status());
    const bool lost = executor.ok() && !(*executor)->alive();
    // First, for the caller may have the next call at once.
    if (executor.ok() && !lost) GiveBack(*std::move(executor));
    const bool taken = watch_ != nullptr && watch_(job, result.status(), rerun);
    if (!taken) std::exchange(job->done, nullptr)(std::move(result));
    job.reset();
    // The next call should not wait for a fork.
    if (!lost) continue;
    if (executor = Start(); executor.ok()) GiveBack(*std::move(executor));
  }
}

}  // namespace intent
