// The calls of ExecuteService that are about sessions and their memory.

#include <memory>
#include <utility>

#include "server/compile_request.h"
#include "server/execute_service.h"
#include "server/resident_transfer.h"
#include "server/rpc.h"
#include "server/strict.h"

namespace intent {
namespace {

using execute::v1::DownloadChunk;
using execute::v1::DownloadRequest;
using execute::v1::UploadRequest;
using execute::v1::UploadResponse;

constexpr uint64_t kChunkBytes = 1 << 20;  // that a download sends
// Far above any device's memory, far below where sums overflow.
constexpr uint64_t kMaxAllocationBytes = uint64_t{1} << 46;

// A call with one answer, which may come from another thread.
class UnaryReactor final : public grpc::ServerUnaryReactor {
 public:
  UnaryReactor(grpc::CallbackServerContext* context, Activity& activity)
      : rpc_(context, activity) {}
  void End(const absl::Status& status) { Finish(rpc_.Status(status)); }
  void OnDone() override { delete this; }

 private:
  Rpc rpc_;
};

class UploadReactor final : public grpc::ServerReadReactor<UploadRequest> {
 public:
  UploadReactor(grpc::CallbackServerContext* context, const ExecuteServiceImpl::Parts& parts,
                UploadResponse*)
      : rpc_(context, parts.activity), parts_(parts) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      return End(transfer_ == nullptr     ? absl::InvalidArgumentError("the upload has no target")
                 : !transfer_->complete() ? absl::InvalidArgumentError("the upload is incomplete")
                                          : absl::OkStatus());
    }
    if (absl::Status status = CheckKnown(incoming_); !status.ok()) return End(status);
    if (transfer_ == nullptr) {
      if (absl::Status status = Begin(); !status.ok()) return End(status);
      return StartRead(&incoming_);
    }
    if (!incoming_.has_chunk()) {
      return End(absl::InvalidArgumentError("an upload has one target"));
    }
    const absl::StatusOr<bool> flush =
        transfer_->Take(incoming_.chunk().offset(), incoming_.chunk().data());
    if (!flush.ok()) return End(flush.status());
    if (!*flush) return StartRead(&incoming_);
    transfer_->Flush([this](absl::Status status) {
      if (!status.ok()) return End(status);
      StartRead(&incoming_);
    });
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Begin() {
    if (!incoming_.has_target()) {
      return absl::InvalidArgumentError("an upload begins with its target");
    }
    const execute::v1::UploadTarget& target = incoming_.target();
    if (absl::Status status = CheckClient(target.client()); !status.ok()) return status;
    if (target.session_id().empty()) {
      return absl::UnimplementedError("this daemon has no one-time uploads: see GetCapabilities");
    }
    absl::StatusOr<std::shared_ptr<Session>> session =
        parts_.call.sessions.Find(target.session_id());
    if (!session.ok()) return session.status();
    absl::StatusOr<std::unique_ptr<ResidentTransfer>> transfer = ResidentTransfer::Make(
        *std::move(session), target.resident(), 0, target.size(), parts_.call.arenas);
    if (!transfer.ok()) return transfer.status();
    transfer_ = *std::move(transfer);
    return absl::OkStatus();
  }

  void End(const absl::Status& status) { Finish(rpc_.Status(status)); }

  Rpc rpc_;
  const ExecuteServiceImpl::Parts& parts_;
  UploadRequest incoming_;
  std::unique_ptr<ResidentTransfer> transfer_;
};

class DownloadReactor final : public grpc::ServerWriteReactor<DownloadChunk> {
 public:
  DownloadReactor(grpc::CallbackServerContext* context, const ExecuteServiceImpl::Parts& parts)
      : rpc_(context, parts.activity), parts_(parts) {}

  void Run(const DownloadRequest& request) {
    if (absl::Status status = Begin(request); !status.ok()) return End(status);
    offset_ = request.offset();
    Refill();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the caller has gone"));
    Next();
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Begin(const DownloadRequest& request) {
    if (absl::Status status = CheckKnown(request); !status.ok()) return status;
    if (absl::Status status = CheckClient(request.client()); !status.ok()) return status;
    absl::StatusOr<std::shared_ptr<Session>> session =
        parts_.call.sessions.Find(request.session_id());
    if (!session.ok()) return session.status();
    absl::StatusOr<std::unique_ptr<ResidentTransfer>> transfer =
        ResidentTransfer::Make(*std::move(session), request.resident(), request.offset(),
                               request.size(), parts_.call.arenas);
    if (!transfer.ok()) return transfer.status();
    transfer_ = *std::move(transfer);
    return absl::OkStatus();
  }

  void Refill() {
    transfer_->Fill([this](absl::Status status) {
      if (!status.ok()) return End(status);
      sent_ = 0;
      Next();
    });
  }

  void Next() {
    const std::string_view window = transfer_->window();
    if (sent_ < window.size()) {
      const std::string_view piece = window.substr(sent_, kChunkBytes);
      outgoing_.set_offset(offset_);
      outgoing_.set_data(piece.data(), piece.size());
      sent_ += piece.size();
      offset_ += piece.size();
      return StartWrite(&outgoing_);
    }
    if (transfer_->complete()) return End(absl::OkStatus());
    Refill();
  }

  void End(const absl::Status& status) { Finish(rpc_.Status(status)); }

  Rpc rpc_;
  const ExecuteServiceImpl::Parts& parts_;
  std::unique_ptr<ResidentTransfer> transfer_;
  DownloadChunk outgoing_;
  uint64_t offset_ = 0;  // in the allocation
  uint64_t sent_ = 0;    // of the window
};

}  // namespace

grpc::ServerUnaryReactor* ExecuteServiceImpl::OpenSession(
    grpc::CallbackServerContext* context, const execute::v1::OpenSessionRequest* request,
    execute::v1::OpenSessionResponse* response) {
  auto* reactor = new UnaryReactor(context, parts_.activity);
  absl::Status status = CheckKnown(*request);
  if (status.ok()) status = CheckClient(request->client());
  if (!status.ok()) {
    reactor->End(status);
    return reactor;
  }
  parts_.call.sessions.Open(request->target(), request->device(), request->idle_seconds(),
                            [reactor, response](absl::StatusOr<std::shared_ptr<Session>> session) {
                              if (session.ok()) {
                                response->set_session_id((*session)->id());
                                response->set_device((*session)->device());
                              }
                              reactor->End(session.status());
                            });
  return reactor;
}

grpc::ServerUnaryReactor* ExecuteServiceImpl::CloseSession(
    grpc::CallbackServerContext* context, const execute::v1::CloseSessionRequest* request,
    execute::v1::CloseSessionResponse*) {
  auto* reactor = new UnaryReactor(context, parts_.activity);
  absl::Status status = CheckKnown(*request);
  if (status.ok()) status = parts_.call.sessions.Close(request->session_id());
  reactor->End(status);
  return reactor;
}

grpc::ServerUnaryReactor* ExecuteServiceImpl::Allocate(grpc::CallbackServerContext* context,
                                                       const execute::v1::AllocateRequest* request,
                                                       execute::v1::AllocateResponse* response) {
  auto* reactor = new UnaryReactor(context, parts_.activity);
  absl::Status status = CheckKnown(*request);
  if (status.ok() && request->size() > kMaxAllocationBytes) {
    status = absl::ResourceExhaustedError("no allocation is that large");
  }
  if (status.ok()) {
    const absl::StatusOr<std::shared_ptr<Session>> session =
        parts_.call.sessions.Find(request->session_id());
    status = session.ok() ? (*session)->Allocate(
                                request->size(),
                                [reactor, response](const absl::StatusOr<std::string>& handle) {
                                  if (handle.ok()) response->set_resident(*handle);
                                  reactor->End(handle.status());
                                })
                          : session.status();
  }
  if (!status.ok()) reactor->End(status);
  return reactor;
}

grpc::ServerUnaryReactor* ExecuteServiceImpl::Free(grpc::CallbackServerContext* context,
                                                   const execute::v1::FreeRequest* request,
                                                   execute::v1::FreeResponse*) {
  auto* reactor = new UnaryReactor(context, parts_.activity);
  absl::Status status = CheckKnown(*request);
  if (status.ok()) {
    const absl::StatusOr<std::shared_ptr<Session>> session =
        parts_.call.sessions.Find(request->session_id());
    status = session.ok()
                 ? (*session)->Free(request->resident(),
                                    [reactor](const absl::Status& freed) { reactor->End(freed); })
                 : session.status();
  }
  if (!status.ok()) reactor->End(status);
  return reactor;
}

grpc::ServerReadReactor<UploadRequest>* ExecuteServiceImpl::Upload(
    grpc::CallbackServerContext* context, UploadResponse* response) {
  return new UploadReactor(context, parts_, response);
}

grpc::ServerWriteReactor<DownloadChunk>* ExecuteServiceImpl::Download(
    grpc::CallbackServerContext* context, const DownloadRequest* request) {
  auto* reactor = new DownloadReactor(context, parts_);
  reactor->Run(*request);
  return reactor;
}

}  // namespace intent
