#include "server/pool/compile_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

using worker::v1::FromWorker;
using worker::v1::ToWorker;

CompileResult Failure(absl::Status status, bool crashed = false) {
  return CompileResult{std::move(status), crashed};
}

}  // namespace

// A job that leaves the queue unrun was cancelled, or the pool is closing.
CompileJob::~CompileJob() {
  if (done) done(Failure(absl::CancelledError("the compile was given up")));
}

CompilePool::CompilePool(WorkerFactory& factory, const CompilePoolOptions& options,
                         Counters& counters)
    : factory_(factory),
      options_(options),
      counters_(counters),
      queue_(options.queue_jobs, options.queue_bytes) {
  for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this] { Run(); });
}

void CompilePool::Stop() {
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void CompilePool::Run() {
  Worker worker;
  std::string target = options_.ready_for;  // of the last job
  const auto start = [&]() -> absl::Status {
    absl::StatusOr<Worker> started =
        WorkerProcess::Start(factory_, worker::v1::ZygoteRequest::ROLE_COMPILE, target);
    if (!started.ok()) return started.status();
    worker = *std::move(started);
    ++counters_.workers.starts;
    return absl::OkStatus();
  };
  if (options_.start_at_once) {
    if (absl::Status status = start(); !status.ok()) {
      spdlog::warn("compile worker: {}", std::string(status.message()));
    }
  }
  while (std::unique_ptr<CompileJob> job = queue_.Pop()) {
    if (job->IsCancelled()) continue;
    target = job->prepare.target();
    absl::Status ready = worker != nullptr && worker->CheckAlive() ? absl::OkStatus() : start();
    CompileResult result = ready.ok() ? RunJob(*job, *worker) : Failure(std::move(ready), true);
    std::exchange(job->done, nullptr)(std::move(result));
    job.reset();
    if (worker == nullptr) continue;
    if (!worker->alive()) {
      worker.reset();
    } else if (worker->PrivateBytes() > options_.recycle_bytes) {
      ++counters_.workers.recycles;
      worker.reset();
    }
    // The next job should not wait for a fork.
    if (worker == nullptr) (void)start();
  }
}

CompileResult CompilePool::RunJob(CompileJob& job, WorkerProcess& worker) {
  const WorkerProcess::Limits limits{Clock::now() + options_.time_limit,
                                     options_.memory_limit_bytes, job.cancel.get()};
  ToWorker request;
  request.mutable_prepare()->Swap(&job.prepare);
  FromWorker answer;
  Ending ending = worker.Exchange(request, -1, limits, &answer);
  if (ending != Ending::kAnswered || !answer.has_prepared()) {
    return Judge(ending, job, worker, answer);
  }
  request.Clear();
  if (!job.proceed(answer.prepared().canonical_kir())) {
    request.mutable_drop();
    worker.Tell(request);
    return CompileResult{Dropped{}};
  }
  request.mutable_proceed();
  ending = worker.Exchange(request, -1, limits, &answer);
  return Judge(ending, job, worker, answer);
}

CompileResult CompilePool::Judge(Ending ending, const CompileJob& job, const WorkerProcess& worker,
                                 FromWorker& answer) {
  const std::string input = absl::StrCat("; input ", job.input.Hex());
  switch (ending) {
    case Ending::kAnswered:
      if (answer.has_compiled()) return CompileResult{std::move(*answer.mutable_compiled())};
      if (answer.has_diagnosed()) {
        return CompileResult{std::move(*answer.mutable_diagnosed()->mutable_diagnostics())};
      }
      if (answer.has_failed()) {
        return Failure(absl::Status(static_cast<absl::StatusCode>(answer.failed().code()),
                                    absl::StrCat(answer.failed().message(), input)));
      }
      return Failure(absl::InternalError(absl::StrCat("unexpected frame", input)), true);
    case Ending::kCrashed:
      ++counters_.workers.crashes;
      spdlog::error("compile worker {} crashed: {}{}", worker.pid(), worker.obituary(), input);
      return Failure(
          absl::InternalError(absl::StrCat("the compiler crashed: ", worker.obituary(), input)),
          true);
    case Ending::kTimedOut:
      ++counters_.workers.timeouts;
      spdlog::error("compile worker {} ran over its time{}", worker.pid(), input);
      return Failure(absl::InternalError(
          absl::StrCat("the compile took more than ", options_.time_limit.count(), " ms", input)));
    case Ending::kOutOfMemory:
      ++counters_.workers.memory_kills;
      spdlog::error("compile worker {} used too much memory{}", worker.pid(), input);
      return Failure(absl::ResourceExhaustedError(absl::StrCat(
          "the compile took more than ", options_.memory_limit_bytes, " bytes of memory", input)));
    case Ending::kCancelled:
      return Failure(absl::CancelledError("the compile was given up"));
  }
  return Failure(absl::InternalError("unreachable"));
}

}  // namespace intent
