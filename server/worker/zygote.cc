#include "server/worker/zygote.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "compiler/diag/failpoint.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/ipc/harden.h"
#include "server/worker/compile_worker.h"
#include "server/worker/cuda_backend.h"
#include "server/worker/execute_worker.h"
#include "server/worker/hello.h"
#include "server/worker/host_backend.h"
#include "server/worker/warm_up.h"

namespace intent {
namespace {

using worker::v1::ZygoteEvent;
using worker::v1::ZygoteRequest;

constexpr size_t kMaxZygoteFrame = 64 << 10;

sigset_t ChildSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

int RunChild(const ZygoteRequest& request, FileDescriptor socket) {
  DieWithParent();
  HardenProcess();
  const sigset_t child = ChildSignal();
  sigprocmask(SIG_UNBLOCK, &child, nullptr);
  // The worker's own channel becomes descriptor 3, the zygote's are closed.
  if (socket.get() != 3) {
    if (dup2(socket.get(), 3) < 0) return 1;
    socket.Release();
    socket = FileDescriptor(3);
  }
  CloseFrom(4);
  INTENT_FAILPOINT_AT("worker.start");
  FrameChannel channel(std::move(socket), request.max_frame_bytes());
  switch (request.role()) {
    case ZygoteRequest::ROLE_COMPILE:
      return RunCompileWorker(channel);
    case ZygoteRequest::ROLE_EXECUTE:
      return RunExecuteWorker(channel,
                              MakeHostBackend(static_cast<int>(request.threads()),
                                              static_cast<int64_t>(request.arena_bytes())));
    case ZygoteRequest::ROLE_EXECUTE_CUDA:
      return RunExecuteWorker(channel, MakeCudaBackend(request.device()));
    case ZygoteRequest::ROLE_LIST_DEVICES: {
      worker::v1::FromWorker answer;
      *answer.mutable_devices() = ListCudaDevices();
      return channel.Send(answer).ok() ? 0 : 1;
    }
    default:
      return 1;
  }
}

class Zygote {
 public:
  Zygote(FileDescriptor front, FileDescriptor signals)
      : front_(std::move(front), kMaxZygoteFrame), signals_(std::move(signals)) {}

  int Run() {
    if (!front_.Send(MakeHello()).ok()) return 1;
    while (true) {
      pollfd ready[] = {{front_.fd(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      if (poll(ready, 2, -1) < 0 && errno != EINTR) return Stop(1);
      if (!ReportExits()) return Stop(0);
      ZygoteRequest request;
      absl::StatusOr<bool> arrived = front_.TryReceive(&request);
      while (arrived.ok() && *arrived) {
        const std::optional<int> child_status = Fork(request);
        if (child_status.has_value()) return *child_status;
        arrived = front_.TryReceive(&request);
      }
      if (!arrived.ok()) return Stop(0);
    }
  }

 private:
  // In the child: the exit status of its work. In the zygote: nothing.
  std::optional<int> Fork(const ZygoteRequest& request) {
    FileDescriptor socket = front_.TakeDescriptor();
    const pid_t pid = fork();
    if (pid == 0) return RunChild(request, std::move(socket));
    ZygoteEvent event;
    event.set_serial(request.serial());
    if (pid < 0) {
      event.mutable_exited()->set_wait_status(-1);
      (void)front_.Send(event);
      return std::nullopt;
    }
    children_[pid] = request.serial();
    const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    event.mutable_started()->set_pid(pid);
    (void)front_.Send(event, pidfd.get());
    return std::nullopt;
  }

  bool ReportExits() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof(info)) > 0) {
    }
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      ZygoteEvent event;
      event.set_serial(children_[pid]);
      event.mutable_exited()->set_wait_status(status);
      children_.erase(pid);
      if (!front_.Send(event).ok()) return false;
    }
    return true;
  }

  int Stop(int status) {
    for (const auto& [pid, serial] : children_) kill(pid, SIGKILL);
    return status;
  }

  FrameChannel front_;
  FileDescriptor signals_;
  std::map<pid_t, uint64_t> children_;  // running and not yet waited for, by serial
};

}  // namespace

int RunZygote(FileDescriptor front) {
  HardenProcess();
  signal(SIGPIPE, SIG_IGN);
  // A terminal's Ctrl-C, or a SIGTERM to the whole group, is for the front process, which then
  // drains.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  const sigset_t child = ChildSignal();
  sigprocmask(SIG_BLOCK, &child, nullptr);
  FileDescriptor signals(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return 1;
  WarmUpCompiler();
  return Zygote(std::move(front), std::move(signals)).Run();
}

}  // namespace intent
