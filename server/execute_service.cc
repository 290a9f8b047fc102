#include "server/execute_service.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "server/execute_call.h"
#include "server/rpc.h"
#include "server/strict.h"

namespace intent {
namespace {

using execute::v1::Chunk;
using execute::v1::ExecuteRequest;
using execute::v1::ExecuteResponse;
using execute::v1::ExecuteStreamRequest;
using execute::v1::ExecuteStreamResponse;

constexpr uint64_t kChunkBytes = 1 << 20;

// A call's counters: `executions` when it comes, the others when it ends.
class Tally {
 public:
  explicit Tally(Counters& counters) : counters_(counters) { ++counters_.executions; }

  const absl::Status& operator()(const absl::Status& status) {
    if (!status.ok()) ++counters_.execution_errors;
    return status;
  }
  void operator()(const ExecuteResult& result) {
    if (result.executed.has_error()) ++counters_.run_errors;
  }

 private:
  Counters& counters_;
};

class ExecuteReactor final : public grpc::ServerUnaryReactor {
 public:
  ExecuteReactor(grpc::CallbackServerContext* context, const ExecuteServiceImpl::Parts& parts)
      : rpc_(context, parts.activity), tally_(parts.counters), call_(parts.call) {}

  void Run(const ExecuteRequest& request, ExecuteResponse* response) {
    absl::Status status = call_.Open(request, /*streamed=*/false);
    if (status.ok()) {
      status = call_.Begin([this, response](const absl::StatusOr<ExecuteResult>& result) {
        if (result.ok()) {
          *response = ToResponse(*result, call_, /*with_data=*/true);
          tally_(*result);
        }
        Finish(rpc_.Status(tally_(result.status())));
      });
    }
    if (!status.ok()) Finish(rpc_.Status(tally_(status)));
  }

  void OnCancel() override { call_.Cancel(); }
  void OnDone() override { delete this; }

 private:
  Rpc rpc_;
  Tally tally_;
  ExecuteCall call_;
};

class ExecuteStreamReactor final
    : public grpc::ServerBidiReactor<ExecuteStreamRequest, ExecuteStreamResponse> {
 public:
  ExecuteStreamReactor(grpc::CallbackServerContext* context, const ExecuteServiceImpl::Parts& parts)
      : rpc_(context, parts.activity), tally_(parts.counters), call_(parts.call) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(opened_ ? BeginCall() : absl::InvalidArgumentError("the stream has no call"));
      return;
    }
    const absl::Status status = Take();
    if (!status.ok()) return End(status);
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the caller has gone"));
    if (!WriteNext()) Succeed();
  }

  void OnCancel() override { call_.Cancel(); }
  void OnDone() override { delete this; }

 private:
  absl::Status Take() {
    if (absl::Status status = CheckKnown(incoming_); !status.ok()) return status;
    if (!opened_) {
      if (!incoming_.has_call()) {
        return absl::InvalidArgumentError("a stream begins with its call");
      }
      opened_ = true;
      return call_.Open(incoming_.call(), /*streamed=*/true);
    }
    if (!incoming_.has_chunk()) return absl::InvalidArgumentError("a stream has one call");
    const Chunk& chunk = incoming_.chunk();
    const absl::StatusOr<char*> data =
        call_.Data(chunk.allocation(), chunk.offset(), chunk.data().size());
    if (!data.ok()) return data.status();
    std::memcpy(*data, chunk.data().data(), chunk.data().size());
    return absl::OkStatus();
  }

  absl::Status BeginCall() {
    return call_.Begin([this](const absl::StatusOr<ExecuteResult>& result) {
      if (!result.ok()) return End(result.status());
      tally_(*result);
      *outgoing_.mutable_response() = ToResponse(*result, call_, /*with_data=*/false);
      if (result->executed.has_error()) next_returned_ = call_.returned().size();
      StartWrite(&outgoing_);
    });
  }

  // False when everything has been written.
  bool WriteNext() {
    while (next_returned_ < call_.returned().size()) {
      const ExecuteCall::Returned& returned = call_.returned()[next_returned_];
      if (next_offset_ >= returned.data.size()) {
        ++next_returned_;
        next_offset_ = 0;
        continue;
      }
      const std::string_view piece = returned.data.substr(next_offset_, kChunkBytes);
      Chunk& chunk = *outgoing_.mutable_chunk();
      chunk.set_allocation(returned.id);
      chunk.set_offset(next_offset_);
      chunk.set_data(piece.data(), piece.size());
      next_offset_ += piece.size();
      StartWrite(&outgoing_);
      return true;
    }
    return false;
  }

  void Succeed() { Finish(grpc::Status::OK); }

  void End(const absl::Status& status) {
    if (!status.ok()) Finish(rpc_.Status(tally_(status)));
  }

  Rpc rpc_;
  Tally tally_;
  ExecuteCall call_;
  bool opened_ = false;
  ExecuteStreamRequest incoming_;
  ExecuteStreamResponse outgoing_;
  size_t next_returned_ = 0;
  uint64_t next_offset_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* ExecuteServiceImpl::Execute(grpc::CallbackServerContext* context,
                                                      const ExecuteRequest* request,
                                                      ExecuteResponse* response) {
  auto* reactor = new ExecuteReactor(context, parts_);
  reactor->Run(*request, response);
  return reactor;
}

grpc::ServerBidiReactor<ExecuteStreamRequest, ExecuteStreamResponse>*
ExecuteServiceImpl::ExecuteStream(grpc::CallbackServerContext* context) {
  return new ExecuteStreamReactor(context, parts_);
}

}  // namespace intent
