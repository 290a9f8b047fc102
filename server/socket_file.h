#pragma once

// SocketFile: the right to serve one Unix socket path, by a lock beside it, so that a starting
// daemon replaces a stale socket but never a live daemon's. Removes the socket when it goes.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cache/file_descriptor.h"

namespace intent {

class SocketFile {
 public:
  // Makes the folder, for its owner only, when there is none. FailedPrecondition when somebody else
  // serves the path, or when it is something other than a socket.
  static absl::StatusOr<std::unique_ptr<SocketFile>> Claim(const std::string& path);
  ~SocketFile();

 private:
  SocketFile(std::string path, cache::FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const cache::FileDescriptor lock_;
};

}  // namespace intent
