#include "server/pool/executor.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

using worker::v1::FromWorker;
using worker::v1::ToWorker;

// What an executor loads of an artifact: the cubin, the shared object, or the interpreter's KIR.
worker::v1::Load LoadOf(const std::string& id, const cache::Entry& artifact) {
  worker::v1::Load load;
  load.set_artifact_id(id);
  load.set_manifest(std::string(artifact.Find("manifest").value_or("")));
  for (const char* name : {"cubin", "shared_object", "kir"}) {
    if (const std::optional<std::string_view> code = artifact.Find(name)) {
      load.set_code(std::string(*code));
      break;
    }
  }
  return load;
}

}  // namespace

ExecuteJob::~ExecuteJob() {
  if (done) done(absl::CancelledError("the call was given up"));
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Start(WorkerFactory& factory,
                                                          const ArenaPool& arenas,
                                                          const ExecutorOptions& options,
                                                          Counters::Processes& counters) {
  absl::StatusOr<std::unique_ptr<WorkerProcess>> process =
      WorkerProcess::Start(factory, options.role, options.device);
  if (!process.ok()) return process.status();
  ++counters.starts;
  return std::unique_ptr<Executor>(new Executor(arenas, options, counters, *std::move(process)));
}

bool Executor::Use(const ArenaPool::Arena& arena, worker::v1::ArenaUse* use) {
  use->Clear();
  for (auto known = mapped_.begin(); known != mapped_.end();) {
    if (arenas_.Exists(*known)) {
      ++known;
    } else {
      use->add_retired(*known);
      known = mapped_.erase(known);
    }
  }
  use->set_id(arena.id());
  use->set_size(arena.size());
  use->set_attached(mapped_.insert(arena.id()).second);
  return use->attached();
}

absl::StatusOr<FromWorker> Executor::Ask(const ToWorker& request, int descriptor,
                                         const CancelSignal* cancel, const std::string& what) {
  const WorkerProcess::Limits limits{Clock::now() + options_.time_limit,
                                     options_.memory_limit_bytes + extra_memory_, cancel};
  FromWorker answer;
  const Ending ending = process_->Exchange(request, descriptor, limits, &answer);
  if (ending != Ending::kAnswered) return Failure(ending, what);
  return answer;
}

absl::StatusOr<ExecuteResult> Executor::Run(ExecuteJob& job, bool* rerun) {
  *rerun = false;
  const std::string what = absl::StrCat("artifact ", job.artifact->key_digest().Hex());
  ToWorker request;
  request.mutable_execute()->Swap(&job.task);
  // Whoever does the job again must find it whole.
  struct GiveBack {
    ToWorker& request;
    ExecuteJob& job;
    ~GiveBack() { request.mutable_execute()->Swap(&job.task); }
  } give_back{request, job};
  worker::v1::ExecuteTask& task = *request.mutable_execute();
  const bool attach = Use(*job.arena, task.mutable_arena());
  ExecuteResult result;
  absl::StatusOr<FromWorker> answer =
      Ask(request, attach ? job.arena->fd() : -1, job.cancel.get(), what);
  if (answer.ok() && answer->has_artifact_missing()) {
    ToWorker load;
    *load.mutable_load() = LoadOf(task.artifact_id(), *job.artifact);
    answer = Ask(load, -1, job.cancel.get(), what);
    if (answer.ok() && answer->has_loaded()) {
      result.load_nanoseconds = answer->loaded().nanoseconds();
      Use(*job.arena, task.mutable_arena());
      answer = Ask(request, -1, job.cancel.get(), what);
    }
  }
  if (!answer.ok()) return answer.status();
  if (answer->has_failed()) {
    const worker::v1::Failed& failed = answer->failed();
    *rerun = failed.rerun();
    if (!failed.lost()) {
      return absl::Status(static_cast<absl::StatusCode>(failed.code()), failed.message());
    }
    ++counters_.crashes;
    process_->Retire();
    spdlog::error("executor {} lost its device: {}; {}", process_->pid(), failed.message(), what);
    return absl::AbortedError(absl::StrCat(failed.message(), "; ", what));
  }
  if (!answer->has_executed()) return absl::InternalError("unexpected frame of an executor");
  result.executed.Swap(answer->mutable_executed());
  return result;
}

absl::StatusOr<uint64_t> Executor::Allocate(uint64_t size) {
  ToWorker request;
  request.mutable_allocate()->set_size(size);
  absl::StatusOr<FromWorker> answer = Ask(request, -1, nullptr, "an allocation");
  if (!answer.ok()) return answer.status();
  if (answer->has_allocated()) return answer->allocated().resident();
  return Judge(*answer);
}

absl::Status Executor::Release(uint64_t resident) {
  ToWorker request;
  request.mutable_release()->set_resident(resident);
  absl::StatusOr<FromWorker> answer = Ask(request, -1, nullptr, "a release");
  return answer.ok() ? Judge(*answer) : answer.status();
}

absl::Status Executor::CopyIn(uint64_t resident, uint64_t offset, const ArenaPool::Arena& arena,
                              uint64_t size) {
  return Copy(resident, offset, arena, size, /*out=*/false);
}

absl::Status Executor::CopyOut(const ArenaPool::Arena& arena, uint64_t resident, uint64_t offset,
                               uint64_t size) {
  return Copy(resident, offset, arena, size, /*out=*/true);
}

absl::Status Executor::Copy(uint64_t resident, uint64_t offset, const ArenaPool::Arena& arena,
                            uint64_t size, bool out) {
  ToWorker request;
  worker::v1::Copy& copy = *request.mutable_copy();
  copy.set_resident(resident);
  copy.set_offset(offset);
  copy.set_size(size);
  copy.set_out(out);
  const bool attach = Use(arena, copy.mutable_arena());
  absl::StatusOr<FromWorker> answer = Ask(request, attach ? arena.fd() : -1, nullptr, "a copy");
  return answer.ok() ? Judge(*answer) : answer.status();
}

// Of an answer that is no result.
absl::Status Executor::Judge(const FromWorker& answer) {
  if (answer.has_done()) return absl::OkStatus();
  if (!answer.has_failed()) return absl::InternalError("unexpected frame of an executor");
  if (answer.failed().lost()) {
    ++counters_.crashes;
    process_->Retire();
  }
  return absl::Status(static_cast<absl::StatusCode>(answer.failed().code()),
                      answer.failed().message());
}

absl::Status Executor::Failure(Ending ending, const std::string& what) {
  switch (ending) {
    case Ending::kTimedOut:
      ++counters_.timeouts;
      return absl::AbortedError(
          absl::StrCat("the call took more than ", options_.time_limit.count(), " ms; ", what));
    case Ending::kOutOfMemory:
      ++counters_.memory_kills;
      return absl::ResourceExhaustedError(absl::StrCat(
          "the call took more than ", options_.memory_limit_bytes, " bytes of memory; ", what));
    case Ending::kCancelled:
      return absl::CancelledError("the call was given up");
    case Ending::kAnswered:
    case Ending::kCrashed:
      break;
  }
  ++counters_.crashes;
  spdlog::error("executor {} crashed: {}; {}", process_->pid(), process_->obituary(), what);
  return absl::AbortedError(
      absl::StrCat("the kernel crashed its executor: ", process_->obituary(), "; ", what));
}

}  // namespace intent
