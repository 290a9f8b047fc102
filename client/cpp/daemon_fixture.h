#pragma once

// A real intent-compiled for tests: of $INTENT_BIN, else of the build that this test is of.

#include <sys/types.h>

#include <string>

namespace intent::client {

class DaemonProcess {
 public:
  // A fresh folder with the socket and the cache of a daemon that does not run yet.
  DaemonProcess();
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Returns once it accepts connections; fails the test when it does not.
  void Start();
  // SIGKILL, and gone when it returns; the socket file stays.
  void Kill();

  std::string address() const { return "unix:" + socket_path(); }
  std::string socket_path() const { return folder_ + "/socket"; }
  const std::string& folder() const { return folder_; }

  // The folder of the build's programs.
  static std::string Programs();

 private:
  std::string folder_;
  pid_t pid_ = -1;
};

}  // namespace intent::client
