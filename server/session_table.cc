#include "server/session_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/target/target.h"

namespace intent {

SessionTable::SessionTable(WorkerFactory& factory, CudaDevices& devices, const ArenaPool& arenas,
                           const SessionTableOptions& options, Counters& counters)
    : factory_(factory),
      devices_(devices),
      arenas_(arenas),
      options_(options),
      counters_(counters) {}

void SessionTable::Open(const std::string& target_name, const std::string& selector,
                        uint64_t idle_seconds, Opened opened) {
  const absl::StatusOr<Target> target = ParseTarget(target_name);
  if (!target.ok()) return opened(absl::FailedPreconditionError(target.status().message()));
  SessionOptions session_options;
  session_options.executor = options_.executor;
  session_options.queue_jobs = options_.queue_jobs;
  session_options.idle_time =
      idle_seconds == 0
          ? options_.idle_time
          : std::chrono::seconds(std::min<uint64_t>(idle_seconds, options_.longest_idle.count()));
  const bool cuda = target->kind == TargetKind::kCuda;
  if (cuda) {
    const absl::StatusOr<worker::v1::Device> device = devices_.Pick(selector, target->ToString());
    if (!device.ok()) return opened(device.status());
    session_options.executor.role = worker::v1::ZygoteRequest::ROLE_EXECUTE_CUDA;
    session_options.executor.device = device->uuid();
  } else {
    if (!selector.empty()) {
      return opened(absl::InvalidArgumentError("a session on the host names no device"));
    }
    session_options.resident_bytes = options_.host_bytes;
  }

  const std::string id = RandomName();
  const auto started = [this, id, opened](absl::Status status) {
    absl::StatusOr<std::shared_ptr<Session>> session = TakeStarted(id, std::move(status));
    opened(std::move(session));
  };
  absl::Status status = [&] {
    std::vector<std::shared_ptr<Session>> ended;  // destroyed without the lock
    std::lock_guard lock(mutex_);
    ended = TakeEnded();
    if (stopped_) return absl::CancelledError("the daemon is ending");
    if (sessions_.size() >= options_.sessions) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", sessions_.size(), " sessions open, the limit"));
    }
    ++counters_.sessions;
    sessions_[id] =
        std::make_shared<Session>(id, factory_, arenas_, session_options,
                                  cuda ? counters_.cuda_executors : counters_.executors, started);
    return absl::OkStatus();
  }();
  if (!status.ok()) opened(std::move(status));
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::TakeStarted(const std::string& id,
                                                                   absl::Status status) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return SessionLost();
  if (status.ok()) return found->second;
  closed_.push_back(std::move(found->second));
  sessions_.erase(found);
  return status;
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->IsLost()) return SessionLost();
  return found->second;
}

absl::Status SessionTable::Close(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return SessionLost();
  found->second->Close();
  closed_.push_back(std::move(found->second));
  sessions_.erase(found);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<Session>> SessionTable::TakeEnded() {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    if (session->second->HasEnded()) {
      closed_.push_back(std::move(session->second));
      session = sessions_.erase(session);
    } else {
      ++session;
    }
  }
  std::vector<std::shared_ptr<Session>> ended;
  const auto done = std::partition(closed_.begin(), closed_.end(),
                                   [](const auto& session) { return !session->HasEnded(); });
  ended.assign(std::make_move_iterator(done), std::make_move_iterator(closed_.end()));
  closed_.erase(done, closed_.end());
  return ended;
}

void SessionTable::Stop() {
  std::vector<std::shared_ptr<Session>> all;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    all.swap(closed_);
    for (auto& [id, session] : sessions_) {
      session->Close();
      all.push_back(std::move(session));
    }
    sessions_.clear();
  }
  for (const std::shared_ptr<Session>& session : all) session->End();
}

}  // namespace intent
