#include "client/cpp/daemon_fixture.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace intent::client {
namespace {

bool Accepts(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool accepts =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(probe);
  return accepts;
}

std::string Text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::string DaemonProcess::Programs() {
  if (const char* given = std::getenv("INTENT_BIN"); given != nullptr && given[0] != '\0') {
    return given;
  }
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin";
}

DaemonProcess::DaemonProcess() {
  char pattern[] = "/tmp/intent-client-XXXXXX";
  folder_ = mkdtemp(pattern);
}

DaemonProcess::~DaemonProcess() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void DaemonProcess::Start() {
  const std::string program = Programs() + "/intent-compiled";
  const std::string listen = address(), cache = folder_ + "/cache", log = folder_ + "/log";
  const char* arguments[] = {
      program.c_str(), "--listen", listen.c_str(), "--cache-dir", cache.c_str(),
      "--workers",     "1",        nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                                const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  ASSERT_EQ(error, 0) << program << ": " << std::strerror(error);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!Accepts(socket_path())) {
    ASSERT_EQ(waitpid(pid_, nullptr, WNOHANG), 0) << "the daemon has ended: " << Text(log);
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << Text(log);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void DaemonProcess::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace intent::client
