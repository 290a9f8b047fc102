#pragma once

// Rpc: what every call has in common: a request id that the client sees (trailer `request-id` and
// every error message) and the log repeats, and the way from absl::Status to grpc::Status.
//
// Belongs to its call.

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "server/activity.h"

namespace intent {

class Rpc {
 public:
  Rpc(grpc::CallbackServerContext* context, Activity& activity);
  ~Rpc() { activity_.End(); }
  Rpc(const Rpc&) = delete;
  Rpc& operator=(const Rpc&) = delete;

  const std::string& id() const { return id_; }

  // Logs a status that is not OK and makes it fit for the wire: with the request id, bounded in
  // size (larger details are lost in gRPC 1.51), and with the trailer `retry-after-ms` where it
  // helps. Call it before Finish, at most once.
  grpc::Status Status(const absl::Status& status);

 private:
  grpc::CallbackServerContext* const context_;
  Activity& activity_;
  const std::string id_;
};

}  // namespace intent
