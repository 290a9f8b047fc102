#include "server/worker/execute_worker.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/diag/failpoint.h"
#include "compiler/runtime/bind_arguments.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/worker/arena_map.h"
#include "server/worker/cancel_flag.h"
#include "server/worker/hello.h"
#include "server/worker/loaded_artifacts.h"

namespace intent {
namespace {

using worker::v1::FromWorker;
using worker::v1::ToWorker;

int64_t Nanoseconds(Clock::time_point begin) {
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

void Fail(const absl::Status& status, FromWorker* answer) {
  worker::v1::Failed& failed = *answer->mutable_failed();
  failed.set_code(static_cast<uint32_t>(status.raw_code()));
  failed.set_message(std::string(status.message()));
  failed.set_lost(absl::IsAborted(status));
}

class ExecuteWorker {
 public:
  ExecuteWorker(FrameChannel& channel, Backend& backend) : channel_(channel), backend_(backend) {}

  int Run() {
    if (!channel_.Send(MakeHello()).ok()) return 1;
    ToWorker frame;
    while (channel_.Receive(&frame).ok()) {
      cancel_.Reset();
      FromWorker answer;
      bool rerun = false;
      if (absl::Status status = Serve(frame, &answer, &rerun); !status.ok()) {
        Fail(status, &answer);
        answer.mutable_failed()->set_rerun(rerun);
      }
      if (!channel_.Send(answer).ok()) return 1;
      if (answer.failed().lost()) return 1;
    }
    return 0;
  }

 private:
  absl::Status Serve(const ToWorker& frame, FromWorker* answer, bool* rerun) {
    switch (frame.frame_case()) {
      case ToWorker::kLoad:
        return Load(frame.load(), answer);
      case ToWorker::kExecute:
        return Execute(frame.execute(), answer, rerun);
      case ToWorker::kAllocate:
        return Allocate(frame.allocate(), answer);
      case ToWorker::kRelease:
        return Release(frame.release(), answer);
      case ToWorker::kCopy:
        return Copy(frame.copy(), answer);
      default:
        return absl::InvalidArgumentError("unexpected frame");
    }
  }

  absl::Status Load(const worker::v1::Load& load, FromWorker* answer) {
    INTENT_FAILPOINT_AT("load");
    const Clock::time_point begin = Clock::now();
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        backend_.Load(load.manifest(), load.code());
    if (!executable.ok()) return executable.status();
    loaded_.Add(load.artifact_id(), *std::move(executable));
    answer->mutable_loaded()->set_nanoseconds(Nanoseconds(begin));
    return absl::OkStatus();
  }

  absl::StatusOr<ArenaMap::Arena> Use(const worker::v1::ArenaUse& use) {
    for (const uint64_t id : use.retired()) arenas_.Retire(id);
    if (use.attached()) {
      absl::Status status = arenas_.Attach(use.id(), use.size(), channel_.TakeDescriptor());
      if (!status.ok()) return status;
    }
    return arenas_.Find(use.id());
  }

  // `rerun`: what failed left the arena as it was.
  absl::Status Execute(const worker::v1::ExecuteTask& task, FromWorker* answer, bool* rerun) {
    const absl::StatusOr<ArenaMap::Arena> arena = Use(task.arena());
    if (!arena.ok()) return arena.status();
    Executable* executable = loaded_.Find(task.artifact_id());
    if (executable == nullptr) {
      answer->mutable_artifact_missing();
      return absl::OkStatus();
    }
    *rerun = true;
    std::vector<ArenaTensor> tensors;
    for (const worker::v1::CallAllocation& allocation : task.allocations()) {
      if (allocation.resident() != 0) continue;
      if (allocation.offset() > arena->size ||
          allocation.size() > arena->size - allocation.offset()) {
        return absl::InternalError("an allocation leaves its arena");
      }
      tensors.push_back({arena->data + allocation.offset(), allocation.size(), allocation.filled(),
                         allocation.returned()});
    }
    if (absl::Status status = backend_.Enter(tensors); !status.ok()) return status;
    std::vector<BoundAllocation> allocations;
    auto tensor = tensors.begin();
    for (const worker::v1::CallAllocation& allocation : task.allocations()) {
      char* const data =
          allocation.resident() != 0 ? ResidentOf(allocation.resident()) : (tensor++)->place;
      allocations.push_back({allocation.id(), data, allocation.size()});
    }
    absl::Status status = RunKernel(*executable, allocations, task, answer->mutable_executed());
    // A lost context has nothing to leave.
    if (absl::IsAborted(status)) return status;
    *rerun = false;
    const bool completed = status.ok() && !answer->executed().has_error();
    status.Update(backend_.Leave(tensors, completed));
    return status;
  }

  absl::Status RunKernel(Executable& executable, const std::vector<BoundAllocation>& allocations,
                         const worker::v1::ExecuteTask& task, worker::v1::Executed* executed) {
    auto bound = Bind(executable.manifest(), allocations, task.arguments());
    if (auto* error = std::get_if<execute::v1::RunError>(&bound)) {
      *executed->mutable_error() = std::move(*error);
      return absl::OkStatus();
    }
    INTENT_FAILPOINT_AT("execute");
    const Clock::time_point begin = Clock::now();
    absl::StatusOr<std::optional<execute::v1::RunError>> error =
        executable.Run(std::get<BoundCall>(bound), static_cast<int>(task.max_threads()));
    executed->set_run_nanoseconds(Nanoseconds(begin));
    INTENT_FAILPOINT_AT("executed");
    if (!error.ok()) return error.status();
    if (error->has_value()) *executed->mutable_error() = **std::move(error);
    return absl::OkStatus();
  }

  // The front process names only what Allocate gave it.
  char* ResidentOf(uint64_t resident) {
    const auto found = resident_.find(resident);
    return found == resident_.end() ? nullptr : found->second;
  }

  absl::Status Allocate(const worker::v1::Allocate& request, FromWorker* answer) {
    const absl::StatusOr<char*> memory = backend_.Allocate(request.size());
    if (!memory.ok()) return memory.status();
    resident_[next_resident_] = *memory;
    answer->mutable_allocated()->set_resident(next_resident_++);
    return absl::OkStatus();
  }

  absl::Status Release(const worker::v1::Release& request, FromWorker* answer) {
    if (char* const memory = ResidentOf(request.resident()); memory != nullptr) {
      backend_.Free(memory);
      resident_.erase(request.resident());
    }
    answer->mutable_done();
    return absl::OkStatus();
  }

  absl::Status Copy(const worker::v1::Copy& copy, FromWorker* answer) {
    const absl::StatusOr<ArenaMap::Arena> arena = Use(copy.arena());
    if (!arena.ok()) return arena.status();
    char* const memory = ResidentOf(copy.resident());
    if (memory == nullptr || copy.size() > arena->size) {
      return absl::InternalError("a copy leaves its arena or has no allocation");
    }
    answer->mutable_done();
    return copy.out() ? backend_.CopyOut(arena->data, memory + copy.offset(), copy.size())
                      : backend_.CopyIn(memory + copy.offset(), arena->data, copy.size());
  }

  FrameChannel& channel_;
  Backend& backend_;
  CancelFlag& cancel_ = TaskCancelFlag();
  ArenaMap arenas_;
  LoadedArtifacts loaded_;
  std::map<uint64_t, char*> resident_;
  uint64_t next_resident_ = 1;
};

}  // namespace

int RunExecuteWorker(FrameChannel& channel, absl::StatusOr<std::unique_ptr<Backend>> backend) {
  if (backend.ok()) return ExecuteWorker(channel, **backend).Run();
  FromWorker answer;
  Fail(backend.status(), &answer);
  return channel.Send(answer).ok() ? 0 : 1;
}

}  // namespace intent
