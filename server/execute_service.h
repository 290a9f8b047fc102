#pragma once

// ExecuteService: runs artifacts in executors. Sessions, resident handles, uploads and shared
// memory are in the schema; this daemon answers UNIMPLEMENTED to them and says so in its
// capabilities.
//
// Thread-safe; outlives its server's last call.

#include "intent/execute/v1/execute.grpc.pb.h"
#include "server/activity.h"
#include "server/artifact_index.h"
#include "server/pool/arena_pool.h"
#include "server/pool/counters.h"
#include "server/pool/execute_pool.h"

namespace intent {

class ExecuteServiceImpl final : public execute::v1::ExecuteService::CallbackService {
 public:
  struct Parts {
    ArtifactIndex& index;
    ArenaPool& arenas;
    ExecutePool& pool;
    Counters& counters;
    Activity& activity;
  };

  explicit ExecuteServiceImpl(const Parts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* context,
                                    const execute::v1::ExecuteRequest* request,
                                    execute::v1::ExecuteResponse* response) override;
  grpc::ServerBidiReactor<execute::v1::ExecuteStreamRequest, execute::v1::ExecuteStreamResponse>*
  ExecuteStream(grpc::CallbackServerContext* context) override;

 private:
  const Parts parts_;
};

}  // namespace intent
