#include "server/pool/execute_pool.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

using worker::v1::FromWorker;
using worker::v1::ToWorker;

// What an executor loads of an artifact: the shared object, or the interpreter's KIR.
worker::v1::Load LoadOf(const std::string& id, const cache::Entry& artifact) {
  worker::v1::Load load;
  load.set_artifact_id(id);
  load.set_manifest(std::string(artifact.Find("manifest").value_or("")));
  std::optional<std::string_view> code = artifact.Find("shared_object");
  if (!code.has_value()) code = artifact.Find("kir");
  load.set_code(std::string(code.value_or("")));
  return load;
}

}  // namespace

ExecuteJob::~ExecuteJob() {
  if (done) done(absl::CancelledError("the call was given up"));
}

ExecutePool::ExecutePool(WorkerFactory& factory, const ArenaPool& arenas,
                         const ExecutePoolOptions& options, Counters& counters)
    : factory_(factory),
      arenas_(arenas),
      options_(options),
      counters_(counters),
      queue_(options.queue_jobs, 0) {
  for (int i = 0; i < options.executors; ++i) threads_.emplace_back([this] { Run(); });
}

void ExecutePool::Stop() {
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ExecutePool::Run() {
  absl::StatusOr<Executor> executor = StartExecutor();
  while (std::unique_ptr<ExecuteJob> job = queue_.Pop()) {
    if (job->IsCancelled()) continue;
    if (!executor.ok() || !executor->process->CheckAlive()) executor = StartExecutor();
    absl::StatusOr<ExecuteResult> result =
        executor.ok() ? RunJob(*job, *executor) : absl::StatusOr<ExecuteResult>(executor.status());
    std::exchange(job->done, nullptr)(std::move(result));
    job.reset();
    // The next call should not wait for a fork.
    if (executor.ok() && !executor->process->alive()) executor = StartExecutor();
  }
}

absl::StatusOr<ExecutePool::Executor> ExecutePool::StartExecutor() {
  absl::StatusOr<std::unique_ptr<WorkerProcess>> process =
      WorkerProcess::Start(factory_, worker::v1::ZygoteRequest::ROLE_EXECUTE);
  if (!process.ok()) return process.status();
  ++counters_.executors.starts;
  return Executor{*std::move(process), {}};
}

absl::StatusOr<ExecuteResult> ExecutePool::RunJob(ExecuteJob& job, Executor& executor) {
  WorkerProcess& process = *executor.process;
  const WorkerProcess::Limits limits{Clock::now() + options_.time_limit,
                                     options_.memory_limit_bytes, job.cancel.get()};
  ToWorker request;
  request.mutable_execute()->Swap(&job.task);
  worker::v1::ExecuteTask& task = *request.mutable_execute();
  for (auto known = executor.arenas.begin(); known != executor.arenas.end();) {
    if (arenas_.Exists(*known)) {
      ++known;
    } else {
      task.add_retired_arenas(*known);
      known = executor.arenas.erase(known);
    }
  }
  const bool attach = executor.arenas.insert(job.arena->id()).second;
  task.set_arena_attached(attach);

  ExecuteResult result;
  FromWorker answer;
  Ending ending = process.Exchange(request, attach ? job.arena->fd() : -1, limits, &answer);
  if (ending == Ending::kAnswered && answer.has_artifact_missing()) {
    ToWorker load;
    *load.mutable_load() = LoadOf(task.artifact_id(), *job.artifact);
    ending = process.Exchange(load, -1, limits, &answer);
    if (ending == Ending::kAnswered && answer.has_loaded()) {
      result.load_nanoseconds = answer.loaded().nanoseconds();
      task.set_arena_attached(false);
      task.clear_retired_arenas();
      ending = process.Exchange(request, -1, limits, &answer);
    }
  }
  if (ending != Ending::kAnswered) return Failure(ending, job, process);
  if (answer.has_failed()) {
    return absl::Status(static_cast<absl::StatusCode>(answer.failed().code()),
                        answer.failed().message());
  }
  if (!answer.has_executed()) return absl::InternalError("unexpected frame of an executor");
  result.executed.Swap(answer.mutable_executed());
  return result;
}

absl::Status ExecutePool::Failure(Ending ending, const ExecuteJob& job,
                                  const WorkerProcess& process) {
  const std::string artifact = absl::StrCat("; artifact ", job.artifact->key_digest().Hex());
  switch (ending) {
    case Ending::kTimedOut:
      ++counters_.executors.timeouts;
      return absl::AbortedError(
          absl::StrCat("the call took more than ", options_.time_limit.count(), " ms", artifact));
    case Ending::kOutOfMemory:
      ++counters_.executors.memory_kills;
      return absl::ResourceExhaustedError(absl::StrCat(
          "the call took more than ", options_.memory_limit_bytes, " bytes of memory", artifact));
    case Ending::kCancelled:
      return absl::CancelledError("the call was given up");
    case Ending::kAnswered:
    case Ending::kCrashed:
      break;
  }
  ++counters_.executors.crashes;
  spdlog::error("executor {} crashed: {}{}", process.pid(), process.obituary(), artifact);
  return absl::AbortedError(
      absl::StrCat("the kernel crashed its executor: ", process.obituary(), artifact));
}

}  // namespace intent
