#include "server/session.h"

#include <sys/random.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace intent {
namespace {

constexpr size_t kNameBytes = 16;

}  // namespace

absl::Status SessionLost() {
  return absl::AbortedError(
      "the session has ended, and its memory with it: it was closed, idle for too long, or one of "
      "its kernels cost it its process; open another");
}

std::string RandomName() {
  std::string name(kNameBytes, '\0');
  // At most 256 bytes come at once and whole.
  (void)!getrandom(name.data(), name.size(), 0);
  return name;
}

Session::Session(std::string id, WorkerFactory& factory, const ArenaPool& arenas,
                 const SessionOptions& options, Counters::Processes& counters,
                 std::function<void(absl::Status)> started)
    : id_(std::move(id)),
      factory_(factory),
      arenas_(arenas),
      options_(options),
      counters_(counters),
      queue_(options.queue_jobs, 0),
      thread_([this, started = std::move(started)]() mutable { Run(std::move(started)); }) {}

void Session::End() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

void Session::Run(std::function<void(absl::Status)> started) {
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      Executor::Start(factory_, arenas_, options_.executor, counters_);
  std::exchange(started, nullptr)(executor.status());
  if (executor.ok()) {
    while (std::unique_ptr<Job> job = queue_.PopWithin(options_.idle_time)) {
      std::exchange(job->work, nullptr)((*executor)->CheckAlive() ? executor->get() : nullptr);
      job.reset();
      if (!(*executor)->alive()) break;
    }
  }
  lost_ = true;
  executor = absl::CancelledError("ended");
  queue_.Close();  // what waits learns that it waits in vain
  ended_ = true;
}

absl::Status Session::Submit(Work work) {
  auto job = std::make_unique<Job>();
  job->work = std::move(work);
  if (queue_.Push(job)) return absl::OkStatus();
  job->work = nullptr;
  return lost_ ? SessionLost()
               : absl::ResourceExhaustedError("too many calls wait for the session");
}

absl::StatusOr<Resident> Session::Find(const std::string& handle) const {
  if (lost_) return SessionLost();
  std::lock_guard lock(mutex_);
  const auto found = residents_.find(handle);
  if (found == residents_.end()) {
    return absl::NotFoundError("the session has no such allocation");
  }
  return found->second;
}

absl::Status Session::Allocate(uint64_t size,
                               std::function<void(absl::StatusOr<std::string>)> done) {
  const bool bounded = options_.resident_bytes != 0;
  {
    std::lock_guard lock(mutex_);
    if (bounded && size > options_.resident_bytes - resident_bytes_) {
      return absl::ResourceExhaustedError(absl::StrCat("the session has ", resident_bytes_, " of ",
                                                       options_.resident_bytes, " bytes; ", size,
                                                       " more are too many"));
    }
    resident_bytes_ += size;
  }
  const auto give_back = [this, size] {
    std::lock_guard lock(mutex_);
    resident_bytes_ -= size;
  };
  absl::Status status = Submit([this, size, bounded, give_back, done](Executor* executor) {
    if (executor == nullptr) return done(SessionLost());
    const absl::StatusOr<uint64_t> id = executor->Allocate(size);
    if (!id.ok()) {
      give_back();
      return done(id.status());
    }
    if (bounded) executor->AllowMemory(static_cast<int64_t>(size));
    const std::string handle = RandomName();
    {
      std::lock_guard lock(mutex_);
      residents_[handle] = {*id, size};
    }
    done(handle);
  });
  if (!status.ok()) give_back();
  return status;
}

absl::Status Session::Free(const std::string& handle, std::function<void(absl::Status)> done) {
  const absl::StatusOr<Resident> resident = Find(handle);
  if (!resident.ok()) return resident.status();
  return Submit([this, handle, done](Executor* executor) {
    if (executor == nullptr) return done(SessionLost());
    Resident freed;
    {
      std::lock_guard lock(mutex_);
      const auto found = residents_.find(handle);
      if (found == residents_.end()) return done(absl::NotFoundError("it was freed before"));
      freed = found->second;
      resident_bytes_ -= freed.size;
      residents_.erase(found);
    }
    if (options_.resident_bytes != 0) executor->AllowMemory(-static_cast<int64_t>(freed.size));
    done(executor->Release(freed.id));
  });
}

}  // namespace intent
