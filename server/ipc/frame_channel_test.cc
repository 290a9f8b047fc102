#include "server/ipc/frame_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "intent/worker/v1/worker.pb.h"

namespace intent {
namespace {

constexpr size_t kCap = 1 << 20;

class FrameChannelTest : public testing::Test {
 protected:
  FrameChannelTest() {
    absl::StatusOr<FrameChannel::Pair> pair = FrameChannel::MakePair();
    EXPECT_TRUE(pair.ok());
    ours_.emplace(std::move(pair->ours), kCap);
    theirs_ = std::move(pair->theirs);
  }

  void SendRaw(const std::string& bytes) {
    ASSERT_EQ(send(theirs_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  std::optional<FrameChannel> ours_;
  FileDescriptor theirs_;
};

worker::v1::Prepare Message(size_t size) {
  worker::v1::Prepare message;
  message.set_module(std::string(size, 'm'));
  return message;
}

TEST_F(FrameChannelTest, FramesOfAnySizeArriveInOrder) {
  FrameChannel peer(std::move(theirs_), kCap);
  std::thread sender([&] {
    for (const size_t size : {0, 1, 100, 70'000, 1'000'000, 3}) {
      EXPECT_TRUE(peer.Send(Message(size)).ok());
    }
  });
  for (const size_t size : {0, 1, 100, 70'000, 1'000'000, 3}) {
    worker::v1::Prepare received;
    ASSERT_TRUE(ours_->Receive(&received).ok());
    EXPECT_EQ(received.module().size(), size);
  }
  sender.join();
}

TEST_F(FrameChannelTest, DescriptorsTravelWithTheirFrame) {
  FrameChannel peer(std::move(theirs_), kCap);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_TRUE(peer.Send(Message(5), pipe_ends[0]).ok());
  ASSERT_TRUE(peer.Send(Message(6)).ok());
  worker::v1::Prepare received;
  ASSERT_TRUE(ours_->Receive(&received).ok());
  const FileDescriptor descriptor = ours_->TakeDescriptor();
  ASSERT_TRUE(descriptor.valid());
  EXPECT_TRUE(fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC);
  ASSERT_TRUE(ours_->Receive(&received).ok());
  EXPECT_FALSE(ours_->TakeDescriptor().valid());
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(FrameChannelTest, AFrameBeyondTheCapIsRefusedBeforeItArrives) {
  SendRaw(std::string("\x01\x00\x10\x00", 4));  // 1 MiB and one byte
  worker::v1::Prepare received;
  EXPECT_EQ(ours_->TryReceive(&received).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrameChannelTest, AFrameThatDoesNotParseIsDataLoss) {
  SendRaw(std::string("\x01\x00\x00\x00\xff", 5));
  worker::v1::Prepare received;
  EXPECT_EQ(ours_->TryReceive(&received).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrameChannelTest, HalfAFrameIsNoFrame) {
  SendRaw(std::string("\x05\x00\x00", 3));
  worker::v1::Prepare received;
  const absl::StatusOr<bool> frame = ours_->TryReceive(&received);
  ASSERT_TRUE(frame.ok());
  EXPECT_FALSE(*frame);
  theirs_ = FileDescriptor();
  EXPECT_EQ(ours_->TryReceive(&received).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FrameChannelTest, WaitingHasADeadline) {
  worker::v1::Prepare received;
  EXPECT_EQ(ours_->Receive(&received, Clock::now()).code(), absl::StatusCode::kDeadlineExceeded);
  // A peer that does not read fills the socket's buffer.
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    status = ours_->Send(Message(1'000'000), -1, Clock::now() + std::chrono::milliseconds(10));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(FrameChannelTest, TooLargeAMessageIsNotSent) {
  EXPECT_EQ(ours_->Send(Message(kCap)).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace intent
