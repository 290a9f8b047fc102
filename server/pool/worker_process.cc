#include "server/pool/worker_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace intent {
namespace {

constexpr auto kHelloTimeout = std::chrono::seconds(10);
// A device's context is not made in milliseconds, least of all the first since the driver started.
constexpr auto kCudaHelloTimeout = std::chrono::seconds(60);
constexpr auto kExitTimeout = std::chrono::seconds(2);
// How long cancelled work may take to give up before its process is killed.
constexpr auto kCancelGrace = std::chrono::milliseconds(200);
// How often memory is looked at while a worker works.
constexpr auto kWatchInterval = std::chrono::milliseconds(25);

std::string Describe(std::optional<int> wait_status) {
  if (!wait_status.has_value()) return "did not end";
  if (WIFSIGNALED(*wait_status)) {
    const int signal = WTERMSIG(*wait_status);
    return absl::StrCat("killed by signal ", signal, " (", strsignal(signal), ")");
  }
  return absl::StrCat("exited with status ", WEXITSTATUS(*wait_status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    WorkerFactory& factory, worker::v1::ZygoteRequest::Role role, const std::string& subject) {
  absl::StatusOr<WorkerFactory::Child> child = factory.Spawn(role, subject);
  if (!child.ok()) return child.status();
  std::unique_ptr<WorkerProcess> process(new WorkerProcess(factory, *std::move(child)));
  worker::v1::FromWorker frame;
  const auto timeout =
      role == worker::v1::ZygoteRequest::ROLE_EXECUTE_CUDA ? kCudaHelloTimeout : kHelloTimeout;
  absl::Status status = process->child_.channel->Receive(&frame, Clock::now() + timeout);
  if (status.ok() && frame.has_failed()) {
    return absl::Status(static_cast<absl::StatusCode>(frame.failed().code()),
                        frame.failed().message());
  }
  if (status.ok() && !frame.has_hello()) status = absl::InternalError("no hello");
  if (!status.ok()) {
    process->Bury(Ending::kCrashed);
    return absl::UnavailableError(
        absl::StrCat("a worker did not start: ", process->obituary(), ", ", status.message()));
  }
  return process;
}

WorkerProcess::~WorkerProcess() {
  if (alive_) Bury(Ending::kCancelled);
}

Ending WorkerProcess::Exchange(const worker::v1::ToWorker& request, int descriptor,
                               const Limits& limits, worker::v1::FromWorker* answer) {
  const absl::Status sent = child_.channel->Send(request, descriptor, limits.deadline);
  if (absl::IsDeadlineExceeded(sent)) return Bury(Ending::kTimedOut);
  if (!sent.ok()) return Bury(Ending::kCrashed);
  return Await(limits, answer);
}

void WorkerProcess::Tell(const worker::v1::ToWorker& request) {
  if (!child_.channel->Send(request, -1, Clock::now() + kCancelGrace).ok()) {
    Bury(Ending::kCrashed);
  }
}

bool WorkerProcess::CheckAlive() {
  pollfd ready{child_.channel->fd(), POLLIN, 0};
  // An idle worker says nothing: what is to be read is its end.
  if (alive_ && poll(&ready, 1, 0) > 0) Bury(Ending::kCrashed);
  return alive_;
}

int64_t WorkerProcess::PrivateBytes() const {
  std::ifstream statm(absl::StrCat("/proc/", child_.pid, "/statm"));
  int64_t size = 0, resident = 0, shared = 0;
  if (!(statm >> size >> resident >> shared)) return 0;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

Ending WorkerProcess::Await(const Limits& limits, worker::v1::FromWorker* answer) {
  while (true) {
    const absl::StatusOr<bool> received = child_.channel->TryReceive(answer);
    if (!received.ok()) return Bury(Ending::kCrashed);
    if (*received) return Ending::kAnswered;
    if (limits.cancel != nullptr && limits.cancel->IsSet()) return AwaitCancelled(answer);
    const Clock::time_point now = Clock::now();
    if (now >= limits.deadline) return Bury(Ending::kTimedOut);
    const auto wait = std::min<Clock::duration>(limits.deadline - now, kWatchInterval);
    pollfd ready[] = {{child_.channel->fd(), POLLIN, 0},
                      {limits.cancel != nullptr ? limits.cancel->fd() : -1, POLLIN, 0}};
    const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    if (poll(ready, 2, static_cast<int>(wait_ms)) == 0 && PrivateBytes() > limits.memory_bytes) {
      return Bury(Ending::kOutOfMemory);
    }
  }
}

// An answer to the cancelled task is thrown away: the process is clean again after it.
Ending WorkerProcess::AwaitCancelled(worker::v1::FromWorker* answer) {
  Signal(SIGUSR1);
  if (!child_.channel->Receive(answer, Clock::now() + kCancelGrace).ok()) {
    return Bury(Ending::kCancelled);
  }
  return Ending::kCancelled;
}

void WorkerProcess::Signal(int signal) {
  syscall(SYS_pidfd_send_signal, child_.pidfd.get(), signal, nullptr, 0);
}

Ending WorkerProcess::Bury(Ending ending) {
  // A crashed process may have closed its channel and still live.
  if (ending == Ending::kCrashed) {
    const std::optional<int> status =
        factory_.WaitForExit(child_.serial, Clock::now() + std::chrono::milliseconds(200));
    obituary_ = Describe(status);
    Signal(SIGKILL);
    if (!status.has_value()) factory_.WaitForExit(child_.serial, Clock::now() + kExitTimeout);
  } else {
    Signal(SIGKILL);
    obituary_ = Describe(factory_.WaitForExit(child_.serial, Clock::now() + kExitTimeout));
  }
  alive_ = false;
  return ending;
}

}  // namespace intent
