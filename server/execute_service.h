#pragma once

// ExecuteService: runs artifacts in executors, and keeps sessions with memory of their own.
// One-time uploads and shared memory are in the schema; this daemon answers UNIMPLEMENTED to them
// and says so in its capabilities.
//
// Thread-safe; outlives its server's last call.

#include "intent/execute/v1/execute.grpc.pb.h"
#include "server/activity.h"
#include "server/execute_call.h"
#include "server/pool/counters.h"

namespace intent {

class ExecuteServiceImpl final : public execute::v1::ExecuteService::CallbackService {
 public:
  struct Parts {
    ExecuteCall::Parts call;
    Counters& counters;
    Activity& activity;
  };

  explicit ExecuteServiceImpl(const Parts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* context,
                                    const execute::v1::ExecuteRequest* request,
                                    execute::v1::ExecuteResponse* response) override;
  grpc::ServerBidiReactor<execute::v1::ExecuteStreamRequest, execute::v1::ExecuteStreamResponse>*
  ExecuteStream(grpc::CallbackServerContext* context) override;

  grpc::ServerUnaryReactor* OpenSession(grpc::CallbackServerContext* context,
                                        const execute::v1::OpenSessionRequest* request,
                                        execute::v1::OpenSessionResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* context,
                                         const execute::v1::CloseSessionRequest* request,
                                         execute::v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const execute::v1::AllocateRequest* request,
                                     execute::v1::AllocateResponse* response) override;
  grpc::ServerUnaryReactor* Free(grpc::CallbackServerContext* context,
                                 const execute::v1::FreeRequest* request,
                                 execute::v1::FreeResponse* response) override;
  grpc::ServerReadReactor<execute::v1::UploadRequest>* Upload(
      grpc::CallbackServerContext* context, execute::v1::UploadResponse* response) override;
  grpc::ServerWriteReactor<execute::v1::DownloadChunk>* Download(
      grpc::CallbackServerContext* context, const execute::v1::DownloadRequest* request) override;

 private:
  const Parts parts_;
};

}  // namespace intent
