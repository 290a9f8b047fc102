#include "server/worker/execute_worker.h"

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/diag/failpoint.h"
#include "compiler/runtime/bind_arguments.h"
#include "compiler/runtime/kernel_runtime.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/worker/arena_map.h"
#include "server/worker/cancel_flag.h"
#include "server/worker/executable.h"
#include "server/worker/hello.h"

namespace intent {
namespace {

using worker::v1::FromWorker;
using worker::v1::ToWorker;

// Each loaded kernel takes memory mappings, of which a process has a bounded number.
constexpr size_t kMaxLoaded = 4096;

int64_t Nanoseconds(Clock::time_point begin) {
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

class LoadedArtifacts {
 public:
  Executable* Find(const std::string& id) {
    const auto found = index_.find(id);
    if (found == index_.end()) return nullptr;
    recency_.splice(recency_.begin(), recency_, found->second);
    return found->second->second.get();
  }

  void Add(const std::string& id, std::unique_ptr<Executable> executable) {
    if (const auto found = index_.find(id); found != index_.end()) {
      recency_.erase(found->second);
      index_.erase(found);
    }
    recency_.emplace_front(id, std::move(executable));
    index_[id] = recency_.begin();
    if (recency_.size() > kMaxLoaded) {
      index_.erase(recency_.back().first);
      recency_.pop_back();
    }
  }

 private:
  using Recency = std::list<std::pair<std::string, std::unique_ptr<Executable>>>;
  Recency recency_;
  std::map<std::string, Recency::iterator> index_;
};

class ExecuteWorker {
 public:
  ExecuteWorker(FrameChannel& channel, const ExecuteWorkerOptions& options)
      : channel_(channel), runtime_(options.threads, options.arena_bytes) {}

  int Run() {
    if (!channel_.Send(MakeHello()).ok()) return 1;
    ToWorker frame;
    while (channel_.Receive(&frame).ok()) {
      cancel_.Reset();
      FromWorker answer;
      absl::Status status = absl::InvalidArgumentError("unexpected frame");
      if (frame.has_load()) status = Load(frame.load(), &answer);
      if (frame.has_execute()) status = Execute(frame.execute(), &answer);
      if (!status.ok()) {
        answer.mutable_failed()->set_code(static_cast<uint32_t>(status.raw_code()));
        answer.mutable_failed()->set_message(std::string(status.message()));
      }
      if (!channel_.Send(answer).ok()) return 1;
    }
    return 0;
  }

 private:
  absl::Status Load(const worker::v1::Load& load, FromWorker* answer) {
    INTENT_FAILPOINT_AT("load");
    const Clock::time_point begin = Clock::now();
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        MakeExecutable(load.manifest(), load.code());
    if (!executable.ok()) return executable.status();
    loaded_.Add(load.artifact_id(), *std::move(executable));
    answer->mutable_loaded()->set_nanoseconds(Nanoseconds(begin));
    return absl::OkStatus();
  }

  absl::Status Execute(const worker::v1::ExecuteTask& task, FromWorker* answer) {
    for (const uint64_t id : task.retired_arenas()) arenas_.Retire(id);
    if (task.arena_attached()) {
      absl::Status status =
          arenas_.Attach(task.arena_id(), task.arena_size(), channel_.TakeDescriptor());
      if (!status.ok()) return status;
    }
    Executable* executable = loaded_.Find(task.artifact_id());
    if (executable == nullptr) {
      answer->mutable_artifact_missing();
      return absl::OkStatus();
    }
    const absl::StatusOr<ArenaMap::Arena> arena = arenas_.Find(task.arena_id());
    if (!arena.ok()) return arena.status();
    std::vector<BoundAllocation> allocations;
    for (const worker::v1::ArenaAllocation& allocation : task.allocations()) {
      if (allocation.offset() > arena->size ||
          allocation.size() > arena->size - allocation.offset()) {
        return absl::InternalError("an allocation leaves its arena");
      }
      allocations.push_back(
          {allocation.id(), arena->data + allocation.offset(), allocation.size()});
    }
    auto bound = Bind(executable->manifest(), allocations, task.arguments());
    worker::v1::Executed& executed = *answer->mutable_executed();
    if (auto* error = std::get_if<execute::v1::RunError>(&bound)) {
      *executed.mutable_error() = std::move(*error);
      return absl::OkStatus();
    }
    INTENT_FAILPOINT_AT("execute");
    const Clock::time_point begin = Clock::now();
    std::optional<execute::v1::RunError> error =
        executable->Run(std::get<BoundCall>(bound), static_cast<int>(task.max_threads()), runtime_);
    executed.set_run_nanoseconds(Nanoseconds(begin));
    INTENT_FAILPOINT_AT("executed");
    if (error.has_value()) *executed.mutable_error() = *std::move(error);
    return absl::OkStatus();
  }

  FrameChannel& channel_;
  CancelFlag& cancel_ = TaskCancelFlag();
  KernelRuntime runtime_;
  ArenaMap arenas_;
  LoadedArtifacts loaded_;
};

}  // namespace

int RunExecuteWorker(FrameChannel& channel, const ExecuteWorkerOptions& options) {
  return ExecuteWorker(channel, options).Run();
}

}  // namespace intent
