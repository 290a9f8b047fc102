#include "server/worker/zygote.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cuda/device_library.h"
#include "compiler/cuda/nvrtc.h"
#include "compiler/diag/failpoint.h"
#include "compiler/target/target.h"
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

// What a zygote and its children compile with.
class Compiler {
 public:
  explicit Compiler(const ZygoteOptions& options) : cuda_(options.cuda), nvrtc_(Open(options)) {
    if (!cuda_) WarmUpCompiler(HostTarget());
  }

  worker::v1::FromWorker Hello() const { return cuda_ ? MakeCudaHello(nvrtc_) : MakeHello(); }
  cuda::Nvrtc* nvrtc() const { return nvrtc_.ok() ? nvrtc_->get() : nullptr; }
  std::vector<int> Descriptors() const {
    return nvrtc_.ok() ? (*nvrtc_)->Descriptors() : std::vector<int>();
  }

  // Before a child for `target` is forked. An NVRTC that reads nothing ahead serves, too.
  void MakeReady(const std::string& target) {
    if (!nvrtc_.ok() || !(*nvrtc_)->Knows(target) || !ready_.insert(target).second) return;
    (void)(*nvrtc_)->Precompile(target, cuda::DeviceLibrary());
    const absl::StatusOr<Target> parsed = ParseTarget(target);
    if (parsed.ok()) WarmUpCompiler(*parsed, {.nvrtc = nvrtc()});
  }

 private:
  using MaybeNvrtc = absl::StatusOr<std::unique_ptr<cuda::Nvrtc>>;

  static MaybeNvrtc Open(const ZygoteOptions& options) {
    if (!options.cuda) return absl::UnimplementedError("these workers do not compile for CUDA");
    return cuda::Nvrtc::Open(options.nvrtc_path);
  }

  const bool cuda_;
  const MaybeNvrtc nvrtc_;
  std::set<std::string> ready_;
};

int RunChild(const ZygoteRequest& request, FileDescriptor socket, const Compiler& compiler) {
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
  CloseFrom(4, compiler.Descriptors());
  INTENT_FAILPOINT_AT("worker.start");
  FrameChannel channel(std::move(socket), request.max_frame_bytes());
  switch (request.role()) {
    case ZygoteRequest::ROLE_COMPILE:
      return RunCompileWorker(channel, compiler.Hello(), compiler.nvrtc());
    case ZygoteRequest::ROLE_EXECUTE:
      return RunExecuteWorker(channel,
                              MakeHostBackend(static_cast<int>(request.threads()),
                                              static_cast<int64_t>(request.arena_bytes())));
    case ZygoteRequest::ROLE_EXECUTE_CUDA:
      return RunExecuteWorker(channel, MakeCudaBackend(request.subject()));
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
  Zygote(FileDescriptor front, FileDescriptor signals, Compiler& compiler)
      : front_(std::move(front), kMaxZygoteFrame),
        signals_(std::move(signals)),
        compiler_(compiler) {}

  int Run() {
    if (!front_.Send(compiler_.Hello()).ok()) return 1;
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
    compiler_.MakeReady(request.subject());
    const pid_t pid = fork();
    if (pid == 0) return RunChild(request, std::move(socket), compiler_);
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
  Compiler& compiler_;
  std::map<pid_t, uint64_t> children_;  // running and not yet waited for, by serial
};

}  // namespace

int RunZygote(FileDescriptor front, const ZygoteOptions& options) {
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
  Compiler compiler(options);
  return Zygote(std::move(front), std::move(signals), compiler).Run();
}

}  // namespace intent
