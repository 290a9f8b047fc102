#pragma once

// CompileService: decode, admit, answer from the caches or begin a compile, encode, count. Hits are
// answered in the thread that reads the request.
//
// Thread-safe; outlives its server's last call.

#include <memory>
#include <string>

#include "intent/compile/v1/compile.grpc.pb.h"
#include "server/activity.h"
#include "server/artifact_index.h"
#include "server/compile_flow.h"
#include "server/pool/counters.h"

namespace intent {

class CompileServiceImpl final : public compile::v1::CompileService::CallbackService {
 public:
  CompileServiceImpl(CompileFlow& flow, ArtifactIndex& index, Counters& counters,
                     Activity& activity)
      : flow_(flow), index_(index), counters_(counters), activity_(activity) {}

  grpc::ServerUnaryReactor* Compile(grpc::CallbackServerContext* context,
                                    const compile::v1::CompileRequest* request,
                                    compile::v1::CompileResponse* response) override;
  grpc::ServerBidiReactor<compile::v1::CompileManyRequest, compile::v1::CompileManyResponse>*
  CompileMany(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                   const compile::v1::LookupRequest* request,
                                   compile::v1::LookupResponse* response) override;
  grpc::ServerWriteReactor<compile::v1::PayloadChunk>* GetPayload(
      grpc::CallbackServerContext* context, const compile::v1::GetPayloadRequest* request) override;

 private:
  CompileFlow& flow_;
  ArtifactIndex& index_;
  Counters& counters_;
  Activity& activity_;
};

}  // namespace intent
