#pragma once

// Session: an executor process of one client's own, with memory that stays there between calls.
//
// What a session is asked happens in order, on a thread of its own. A kernel that costs the process
// its device, or the process itself, ends the session: its memory is lost, and everything asked of
// it from then on is Aborted. It also ends when it is closed or was idle for long. Thread-safe.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pool/arena_pool.h"
#include "server/pool/counters.h"
#include "server/pool/executor.h"
#include "server/pool/job_queue.h"
#include "server/pool/worker_factory.h"

namespace intent {

struct SessionOptions {
  ExecutorOptions executor;
  std::chrono::seconds idle_time{600};
  size_t queue_jobs = 256;
  uint64_t resident_bytes = 0;  // that it may allocate; 0: what its device has
};

// Memory of a session as its client names it.
struct Resident {
  uint64_t id = 0;  // of the executor
  uint64_t size = 0;
};

class Session {
 public:
  // `started` is called once, from the session's thread, when its process runs or why it does not.
  Session(std::string id, WorkerFactory& factory, const ArenaPool& arenas,
          const SessionOptions& options, Counters::Processes& counters,
          std::function<void(absl::Status)> started);
  // Waits for what runs; so the last owner is no callback. The table sees to that.
  ~Session() { End(); }

  const std::string& id() const { return id_; }
  const std::string& device() const { return options_.executor.device; }

  // `work` is called once, from the session's thread, with the executor, or null when the session
  // has ended. ResourceExhausted when too much waits: `work` is then not called.
  using Work = std::function<void(Executor*)>;
  absl::Status Submit(Work work);

  // The size of memory that is there; NotFound when `handle` names none.
  // Aborted when the session is lost.
  absl::StatusOr<Resident> Find(const std::string& handle) const;

  // Zero-filled memory; `done` gets its handle. As Submit.
  absl::Status Allocate(uint64_t size, std::function<void(absl::StatusOr<std::string>)> done);
  absl::Status Free(const std::string& handle, std::function<void(absl::Status)> done);

  // Ends it when what was asked before has been done. Does not wait.
  void Close() { queue_.Close(); }

  // Whether nothing can be asked of it any more.
  bool IsLost() const { return lost_; }
  // Whether it has done, and will call, nothing more.
  bool HasEnded() const { return ended_; }
  // Closes it and waits for that. Not for callbacks.
  void End();

 private:
  struct Job {
    Work work;
    bool IsCancelled() const { return false; }
    uint64_t Bytes() const { return 0; }
    ~Job() {
      if (work) work(nullptr);
    }
  };

  void Run(std::function<void(absl::Status)> started);

  const std::string id_;
  WorkerFactory& factory_;
  const ArenaPool& arenas_;
  const SessionOptions options_;
  Counters::Processes& counters_;
  JobQueue<Job> queue_;
  mutable std::mutex mutex_;
  std::map<std::string, Resident> residents_ ABSL_GUARDED_BY(mutex_);
  uint64_t resident_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> lost_{false}, ended_{false};
  std::thread thread_;  // last: it uses everything above
};

// What is said of a session that is there no more.
absl::Status SessionLost();

// An id or handle that nobody guesses.
std::string RandomName();

}  // namespace intent
