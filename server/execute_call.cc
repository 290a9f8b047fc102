#include "server/execute_call.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/compile_request.h"
#include "server/retry_after.h"
#include "server/strict.h"

namespace intent {
namespace {

using execute::v1::ExecuteRequest;
using execute::v1::ExecuteResponse;
using WireAllocation = execute::v1::Allocation;

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kBusyRetryMs = 50;
// Far above any arena, far below where sums overflow.
constexpr uint64_t kMaxAllocationBytes = uint64_t{1} << 46;

absl::Status Exceeds(const char* what, uint64_t value, uint64_t limit) {
  return absl::ResourceExhaustedError(absl::StrCat(what, " is ", value, ", the limit ", limit));
}

// As ExecutePool::Submit.
absl::Status SubmitTo(Session& session, std::unique_ptr<ExecuteJob>& job) {
  const std::shared_ptr<ExecuteJob> shared = std::move(job);
  absl::Status status = session.Submit([shared](Executor* executor) {
    bool rerun = false;
    absl::StatusOr<ExecuteResult> result = SessionLost();
    if (shared->IsCancelled()) {
      result = absl::CancelledError("the call was given up");
    } else if (executor != nullptr) {
      result = executor->Run(*shared, &rerun);
    }
    std::exchange(shared->done, nullptr)(std::move(result));
  });
  if (!status.ok()) shared->done = nullptr;
  return status;
}

}  // namespace

absl::Status ExecuteCall::Open(const ExecuteRequest& request, bool streamed) {
  if (absl::Status status = CheckEnvelope(request, streamed); !status.ok()) return status;
  if (!request.session_id().empty()) {
    absl::StatusOr<std::shared_ptr<Session>> session = parts_.sessions.Find(request.session_id());
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
  }
  device_ = request.device();
  absl::StatusOr<cache::Hit> artifact = parts_.index.Find(request.artifact_id());
  if (!artifact.ok()) return artifact.status();
  artifact_ = std::move(artifact->entry);
  return LayOut(request);
}

absl::Status ExecuteCall::CheckEnvelope(const ExecuteRequest& request, bool streamed) {
  if (absl::Status status = CheckKnown(request); !status.ok()) return status;
  if (absl::Status status = CheckClient(request.client()); !status.ok()) return status;
  if (request.allocations_size() > ExecuteLimits::kAllocations) {
    return Exceeds("the number of allocations", request.allocations_size(),
                   ExecuteLimits::kAllocations);
  }
  if (request.arguments_size() > ExecuteLimits::kArguments) {
    return Exceeds("the number of arguments", request.arguments_size(), ExecuteLimits::kArguments);
  }
  const bool in_session = !request.session_id().empty();
  if (in_session && !request.device().empty()) {
    return absl::InvalidArgumentError("a session has a device of its own: name none");
  }
  uint64_t sent = 0, returned = 0;
  for (const WireAllocation& allocation : request.allocations()) {
    if (absl::Status status = CheckAllocation(allocation, streamed, in_session); !status.ok()) {
      return status;
    }
    sent += allocation.data().size();
    if (allocation.returned()) returned += allocation.size();
  }
  if (!streamed && (sent > ExecuteLimits::kInlineBytes || returned > ExecuteLimits::kInlineBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a call with ", sent, " bytes in and ", returned,
                     " bytes out needs ExecuteStream; inline data is at most ",
                     ExecuteLimits::kInlineBytes, " bytes either way"));
  }
  for (const execute::v1::Argument& argument : request.arguments()) {
    if (argument.kind_case() == execute::v1::Argument::KIND_NOT_SET) {
      return absl::InvalidArgumentError("an argument is neither view nor scalar");
    }
    if (argument.has_view() && (argument.view().extents_size() > ExecuteLimits::kRank ||
                                argument.view().strides_size() > ExecuteLimits::kRank)) {
      return Exceeds("the rank of a view", argument.view().extents_size(), ExecuteLimits::kRank);
    }
  }
  return absl::OkStatus();
}

absl::Status ExecuteCall::CheckAllocation(const WireAllocation& allocation, bool streamed,
                                          bool in_session) {
  switch (allocation.content_case()) {
    case WireAllocation::kData:
      if (allocation.data().size() != allocation.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("allocation ", allocation.id(), " has ", allocation.data().size(),
                         " bytes of data, but its size is ", allocation.size()));
      }
      break;
    case WireAllocation::kZero:
      break;
    case WireAllocation::kStreamed:
      if (!streamed) return absl::InvalidArgumentError("streamed allocations need ExecuteStream");
      break;
    case WireAllocation::kResident:
      if (!in_session) {
        return absl::InvalidArgumentError("a resident allocation needs its session's id");
      }
      if (allocation.returned()) {
        return absl::InvalidArgumentError("a resident allocation comes back by Download");
      }
      break;
    case WireAllocation::kUploadId:
    case WireAllocation::kShared:
      return absl::UnimplementedError(
          "this daemon has no one-time uploads and no shared memory: see GetCapabilities");
    case WireAllocation::CONTENT_NOT_SET:
      return absl::InvalidArgumentError(
          absl::StrCat("allocation ", allocation.id(), " has no content"));
  }
  if (allocation.size() > kMaxAllocationBytes) {
    return Exceeds("the size of an allocation", allocation.size(), kMaxAllocationBytes);
  }
  return absl::OkStatus();
}

absl::Status ExecuteCall::LayOut(const ExecuteRequest& request) {
  uint64_t end = 0;
  for (const WireAllocation& wire : request.allocations()) {
    Allocation allocation;
    allocation.offset = end;
    allocation.size = wire.size();
    allocation.streamed = wire.has_streamed();
    if (!allocations_.emplace(wire.id(), allocation).second) {
      return absl::InvalidArgumentError(absl::StrCat("allocation ", wire.id(), " comes twice"));
    }
    worker::v1::CallAllocation& item = *task_.add_allocations();
    item.set_id(wire.id());
    item.set_size(allocation.size);
    if (wire.has_resident()) {
      const absl::StatusOr<Resident> resident = session_->Find(wire.resident());
      if (!resident.ok()) return resident.status();
      if (resident->size != wire.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "allocation ", wire.id(), " has ", resident->size, " bytes, not ", wire.size()));
      }
      item.set_resident(resident->id);
      continue;
    }
    item.set_offset(allocation.offset);
    item.set_filled(wire.content_case() != WireAllocation::kZero);
    item.set_returned(wire.returned());
    end += (wire.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  absl::StatusOr<std::shared_ptr<ArenaPool::Arena>> arena = parts_.arenas.Acquire(end);
  if (absl::IsResourceExhausted(arena.status())) {
    return WithRetryAfter(arena.status(), kBusyRetryMs);
  }
  if (absl::IsInvalidArgument(arena.status())) {
    return absl::ResourceExhaustedError(arena.status().message());
  }
  if (!arena.ok()) return arena.status();
  arena_ = *std::move(arena);
  for (const WireAllocation& wire : request.allocations()) {
    char* const data = arena_->data() + allocations_[wire.id()].offset;
    if (wire.content_case() == WireAllocation::kData) {
      std::memcpy(data, wire.data().data(), wire.data().size());
    }
    if (wire.returned()) returned_.push_back({wire.id(), {data, wire.size()}});
  }
  task_.set_artifact_id(request.artifact_id());
  *task_.mutable_arguments() = request.arguments();
  task_.set_max_threads(request.max_threads());
  return absl::OkStatus();
}

absl::StatusOr<char*> ExecuteCall::Data(uint32_t id, uint64_t offset, uint64_t size) {
  const auto found = allocations_.find(id);
  if (found == allocations_.end() || !found->second.streamed) {
    return absl::InvalidArgumentError(absl::StrCat("there is no streamed allocation ", id));
  }
  Allocation& allocation = found->second;
  if (offset != allocation.filled || size > allocation.size - allocation.filled) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a chunk at ", offset, " of ", size, " bytes does not continue allocation ", id,
        ", of which ", allocation.filled, " of ", allocation.size, " bytes have come"));
  }
  allocation.filled += size;
  return arena_->data() + allocation.offset + offset;
}

absl::Status ExecuteCall::Begin(Done done) {
  for (const auto& [id, allocation] : allocations_) {
    if (allocation.streamed && allocation.filled != allocation.size) {
      return absl::InvalidArgumentError(absl::StrCat("allocation ", id,
                                                     " is incomplete: ", allocation.filled, " of ",
                                                     allocation.size, " bytes have come"));
    }
  }
  auto job = std::make_unique<ExecuteJob>();
  job->task.Swap(&task_);
  job->arena = arena_;
  job->artifact = artifact_;
  job->cancel = cancel_;
  job->done = std::move(done);
  return Submit(std::move(job));
}

absl::Status ExecuteCall::Submit(std::unique_ptr<ExecuteJob> job) {
  absl::Status status;
  if (session_ != nullptr) {
    status = SubmitTo(*session_, job);
  } else if (artifact_->Find("cubin").has_value()) {
    compile::v1::Manifest manifest;
    const std::optional<std::string_view> bytes = artifact_->Find("manifest");
    if (!bytes.has_value() || !manifest.ParseFromArray(bytes->data(), bytes->size())) {
      status = absl::DataLossError("the artifact's manifest does not parse");
    } else {
      status = parts_.cuda.Submit(device_, manifest.target(), job);
    }
  } else if (!device_.empty()) {
    status =
        absl::InvalidArgumentError("the artifact is for no CUDA device, so the call names none");
  } else if (!parts_.pool.Submit(job)) {
    status = absl::ResourceExhaustedError("too many calls wait for an executor");
  }
  if (status.ok()) return status;
  if (job != nullptr) job->done = nullptr;
  return absl::IsResourceExhausted(status) ? WithRetryAfter(std::move(status), kBusyRetryMs)
                                           : status;
}

ExecuteResponse ToResponse(const ExecuteResult& result, const ExecuteCall& call, bool with_data) {
  ExecuteResponse response;
  if (result.executed.has_error()) {
    *response.mutable_error() = result.executed.error();
    return response;
  }
  execute::v1::Completed& completed = *response.mutable_completed();
  completed.set_run_nanoseconds(result.executed.run_nanoseconds());
  completed.set_load_nanoseconds(result.load_nanoseconds);
  for (const ExecuteCall::Returned& returned : call.returned()) {
    execute::v1::ReturnedAllocation& item = *completed.add_allocations();
    item.set_id(returned.id);
    item.set_size(returned.data.size());
    if (with_data) item.set_data(returned.data.data(), returned.data.size());
  }
  return response;
}

}  // namespace intent
