#include "client/cpp/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cache/key.h"
#include "intent/admin/v1/admin.grpc.pb.h"
#include "intent/compile/v1/compile.grpc.pb.h"
#include "intent/execute/v1/execute.grpc.pb.h"
#include "proto/protocol_version.h"

namespace intent::client {
namespace {

constexpr uint64_t kInlineBytes = 1 << 20;
constexpr uint64_t kChunkBytes = 1 << 20;
constexpr int64_t kDefaultWaitMs = 50;
constexpr int64_t kMaxWaitMs = 2000;

void Fill(compile::v1::ClientInfo* info) {
  info->set_protocol_major(kProtocolMajor);
  info->set_protocol_minor(kProtocolMinor);
  info->set_producer("intent-cpp/0.1.0");
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// How long to wait before the one further try; nothing when it would not help.
std::optional<std::chrono::milliseconds> RetryWait(const grpc::Status& status,
                                                   const grpc::ClientContext& context,
                                                   bool may_have_run) {
  int64_t wait_ms = 0;
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto found = trailers.find("retry-after-ms"); found != trailers.end()) {
    wait_ms = std::atoll(std::string(found->second.data(), found->second.size()).c_str());
  } else if (!may_have_run && (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                               status.error_code() == grpc::StatusCode::ABORTED)) {
    wait_ms = kDefaultWaitMs;
  }
  if (wait_ms <= 0 || wait_ms > kMaxWaitMs) return std::nullopt;
  thread_local std::minstd_rand random(std::random_device{}());
  return std::chrono::milliseconds(wait_ms / 2 + static_cast<int64_t>(random() % wait_ms));
}

// Equal work has an equal routing key, whatever daemon it reaches: proxies hash it.
std::string RoutingKey(const compile::v1::CompileRequest& request) {
  compile::v1::CompileRequest rest = request;
  rest.clear_client();
  rest.clear_module();
  rest.clear_inline_payloads();
  cache::KeyBuilder key;
  key.AddBytes("kind", "route.1");
  key.AddHashed("module", request.module());
  key.AddHashed("rest", rest.SerializeAsString());
  return key.Build().digest.Hex();
}

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(const std::shared_ptr<grpc::Channel>& channel)
      : compile_(compile::v1::CompileService::NewStub(channel)),
        execute_(execute::v1::ExecuteService::NewStub(channel)),
        admin_(admin::v1::AdminService::NewStub(channel)) {}

  absl::StatusOr<CompileOutcome> Compile(const CompileParameters& parameters,
                                         std::optional<Milliseconds> timeout) override {
    compile::v1::CompileRequest request;
    Fill(request.mutable_client());
    request.set_module(parameters.module);
    request.mutable_bindings()->Assign(parameters.bindings.begin(), parameters.bindings.end());
    request.set_target(parameters.target);
    *request.mutable_options() = parameters.options;
    if (parameters.bypass_cache) request.set_cache(compile::v1::CACHE_POLICY_BYPASS);
    request.mutable_inline_payloads()->Assign(parameters.inline_payloads.begin(),
                                              parameters.inline_payloads.end());
    const std::string routing_key = RoutingKey(request);
    compile::v1::CompileResponse response;
    absl::Status status = Call(timeout, /*may_have_run=*/false, [&](grpc::ClientContext& context) {
      context.AddMetadata("intent-routing-key", routing_key);
      return compile_->Compile(&context, request, &response);
    });
    if (!status.ok()) return status;
    if (response.has_diagnostics())
      return CompileOutcome(std::move(*response.mutable_diagnostics()));
    return CompileOutcome(std::move(*response.mutable_artifact()));
  }

  absl::StatusOr<std::string> GetPayload(const std::string& artifact_id,
                                         const std::string& name) override {
    compile::v1::GetPayloadRequest request;
    Fill(request.mutable_client());
    request.set_artifact_id(artifact_id);
    request.set_name(name);
    std::string bytes;
    absl::Status status =
        Call(std::nullopt, /*may_have_run=*/false, [&](grpc::ClientContext& context) {
          bytes.clear();
          auto reader = compile_->GetPayload(&context, request);
          compile::v1::PayloadChunk chunk;
          while (reader->Read(&chunk)) bytes.append(chunk.data());
          return reader->Finish();
        });
    if (!status.ok()) return status;
    return bytes;
  }

  absl::StatusOr<ExecuteOutcome> Execute(const std::string& artifact_id,
                                         const std::vector<HostAllocation>& allocations,
                                         const std::vector<execute::v1::Argument>& arguments,
                                         std::optional<Milliseconds> timeout) override {
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
      return ExecuteInline(request, allocations, timeout);
    }
    return ExecuteStreamed(request, allocations, timeout);
  }

  absl::StatusOr<admin::v1::Statistics> Statistics() override {
    admin::v1::Statistics response;
    absl::Status status =
        Call(std::nullopt, /*may_have_run=*/false, [&](grpc::ClientContext& context) {
          return admin_->GetStatistics(&context, {}, &response);
        });
    if (!status.ok()) return status;
    return response;
  }

  absl::StatusOr<admin::v1::Capabilities> Capabilities() override {
    admin::v1::Capabilities response;
    absl::Status status =
        Call(std::nullopt, /*may_have_run=*/false, [&](grpc::ClientContext& context) {
          return admin_->GetCapabilities(&context, {}, &response);
        });
    if (!status.ok()) return status;
    return response;
  }

  absl::StatusOr<admin::v1::Config> Config() override {
    admin::v1::Config response;
    absl::Status status = Call(
        std::nullopt, /*may_have_run=*/false,
        [&](grpc::ClientContext& context) { return admin_->GetConfig(&context, {}, &response); });
    if (!status.ok()) return status;
    return response;
  }

 private:
  using Attempt = std::function<grpc::Status(grpc::ClientContext&)>;

  absl::Status Call(std::optional<Milliseconds> timeout, bool may_have_run,
                    const Attempt& attempt) {
    const auto deadline = timeout.has_value()
                              ? std::optional(std::chrono::system_clock::now() + *timeout)
                              : std::nullopt;
    for (bool last : {false, true}) {
      grpc::ClientContext context;
      if (deadline.has_value()) context.set_deadline(*deadline);
      const grpc::Status status = attempt(context);
      if (status.ok()) return absl::OkStatus();
      const auto wait = RetryWait(status, context, may_have_run);
      if (last || !wait.has_value()) return FromGrpc(status);
      std::this_thread::sleep_for(*wait);
    }
    return absl::InternalError("unreachable");
  }

  absl::StatusOr<ExecuteOutcome> ExecuteInline(execute::v1::ExecuteRequest& request,
                                               const std::vector<HostAllocation>& allocations,
                                               std::optional<Milliseconds> timeout) {
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].sent) {
        request.mutable_allocations(static_cast<int>(i))
            ->set_data(allocations[i].data, allocations[i].size);
      }
    }
    execute::v1::ExecuteResponse response;
    absl::Status status = Call(timeout, /*may_have_run=*/true, [&](grpc::ClientContext& context) {
      return execute_->Execute(&context, request, &response);
    });
    if (!status.ok()) return status;
    for (const execute::v1::ReturnedAllocation& item : response.completed().allocations()) {
      absl::Status copied = Receive(allocations, item.id(), 0, item.data());
      if (!copied.ok()) return copied;
    }
    return ToOutcome(std::move(response));
  }

  absl::StatusOr<ExecuteOutcome> ExecuteStreamed(execute::v1::ExecuteRequest& request,
                                                 const std::vector<HostAllocation>& allocations,
                                                 std::optional<Milliseconds> timeout) {
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].sent) request.mutable_allocations(static_cast<int>(i))->mutable_streamed();
    }
    execute::v1::ExecuteResponse response;
    absl::Status received;
    absl::Status status = Call(timeout, /*may_have_run=*/true, [&](grpc::ClientContext& context) {
      auto stream = execute_->ExecuteStream(&context);
      if (Send(*stream, request, allocations)) stream->WritesDone();
      execute::v1::ExecuteStreamResponse part;
      while (stream->Read(&part)) {
        if (part.has_response()) {
          response = std::move(*part.mutable_response());
        } else if (received.ok()) {
          received = Receive(allocations, part.chunk().allocation(), part.chunk().offset(),
                             part.chunk().data());
        }
      }
      return stream->Finish();
    });
    if (!status.ok()) return status;
    if (!received.ok()) return received;
    return ToOutcome(std::move(response));
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

  static absl::Status Receive(const std::vector<HostAllocation>& allocations, uint32_t id,
                              uint64_t offset, const std::string& data) {
    if (id >= allocations.size() || !allocations[id].returned || offset > allocations[id].size ||
        data.size() > allocations[id].size - offset) {
      return absl::DataLossError("the daemon returned what was not asked for");
    }
    std::memcpy(allocations[id].data + offset, data.data(), data.size());
    return absl::OkStatus();
  }

  static ExecuteOutcome ToOutcome(execute::v1::ExecuteResponse response) {
    if (response.has_error()) return std::move(*response.mutable_error());
    return std::move(*response.mutable_completed());
  }

  const std::unique_ptr<compile::v1::CompileService::Stub> compile_;
  const std::unique_ptr<execute::v1::ExecuteService::Stub> execute_;
  const std::unique_ptr<admin::v1::AdminService::Stub> admin_;
};

}  // namespace

std::unique_ptr<Client> Client::Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return std::make_unique<GrpcClient>(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

}  // namespace intent::client
