#include "client/cpp/embedded.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cache/digest.h"
#include "cache/file_descriptor.h"

namespace intent::client {
namespace {

using cache::FileDescriptor;

constexpr char kIdleSeconds[] = "900";
constexpr auto kStartTimeout = std::chrono::seconds(30);

std::string Folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && access(runtime, W_OK) == 0) {
    return absl::StrCat(runtime, "/intent");
  }
  return absl::StrCat("/tmp/intent-", getuid());
}

// Another build of the daemon gets one of its own.
absl::StatusOr<std::string> BuildId(const std::string& program) {
  struct stat facts;
  if (stat(program.c_str(), &facts) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no daemon program ", program));
  }
  const int64_t modified = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  const std::string zero(1, '\0');
  return cache::Digest::Of(absl::StrCat(program, zero, facts.st_size, zero, modified))
      .Hex()
      .substr(0, 16);
}

absl::Status MakePrivate(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", folder));
  }
  struct stat facts;
  if (lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != getuid() ||
      (facts.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(folder, " must be a folder that belongs to you alone (mode 0700)"));
  }
  return absl::OkStatus();
}

// Whether a daemon of this user, or of root, accepts connections.
absl::StatusOr<bool> Answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is too long for a socket"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return false;
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != getuid() && peer.uid != 0)) {
    return absl::PermissionDeniedError(
        absl::StrCat("the daemon at ", path, " belongs to another user"));
  }
  return true;
}

absl::StatusOr<pid_t> Spawn(const std::string& program, const std::string& socket_path,
                            const std::string& log_path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const std::string listen = absl::StrCat("unix:", socket_path);
  const char* arguments[] = {program.c_str(), "--listen",   listen.c_str(),
                             "--idle-exit",   kIdleSeconds, nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", program));
  return pid;
}

absl::Status StartUnderLock(const std::string& program, const std::string& folder,
                            const std::string& socket_path) {
  const std::string lock_path = absl::StrCat(folder, "/start.lock");
  const FileDescriptor lock(
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", lock_path));
  }
  absl::StatusOr<bool> answers = Answers(socket_path);
  if (!answers.ok() || *answers) return answers.status();
  unlink(socket_path.c_str());  // of a daemon that was killed: under the lock nobody else binds it
  const std::string log_path = absl::StrCat(folder, "/daemon.log");
  const absl::StatusOr<pid_t> pid = Spawn(program, socket_path, log_path);
  if (!pid.ok()) return pid.status();
  const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
  bool ended = false;
  while (!ended && std::chrono::steady_clock::now() < deadline) {
    answers = Answers(socket_path);
    if (!answers.ok() || *answers) return answers.status();
    ended = waitpid(*pid, nullptr, WNOHANG) == *pid;
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!ended) {
    kill(*pid, SIGKILL);
    waitpid(*pid, nullptr, 0);
  }
  return absl::UnavailableError(
      absl::StrCat("the daemon ", program, " did not start; its log is ", log_path));
}

}  // namespace

absl::StatusOr<std::string> EmbeddedAddress(const std::string& program) {
  const absl::StatusOr<std::string> build_id = BuildId(program);
  if (!build_id.ok()) return build_id.status();
  const std::string parent = Folder();
  const std::string folder = absl::StrCat(parent, "/", *build_id);
  for (const std::string& path : {parent, folder}) {
    if (absl::Status status = MakePrivate(path); !status.ok()) return status;
  }
  const std::string socket_path = absl::StrCat(folder, "/daemon.sock");
  const absl::StatusOr<bool> answers = Answers(socket_path);
  if (!answers.ok()) return answers.status();
  if (!*answers) {
    absl::Status status = StartUnderLock(program, folder, socket_path);
    if (!status.ok()) return status;
  }
  return absl::StrCat("unix:", socket_path);
}

std::string DaemonProgram() {
  constexpr char kName[] = "intent-compiled";
  std::error_code ignored;
  if (const char* given = std::getenv("INTENT_BIN"); given != nullptr && given[0] != '\0') {
    const std::filesystem::path path = given;
    return std::filesystem::is_directory(path, ignored) ? (path / kName).string() : path.string();
  }
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / kName).string();
}

}  // namespace intent::client
