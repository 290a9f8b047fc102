#pragma once

// WorkerProcess: one compile worker or executor as the front process sees it, with the limits that
// it enforces: an answer within a time, resident memory below a bound, an end to cancelled work.
//
// Belongs to one thread. Exchange blocks. Memory is watched by polling (decisions.md D.25: never
// RLIMIT_AS), so a worker may exceed its bound for some milliseconds.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/ipc/frame_channel.h"
#include "server/pool/cancel_signal.h"
#include "server/pool/worker_factory.h"

namespace intent {

enum class Ending {
  kAnswered,
  kCrashed,      // ended by itself, or broke the protocol
  kTimedOut,     // killed at its deadline
  kOutOfMemory,  // killed above its memory bound
  kCancelled,    // nobody waits any more; killed unless it gave up at once
};

class WorkerProcess {
 public:
  // Waits for the worker's hello. What a worker says in its place, why it cannot start, is the
  // status. `device`: of a CUDA executor.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(WorkerFactory& factory,
                                                              worker::v1::ZygoteRequest::Role role,
                                                              const std::string& subject = "");
  // Kills the worker.
  ~WorkerProcess();

  struct Limits {
    Clock::time_point deadline;
    int64_t memory_bytes = 0;  // of private resident memory
    const CancelSignal* cancel = nullptr;
  };

  // Sends `request`, with `descriptor` unless -1, and waits for one answer. After any ending but
  // kAnswered the process may be gone: see alive().
  Ending Exchange(const worker::v1::ToWorker& request, int descriptor, const Limits& limits,
                  worker::v1::FromWorker* answer);

  // Sends what has no answer.
  void Tell(const worker::v1::ToWorker& request);

  bool alive() const { return alive_; }

  // Ends a process that has said that it is of no use any more.
  void Retire() {
    if (alive_) Bury(Ending::kCancelled);
  }

  // Notices, between two tasks, that the process has gone meanwhile: nobody need pay for that.
  bool CheckAlive();
  int64_t pid() const { return child_.pid; }

  // How a dead process ended: "killed by signal 11 (Segmentation fault)".
  const std::string& obituary() const { return obituary_; }

  // Private resident memory in bytes; 0 when unknown.
  int64_t PrivateBytes() const;

 private:
  WorkerProcess(WorkerFactory& factory, WorkerFactory::Child child)
      : factory_(factory), child_(std::move(child)) {}

  Ending Await(const Limits& limits, worker::v1::FromWorker* answer);
  Ending AwaitCancelled(worker::v1::FromWorker* answer);
  void Signal(int signal);
  Ending Bury(Ending ending);

  WorkerFactory& factory_;
  WorkerFactory::Child child_;
  bool alive_ = true;
  std::string obituary_;
};

}  // namespace intent
