#pragma once

// SessionTable: the sessions that are open, by id. Thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/pool/cuda_devices.h"
#include "server/session.h"

namespace intent {

struct SessionTableOptions {
  size_t sessions = 32;                 // that are open at once
  std::chrono::seconds idle_time{600};  // where the client names none
  std::chrono::seconds longest_idle{86'400};
  uint64_t host_bytes = 0;   // resident memory of a session on the host
  ExecutorOptions executor;  // bounds; role and device are the session's
  size_t queue_jobs = 256;
};

class SessionTable {
 public:
  SessionTable(WorkerFactory& factory, CudaDevices& devices, const ArenaPool& arenas,
               const SessionTableOptions& options, Counters& counters);
  ~SessionTable() { Stop(); }

  // Opens a session for code of `target` (a name of the table, or "native"); `opened` is called
  // once, from this thread or another, when its process runs.
  using Opened = std::function<void(absl::StatusOr<std::shared_ptr<Session>>)>;
  void Open(const std::string& target, const std::string& device, uint64_t idle_seconds,
            Opened opened);

  // Aborted when there is no such session any more, or never was.
  absl::StatusOr<std::shared_ptr<Session>> Find(const std::string& id) const;

  absl::Status Close(const std::string& id);

  // Ends all, and waits for what they do; no callback comes afterwards.
  void Stop();

 private:
  // A session whose process runs, or why it does not.
  absl::StatusOr<std::shared_ptr<Session>> TakeStarted(const std::string& id, absl::Status status);

  // What can be destroyed. Until a session has made its last callback somebody here owns it, so
  // that no callback is its last owner.
  std::vector<std::shared_ptr<Session>> TakeEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WorkerFactory& factory_;
  CudaDevices& devices_;
  const ArenaPool& arenas_;
  const SessionTableOptions options_;
  Counters& counters_;
  mutable std::mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Session>> closed_ ABSL_GUARDED_BY(mutex_);  // may still be at work
};

}  // namespace intent
