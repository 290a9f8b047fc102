#pragma once

// FileDescriptor: owns one descriptor, closes it when it goes. Movable, not copyable.

#include <unistd.h>

#include <utility>

namespace intent::cache {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }

  // Gives the descriptor away.
  int Release() { return std::exchange(fd_, -1); }

  // Closes now and returns close's result: some file systems report a failed write only here.
  int Close() { return close(Release()); }

 private:
  int fd_ = -1;
};

}  // namespace intent::cache
