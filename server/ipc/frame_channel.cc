#include "server/ipc/frame_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace intent {
namespace {

constexpr size_t kHeaderBytes = 4;
constexpr size_t kReadBytes = 64 << 10;
constexpr int kMaxDescriptorsPerRead = 8;
// Descriptors that a peer sent and nobody asked for; more than that is hostile.
constexpr size_t kMaxPendingDescriptors = 64;

absl::Status Gone() { return absl::UnavailableError("the peer has closed the channel"); }

size_t FrameBytes(const std::string& buffer) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(buffer.data());
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<size_t>(bytes[3]) << 24;
}

}  // namespace

absl::Status WaitFor(int fd, short events, std::optional<Clock::time_point> deadline) {
  while (true) {
    int timeout_ms = -1;
    if (deadline.has_value()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      if (left.count() <= 0) return absl::DeadlineExceededError("the peer did not answer in time");
      timeout_ms = static_cast<int>(std::min<int64_t>(left.count(), 3'600'000));
    }
    pollfd poll_fd{fd, events, 0};
    const int ready = poll(&poll_fd, 1, timeout_ms);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
  }
}

absl::StatusOr<FrameChannel::Pair> FrameChannel::MakePair() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  return Pair{FileDescriptor(sockets[0]), FileDescriptor(sockets[1])};
}

absl::Status FrameChannel::Send(const google::protobuf::MessageLite& message, int descriptor,
                                std::optional<Clock::time_point> deadline) {
  const size_t size = message.ByteSizeLong();
  if (size > max_frame_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a frame of ", size, " bytes exceeds ", max_frame_bytes_));
  }
  std::string bytes(kHeaderBytes + size, '\0');
  for (size_t i = 0; i < kHeaderBytes; ++i) bytes[i] = static_cast<char>(size >> (8 * i));
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(bytes.data() + kHeaderBytes));

  size_t sent = 0;
  while (sent < bytes.size()) {
    iovec piece{bytes.data() + sent, bytes.size() - sent};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (sent == 0 && descriptor >= 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof(control);
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    }
    const ssize_t written = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (written >= 0) {
      sent += written;
    } else if (errno == EAGAIN) {
      if (absl::Status status = WaitFor(socket_.get(), POLLOUT, deadline); !status.ok()) {
        return status;
      }
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return Gone();
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "sendmsg");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FrameChannel::TryReceive(google::protobuf::MessageLite* message) {
  while (true) {
    absl::StatusOr<bool> frame = TakeFrame(message);
    if (!frame.ok() || *frame) return frame;
    absl::StatusOr<bool> more = ReadSome();
    if (!more.ok() || !*more) return more;
  }
}

absl::Status FrameChannel::Receive(google::protobuf::MessageLite* message,
                                   std::optional<Clock::time_point> deadline) {
  while (true) {
    const absl::StatusOr<bool> frame = TryReceive(message);
    if (!frame.ok()) return frame.status();
    if (*frame) return absl::OkStatus();
    if (absl::Status status = WaitFor(socket_.get(), POLLIN, deadline); !status.ok()) return status;
  }
}

FileDescriptor FrameChannel::TakeDescriptor() {
  if (descriptors_.empty()) return FileDescriptor();
  FileDescriptor descriptor = std::move(descriptors_.front());
  descriptors_.pop_front();
  return descriptor;
}

absl::StatusOr<bool> FrameChannel::TakeFrame(google::protobuf::MessageLite* message) {
  if (filled_ < kHeaderBytes) return false;
  const size_t size = FrameBytes(buffer_);
  if (size > max_frame_bytes_) {
    return absl::DataLossError(absl::StrCat("a frame of ", size, " bytes exceeds the cap"));
  }
  if (filled_ < kHeaderBytes + size) return false;
  if (!message->ParseFromArray(buffer_.data() + kHeaderBytes, static_cast<int>(size))) {
    return absl::DataLossError("a frame does not parse");
  }
  filled_ -= kHeaderBytes + size;
  std::memmove(buffer_.data(), buffer_.data() + kHeaderBytes + size, filled_);
  // One large frame must not stay behind as memory.
  if (buffer_.size() > 16 * kReadBytes) {
    buffer_.resize(filled_);
    buffer_.shrink_to_fit();
  }
  return true;
}

// False when nothing has arrived.
absl::StatusOr<bool> FrameChannel::ReadSome() {
  size_t wanted = filled_ + kReadBytes;
  if (filled_ >= kHeaderBytes) {
    wanted = std::max(wanted, std::min(kHeaderBytes + FrameBytes(buffer_), 2 * filled_));
  }
  if (buffer_.size() < wanted) buffer_.resize(wanted);

  iovec piece{buffer_.data() + filled_, buffer_.size() - filled_};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptorsPerRead)];
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t count;
  do {
    count = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0 && errno == ECONNRESET) return Gone();
  if (count < 0) return absl::ErrnoToStatus(errno, "recvmsg");

  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t descriptors = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < descriptors; ++i) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors_.emplace_back(descriptor);
    }
  }
  if (descriptors_.size() > kMaxPendingDescriptors) {
    return absl::DataLossError("too many descriptors");
  }
  if (count == 0) return Gone();
  filled_ += count;
  return true;
}

}  // namespace intent
