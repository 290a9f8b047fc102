#pragma once

// FrameChannel: length-prefixed protobuf frames, with descriptors, over one end of a socketpair
// (worker.proto describes the transport).
//
// The socket is non-blocking; blocking forms wait by poll. The peer may be hostile: a frame beyond
// the cap is DataLoss before anything is allocated for it, and so is one that does not parse.
// Unavailable: the peer is gone. One thread may send while another receives.

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/file_descriptor.h"
#include "google/protobuf/message_lite.h"

namespace intent {

using cache::FileDescriptor;
using Clock = std::chrono::steady_clock;

class FrameChannel {
 public:
  FrameChannel(FileDescriptor socket, size_t max_frame_bytes)
      : socket_(std::move(socket)), max_frame_bytes_(max_frame_bytes) {}

  struct Pair {
    FileDescriptor ours, theirs;  // both close-on-exec and non-blocking
  };
  static absl::StatusOr<Pair> MakePair();

  int fd() const { return socket_.get(); }

  // Sends one frame, and `descriptor` with it unless -1. DeadlineExceeded when the peer does not
  // read.
  absl::Status Send(const google::protobuf::MessageLite& message, int descriptor = -1,
                    std::optional<Clock::time_point> deadline = std::nullopt);

  // Takes what has arrived without waiting; true when that completed a frame.
  absl::StatusOr<bool> TryReceive(google::protobuf::MessageLite* message);

  // Waits for a frame.
  absl::Status Receive(google::protobuf::MessageLite* message,
                       std::optional<Clock::time_point> deadline = std::nullopt);

  // The oldest descriptor that came with a frame and was not taken yet; invalid when there is none.
  FileDescriptor TakeDescriptor();

 private:
  absl::StatusOr<bool> TakeFrame(google::protobuf::MessageLite* message);
  absl::StatusOr<bool> ReadSome();

  FileDescriptor socket_;
  const size_t max_frame_bytes_;
  std::string buffer_;
  size_t filled_ = 0;
  std::deque<FileDescriptor> descriptors_;
};

// Waits until one of `events` happens on `fd`; DeadlineExceeded otherwise.
absl::Status WaitFor(int fd, short events, std::optional<Clock::time_point> deadline);

}  // namespace intent
