#pragma once

// WorkerFactory: the front process's side of the zygote (server/worker/zygote.h).
//
// Starts the zygote, learns the compiler's fingerprint and targets from its hello, and has it fork
// workers. A zygote that dies is replaced at the next Spawn; one with another fingerprint is
// refused, for keys would not fit any more. Thread-safe; Spawn and WaitForExit block.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/ipc/frame_channel.h"

namespace intent {

struct WorkerFactoryOptions {
  std::string worker_path;  // of intent-worker
  size_t max_frame_bytes = 0;
  int executor_threads = 1;
  int64_t executor_arena_bytes = 0;
  // Workers that compile for CUDA, by the NVRTC at a path (empty: the machine's). The zygote is not
  // kept once it has said what it can: it starts again at the first Spawn.
  bool cuda = false;
  std::string nvrtc_path;
};

class WorkerFactory {
 public:
  // Unavailable when the zygote does not start or says no hello.
  static absl::StatusOr<std::unique_ptr<WorkerFactory>> Start(const WorkerFactoryOptions& options);
  ~WorkerFactory();

  const worker::v1::WorkerHello& hello() const { return hello_; }

  struct Child {
    uint64_t serial = 0;
    int64_t pid = 0;
    FileDescriptor pidfd;
    std::unique_ptr<FrameChannel> channel;
  };
  // `subject`: the device of a CUDA executor; the target that a compile worker for CUDA should be
  // ready for.
  absl::StatusOr<Child> Spawn(worker::v1::ZygoteRequest::Role role,
                              const std::string& subject = "");

  // The wait status of a child, once, if it has ended or ends by the deadline.
  std::optional<int> WaitForExit(uint64_t serial, Clock::time_point deadline);

 private:
  // One zygote process. Its events are read by a thread of its own.
  struct Zygote {
    explicit Zygote(FrameChannel channel) : channel(std::move(channel)) {}
    FrameChannel channel;
    pid_t pid = 0;
    std::thread reader;
    bool dead = false;  // guarded by mutex_
  };

  explicit WorkerFactory(const WorkerFactoryOptions& options) : options_(options) {}

  absl::StatusOr<std::unique_ptr<Zygote>> StartZygote(worker::v1::WorkerHello* hello);
  absl::Status EnsureZygote() ABSL_EXCLUSIVE_LOCKS_REQUIRED(spawn_mutex_);
  void ReadEvents(Zygote* zygote);
  static void Stop(std::unique_ptr<Zygote> zygote);

  const WorkerFactoryOptions options_;
  worker::v1::WorkerHello hello_;

  std::mutex spawn_mutex_;  // one Spawn at a time; order: before mutex_
  std::unique_ptr<Zygote> zygote_ ABSL_GUARDED_BY(spawn_mutex_);
  uint64_t next_serial_ ABSL_GUARDED_BY(spawn_mutex_) = 1;

  std::mutex mutex_;
  std::condition_variable changed_;
  struct Event {
    std::optional<int64_t> pid;
    FileDescriptor pidfd;
    std::optional<int> wait_status;
  };
  std::map<uint64_t, Event> events_ ABSL_GUARDED_BY(mutex_);  // of children nobody asked about yet
};

}  // namespace intent
