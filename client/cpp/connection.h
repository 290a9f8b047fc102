#pragma once

// Connection: a channel to a daemon on a Unix socket, and how calls on it are made: the socket's
// owner is checked, deadlines and cancellation are passed on, a call that a short wait can help is
// tried once more, errors carry the daemon's request id.
//
// Internal to the client: it sees gRPC. Thread-safe.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"

namespace intent::client {

class Connection {
 public:
  // InvalidArgument unless the address is a Unix socket's. Connects at the first call.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& address);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Whether a call may be made again after the daemon was lost in the middle of it.
  enum class Repeat { kAlways, kWhenRefused };
  using Attempt = std::function<grpc::Status(grpc::ClientContext&)>;

  absl::Status Call(const CallOptions& options, Repeat repeat, const Attempt& attempt) const;

 private:
  Connection(std::string address, std::string path, std::shared_ptr<grpc::Channel> channel);

  // Unavailable without a socket, PermissionDenied when it is somebody else's.
  absl::Status CheckOwner() const;
  absl::Status ToStatus(const grpc::Status& status, const grpc::ClientContext& context) const;

  const std::string address_;
  const std::string path_;
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace intent::client
