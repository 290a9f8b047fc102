#include "client/cpp/client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cache/key.h"
#include "client/cpp/connection.h"
#include "intent/admin/v1/admin.grpc.pb.h"
#include "intent/compile/v1/compile.grpc.pb.h"
#include "intent/execute/v1/execute.grpc.pb.h"
#include "proto/protocol_version.h"

namespace intent::client {
namespace {

using Repeat = Connection::Repeat;

constexpr uint64_t kInlineBytes = 1 << 20;
constexpr uint64_t kChunkBytes = 1 << 20;

void Fill(compile::v1::ClientInfo* info) {
  info->set_protocol_major(kProtocolMajor);
  info->set_protocol_minor(kProtocolMinor);
  info->set_producer("intent-cpp/0.1.0");
}

// Equal work has an equal routing key, whatever daemon it reaches: proxies hash it.
std::string RoutingKey(const compile::v1::CompileRequest& request) {
  compile::v1::CompileRequest rest = request;
  rest.clear_client();
  rest.clear_module();
  rest.clear_source_map();
  rest.clear_inline_payloads();
  cache::KeyBuilder key;
  key.AddBytes("kind", "route.1");
  key.AddHashed("module", request.module());
  key.AddHashed("rest", rest.SerializeAsString());
  return key.Build().digest.Hex();
}

compile::v1::CompileRequest ToRequest(const CompileParameters& parameters) {
  compile::v1::CompileRequest request;
  Fill(request.mutable_client());
  request.set_module(parameters.module);
  request.set_source_map(parameters.source_map);
  request.mutable_bindings()->Assign(parameters.bindings.begin(), parameters.bindings.end());
  request.set_target(parameters.target);
  *request.mutable_options() = parameters.options;
  request.set_cache(parameters.cache);
  request.mutable_inline_payloads()->Assign(parameters.inline_payloads.begin(),
                                            parameters.inline_payloads.end());
  return request;
}

// Puts what comes back where it belongs, and knows whether all of it came.
class Receiver {
 public:
  explicit Receiver(const std::vector<HostAllocation>& allocations)
      : allocations_(allocations), received_(allocations.size()) {}

  void Receive(uint32_t id, uint64_t offset, const std::string& data) {
    if (id >= allocations_.size() || !allocations_[id].returned || offset != received_[id] ||
        data.size() > allocations_[id].size - offset) {
      in_order_ = false;
      return;
    }
    if (!data.empty()) std::memcpy(allocations_[id].data + offset, data.data(), data.size());
    received_[id] += data.size();
  }

  absl::StatusOr<ExecuteOutcome> Finish(execute::v1::ExecuteResponse response) const {
    if (response.has_error()) return ExecuteOutcome(std::move(*response.mutable_error()));
    bool complete = response.has_completed() && in_order_;
    for (size_t i = 0; i < allocations_.size(); ++i) {
      complete &= !allocations_[i].returned || received_[i] == allocations_[i].size;
    }
    if (!complete) return absl::DataLossError("the daemon's reply is not what was asked for");
    return ExecuteOutcome(std::move(*response.mutable_completed()));
  }

 private:
  const std::vector<HostAllocation>& allocations_;
  std::vector<uint64_t> received_;  // bytes, by allocation; they come in order
  bool in_order_ = true;
};

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)),
        compile_(compile::v1::CompileService::NewStub(connection_->channel())),
        execute_(execute::v1::ExecuteService::NewStub(connection_->channel())),
        admin_(admin::v1::AdminService::NewStub(connection_->channel())) {}

  absl::StatusOr<CompileOutcome> Compile(const CompileParameters& parameters,
                                         const CallOptions& options) override {
    const compile::v1::CompileRequest request = ToRequest(parameters);
    const std::string routing_key = RoutingKey(request);
    compile::v1::CompileResponse response;
    absl::Status status =
        connection_->Call(options, Repeat::kAlways, [&](grpc::ClientContext& context) {
          context.AddMetadata("intent-routing-key", routing_key);
          return compile_->Compile(&context, request, &response);
        });
    if (!status.ok()) return status;
    switch (response.outcome_case()) {
      case compile::v1::CompileResponse::kArtifact:
        return CompileOutcome(std::move(*response.mutable_artifact()));
      case compile::v1::CompileResponse::kDiagnostics:
        return CompileOutcome(std::move(*response.mutable_diagnostics()));
      default:
        return absl::DataLossError("the daemon's reply has no outcome");
    }
  }

  absl::StatusOr<std::optional<compile::v1::Artifact>> Lookup(const std::string& artifact_id,
                                                              const CallOptions& options) override {
    compile::v1::LookupRequest request;
    request.set_artifact_id(artifact_id);
    return LookUp(&request, options);
  }

  absl::StatusOr<std::optional<compile::v1::Artifact>> Lookup(const CompileParameters& parameters,
                                                              const CallOptions& options) override {
    compile::v1::LookupRequest request;
    *request.mutable_request() = ToRequest(parameters);
    return LookUp(&request, options);
  }

  absl::StatusOr<std::string> GetPayload(const std::string& artifact_id, const std::string& name,
                                         const CallOptions& options) override {
    compile::v1::GetPayloadRequest request;
    Fill(request.mutable_client());
    request.set_artifact_id(artifact_id);
    request.set_name(name);
    std::string bytes;
    uint64_t total = 0;
    absl::Status status =
        connection_->Call(options, Repeat::kAlways, [&](grpc::ClientContext& context) {
          bytes.clear();
          auto reader = compile_->GetPayload(&context, request);
          compile::v1::PayloadChunk chunk;
          while (reader->Read(&chunk)) {
            total = chunk.total_size();
            bytes.append(chunk.data());
          }
          return reader->Finish();
        });
    if (!status.ok()) return status;
    if (bytes.size() != total) return absl::DataLossError("the daemon's reply ended early");
    return bytes;
  }

  absl::StatusOr<ExecuteOutcome> Execute(const std::string& artifact_id,
                                         const std::vector<HostAllocation>& allocations,
                                         const std::vector<execute::v1::Argument>& arguments,
                                         const CallOptions& options) override {
    execute::v1::ExecuteRequest request;
    Fill(request.mutable_client());
    request.set_artifact_id(artifact_id);
    request.mutable_arguments()->Assign(arguments.begin(), arguments.end());
    uint64_t sent = 0, returned = 0;
    for (size_t i = 0; i < allocations.size(); ++i) {
      execute::v1::Allocation& wire = *request.add_allocations();
      wire.set_id(static_cast<uint32_t>(i));
      wire.set_size(allocations[i].size);
      wire.set_returned(allocations[i].returned);
      if (allocations[i].sent) {
        sent += allocations[i].size;
      } else {
        wire.mutable_zero();
      }
      if (allocations[i].returned) returned += allocations[i].size;
    }
    if (sent <= kInlineBytes && returned <= kInlineBytes) {
      return ExecuteInline(request, allocations, options);
    }
    return ExecuteStreamed(request, allocations, options);
  }

  absl::StatusOr<admin::v1::Statistics> Statistics(const CallOptions& options) override {
    return Ask<admin::v1::Statistics>(
        options, [&](grpc::ClientContext* context, admin::v1::Statistics* response) {
          return admin_->GetStatistics(context, {}, response);
        });
  }

  absl::StatusOr<admin::v1::Capabilities> Capabilities(const CallOptions& options) override {
    return Ask<admin::v1::Capabilities>(
        options, [&](grpc::ClientContext* context, admin::v1::Capabilities* response) {
          return admin_->GetCapabilities(context, {}, response);
        });
  }

  absl::StatusOr<admin::v1::Config> Config(const CallOptions& options) override {
    return Ask<admin::v1::Config>(options,
                                  [&](grpc::ClientContext* context, admin::v1::Config* response) {
                                    return admin_->GetConfig(context, {}, response);
                                  });
  }

 private:
  template <typename Response, typename Method>
  absl::StatusOr<Response> Ask(const CallOptions& options, const Method& method) {
    Response response;
    absl::Status status = connection_->Call(
        options, Repeat::kAlways,
        [&](grpc::ClientContext& context) { return method(&context, &response); });
    if (!status.ok()) return status;
    return response;
  }

  absl::StatusOr<std::optional<compile::v1::Artifact>> LookUp(compile::v1::LookupRequest* request,
                                                              const CallOptions& options) {
    Fill(request->mutable_client());
    absl::StatusOr<compile::v1::LookupResponse> response = Ask<compile::v1::LookupResponse>(
        options, [&](grpc::ClientContext* context, compile::v1::LookupResponse* answer) {
          return compile_->Lookup(context, *request, answer);
        });
    if (!response.ok()) return response.status();
    if (!response->has_artifact()) return std::optional<compile::v1::Artifact>();
    return std::optional(std::move(*response->mutable_artifact()));
  }

  absl::StatusOr<ExecuteOutcome> ExecuteInline(execute::v1::ExecuteRequest& request,
                                               const std::vector<HostAllocation>& allocations,
                                               const CallOptions& options) {
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].sent) {
        request.mutable_allocations(static_cast<int>(i))
            ->set_data(allocations[i].data, allocations[i].size);
      }
    }
    execute::v1::ExecuteResponse response;
    absl::Status status =
        connection_->Call(options, Repeat::kWhenRefused, [&](grpc::ClientContext& context) {
          return execute_->Execute(&context, request, &response);
        });
    if (!status.ok()) return status;
    Receiver receiver(allocations);
    for (const execute::v1::ReturnedAllocation& item : response.completed().allocations()) {
      receiver.Receive(item.id(), 0, item.data());
    }
    return receiver.Finish(std::move(response));
  }

  absl::StatusOr<ExecuteOutcome> ExecuteStreamed(execute::v1::ExecuteRequest& request,
                                                 const std::vector<HostAllocation>& allocations,
                                                 const CallOptions& options) {
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].sent) request.mutable_allocations(static_cast<int>(i))->mutable_streamed();
    }
    execute::v1::ExecuteResponse response;
    std::optional<Receiver> receiver;
    absl::Status status =
        connection_->Call(options, Repeat::kWhenRefused, [&](grpc::ClientContext& context) {
          receiver.emplace(allocations);
          auto stream = execute_->ExecuteStream(&context);
          if (Send(*stream, request, allocations)) stream->WritesDone();
          execute::v1::ExecuteStreamResponse part;
          while (stream->Read(&part)) {
            if (part.has_response()) {
              response = std::move(*part.mutable_response());
            } else {
              receiver->Receive(part.chunk().allocation(), part.chunk().offset(),
                                part.chunk().data());
            }
          }
          return stream->Finish();
        });
    if (!status.ok()) return status;
    return receiver->Finish(std::move(response));
  }

  // False when the daemon has ended the call early.
  static bool Send(grpc::ClientReaderWriter<execute::v1::ExecuteStreamRequest,
                                            execute::v1::ExecuteStreamResponse>& stream,
                   const execute::v1::ExecuteRequest& request,
                   const std::vector<HostAllocation>& allocations) {
    execute::v1::ExecuteStreamRequest part;
    *part.mutable_call() = request;
    if (!stream.Write(part)) return false;
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (!allocations[i].sent) continue;
      for (uint64_t offset = 0; offset < allocations[i].size; offset += kChunkBytes) {
        execute::v1::Chunk& chunk = *part.mutable_chunk();
        chunk.set_allocation(static_cast<uint32_t>(i));
        chunk.set_offset(offset);
        chunk.set_data(allocations[i].data + offset,
                       std::min(kChunkBytes, allocations[i].size - offset));
        if (!stream.Write(part)) return false;
      }
    }
    return true;
  }

  const std::unique_ptr<Connection> connection_;
  const std::unique_ptr<compile::v1::CompileService::Stub> compile_;
  const std::unique_ptr<execute::v1::ExecuteService::Stub> execute_;
  const std::unique_ptr<admin::v1::AdminService::Stub> admin_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address) {
  absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Open(address);
  if (!connection.ok()) return connection.status();
  return std::make_unique<GrpcClient>(*std::move(connection));
}

}  // namespace intent::client
