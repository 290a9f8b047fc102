#include "server/pool/worker_factory.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/diag/failpoint.h"
#include "server/ipc/frame_version.h"

namespace intent {
namespace {

constexpr size_t kMaxZygoteFrame = 64 << 10;
constexpr auto kStartTimeout = std::chrono::seconds(60);
constexpr auto kSpawnTimeout = std::chrono::seconds(10);

// Workers see none of the daemon's environment: only where shared libraries lie, which devices the
// operator leaves them and, in builds for tests, what tests and sanitizers are told.
std::vector<std::string> WorkerEnvironment() {
  std::vector<const char*> names = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};
  if (FailpointsLinked()) names.push_back("INTENT_FAILPOINT");
#ifdef INTENT_SANITIZED
  names.insert(names.end(), {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"});
#endif
  std::vector<std::string> environment;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  return environment;
}

absl::StatusOr<pid_t> SpawnZygote(const WorkerFactoryOptions& options, int channel) {
  const std::string& path = options.worker_path;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, channel, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::string program = path, flag = options.cuda ? "--cuda-zygote" : "--zygote";
  std::string nvrtc = options.nvrtc_path;
  char* arguments[] = {program.data(), flag.data(), nvrtc.empty() ? nullptr : nvrtc.data(),
                       nullptr};
  std::vector<std::string> environment = WorkerEnvironment();
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);

  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, path.c_str(), &actions, &attributes, arguments, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", path));
  return pid;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerFactory>> WorkerFactory::Start(
    const WorkerFactoryOptions& options) {
  std::unique_ptr<WorkerFactory> factory(new WorkerFactory(options));
  absl::StatusOr<std::unique_ptr<Zygote>> zygote = factory->StartZygote(&factory->hello_);
  if (!zygote.ok()) return zygote.status();
  if (options.cuda) {
    Stop(*std::move(zygote));
    return factory;
  }
  std::lock_guard lock(factory->spawn_mutex_);
  factory->zygote_ = *std::move(zygote);
  return factory;
}

WorkerFactory::~WorkerFactory() {
  std::lock_guard lock(spawn_mutex_);
  if (zygote_ != nullptr) Stop(std::move(zygote_));
}

absl::StatusOr<std::unique_ptr<WorkerFactory::Zygote>> WorkerFactory::StartZygote(
    worker::v1::WorkerHello* hello) {
  absl::StatusOr<FrameChannel::Pair> pair = FrameChannel::MakePair();
  if (!pair.ok()) return pair.status();
  auto zygote = std::make_unique<Zygote>(FrameChannel(std::move(pair->ours), kMaxZygoteFrame));
  // The child's end must not be descriptor 3 already: dup2 onto itself keeps close-on-exec.
  FileDescriptor theirs(fcntl(pair->theirs.get(), F_DUPFD_CLOEXEC, 10));
  absl::StatusOr<pid_t> pid = SpawnZygote(options_, theirs.get());
  if (!pid.ok()) return pid.status();
  zygote->pid = *pid;
  theirs = FileDescriptor();
  pair->theirs = FileDescriptor();

  worker::v1::FromWorker frame;
  absl::Status status = zygote->channel.Receive(&frame, Clock::now() + kStartTimeout);
  if (status.ok() && (!frame.has_hello() || frame.hello().frame_version() != kFrameVersion)) {
    status = absl::FailedPreconditionError("is of another build");
  }
  if (!status.ok()) {
    kill(zygote->pid, SIGKILL);
    waitpid(zygote->pid, nullptr, 0);
    return absl::UnavailableError(absl::StrCat(options_.worker_path, " ", status.message()));
  }
  *hello = frame.hello();
  zygote->reader = std::thread([this, raw = zygote.get()] { ReadEvents(raw); });
  return zygote;
}

absl::Status WorkerFactory::EnsureZygote() {
  if (zygote_ != nullptr) {
    std::unique_lock lock(mutex_);
    if (!zygote_->dead) return absl::OkStatus();
    lock.unlock();
    Stop(std::move(zygote_));
  }
  worker::v1::WorkerHello hello;
  absl::StatusOr<std::unique_ptr<Zygote>> zygote = StartZygote(&hello);
  if (!zygote.ok()) return zygote.status();
  if (hello.fingerprint() != hello_.fingerprint()) {
    Stop(*std::move(zygote));
    return absl::FailedPreconditionError(
        "the worker, or a library it compiles with, was replaced by another: restart");
  }
  zygote_ = *std::move(zygote);
  return absl::OkStatus();
}

absl::StatusOr<WorkerFactory::Child> WorkerFactory::Spawn(worker::v1::ZygoteRequest::Role role,
                                                          const std::string& subject) {
  std::lock_guard spawn_lock(spawn_mutex_);
  if (absl::Status status = EnsureZygote(); !status.ok()) return status;
  absl::StatusOr<FrameChannel::Pair> pair = FrameChannel::MakePair();
  if (!pair.ok()) return pair.status();

  Child child;
  child.serial = next_serial_++;
  worker::v1::ZygoteRequest request;
  request.set_serial(child.serial);
  request.set_role(role);
  request.set_max_frame_bytes(options_.max_frame_bytes);
  request.set_threads(options_.executor_threads);
  request.set_arena_bytes(options_.executor_arena_bytes);
  request.set_subject(subject);
  const Clock::time_point deadline = Clock::now() + kSpawnTimeout;
  if (absl::Status status = zygote_->channel.Send(request, pair->theirs.get(), deadline);
      !status.ok()) {
    return status;
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      const auto event = events_.find(child.serial);
      return zygote_->dead || (event != events_.end() && (event->second.pid.has_value() ||
                                                          event->second.wait_status.has_value()));
    });
    const auto event = events_.find(child.serial);
    if (event == events_.end() || !event->second.pid.has_value()) {
      return absl::UnavailableError("a worker did not start");
    }
    child.pid = *event->second.pid;
    child.pidfd = std::move(event->second.pidfd);
  }
  child.channel = std::make_unique<FrameChannel>(std::move(pair->ours), options_.max_frame_bytes);
  return child;
}

std::optional<int> WorkerFactory::WaitForExit(uint64_t serial, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto event = events_.find(serial);
    return event == events_.end() || event->second.wait_status.has_value();
  });
  const auto event = events_.find(serial);
  if (event == events_.end()) return std::nullopt;
  const std::optional<int> status = event->second.wait_status;
  events_.erase(event);
  return status;
}

void WorkerFactory::ReadEvents(Zygote* zygote) {
  worker::v1::ZygoteEvent event;
  while (zygote->channel.Receive(&event).ok()) {
    std::lock_guard lock(mutex_);
    Event& known = events_[event.serial()];
    if (event.has_started()) {
      known.pid = event.started().pid();
      known.pidfd = zygote->channel.TakeDescriptor();
    } else if (event.has_exited()) {
      known.wait_status = event.exited().wait_status();
    }
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  zygote->dead = true;
  // Its children die with it.
  for (auto& [serial, known] : events_) {
    if (!known.wait_status.has_value()) known.wait_status = SIGKILL;
  }
  changed_.notify_all();
}

void WorkerFactory::Stop(std::unique_ptr<Zygote> zygote) {
  kill(zygote->pid, SIGKILL);
  waitpid(zygote->pid, nullptr, 0);
  if (zygote->reader.joinable()) zygote->reader.join();
}

}  // namespace intent
