#include "server/compile_service.h"

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/compile_call.h"
#include "server/compile_request.h"
#include "server/retry_after.h"
#include "server/rpc.h"
#include "server/strict.h"

namespace intent {
namespace {

using compile::v1::CompileManyRequest;
using compile::v1::CompileManyResponse;
using compile::v1::CompileRequest;
using compile::v1::CompileResponse;
using compile::v1::PayloadChunk;

constexpr size_t kChunkBytes = 1 << 20;
// Items of one CompileMany that are in progress at a time; the rest waits in the client.
constexpr size_t kMaxOutstanding = 64;

// A Compile that the caches have not answered. gRPC deletes nothing: OnDone does, after the handler
// has returned and every other reaction has ended.
class CompileReactor final : public grpc::ServerUnaryReactor {
 public:
  CompileReactor(grpc::CallbackServerContext* context, Activity& activity, CompileFlow& flow,
                 Counters& counters)
      : rpc_(context, activity), call_(flow, counters) {}

  void Run(const CompileRequest& request, CompileResponse* response) {
    absl::Status status;
    const bool answered = call_.Run(request, response, &status, [this](const absl::Status& ending) {
      Finish(rpc_.Status(ending));
    });
    if (answered) Finish(rpc_.Status(status));
  }

  void OnCancel() override {
    if (call_.Leave()) Finish(rpc_.Status(absl::CancelledError("the caller has gone")));
  }

  void OnDone() override { delete this; }

 private:
  Rpc rpc_;
  CompileCall call_;
};

class CompileManyReactor final
    : public grpc::ServerBidiReactor<CompileManyRequest, CompileManyResponse> {
 public:
  CompileManyReactor(grpc::CallbackServerContext* context, Activity& activity, CompileFlow& flow,
                     Counters& counters)
      : rpc_(context, activity), flow_(flow), counters_(counters) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      std::lock_guard lock(mutex_);
      reading_ = false;
      reads_ended_ = true;
      MaybeFinish();
      return;
    }
    auto item = std::make_shared<Item>(flow_, counters_);
    item->request.Swap(&incoming_);
    item->answer.set_tag(item->request.tag());
    uint64_t serial;
    {
      std::lock_guard lock(mutex_);
      serial = next_serial_++;
      items_[serial] = item;
    }
    absl::Status status;
    const absl::Status known = CheckKnown(item->request);
    const bool answered =
        !known.ok() ||
        item->call.Run(item->request.request(), item->answer.mutable_response(), &status,
                       [this, serial](const absl::Status& ending) { Complete(serial, ending); });
    if (answered) Complete(serial, known.ok() ? status : known);
    std::lock_guard lock(mutex_);
    reading_ = false;
    MaybeRead();
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    outgoing_.pop_front();
    if (!ok) outgoing_.clear();
    if (!outgoing_.empty()) {
      StartWrite(&outgoing_.front());
      return;
    }
    MaybeRead();
    MaybeFinish();
  }

  void OnCancel() override {
    std::map<uint64_t, std::shared_ptr<Item>> items;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      items = items_;
    }
    for (const auto& [serial, item] : items) {
      if (!item->call.Leave()) continue;
      std::lock_guard lock(mutex_);
      items_.erase(serial);
    }
    std::lock_guard lock(mutex_);
    MaybeFinish();
  }

  void OnDone() override { delete this; }

 private:
  struct Item {
    Item(CompileFlow& flow, Counters& counters) : call(flow, counters) {}
    CompileManyRequest request;
    CompileManyResponse answer;
    CompileCall call;
  };

  void Complete(uint64_t serial, const absl::Status& status) {
    std::lock_guard lock(mutex_);
    const auto found = items_.find(serial);
    if (found == items_.end()) return;
    CompileManyResponse& answer = found->second->answer;
    if (!status.ok()) {
      compile::v1::Failure& failure = *answer.mutable_failure();
      const grpc::Status wire = rpc_.Status(status);
      failure.set_code(wire.error_code());
      failure.set_message(wire.error_message());
      failure.set_retry_after_ms(RetryAfter(status));
    }
    outgoing_.emplace_back();
    outgoing_.back().Swap(&answer);
    finished_.push_back(std::move(found->second));
    items_.erase(found);
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finished_.clear();
    if (reading_ || reads_ended_ || items_.size() + outgoing_.size() >= kMaxOutstanding) return;
    reading_ = true;
    StartRead(&incoming_);
  }

  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finish_called_ || !(reads_ended_ || cancelled_) || !items_.empty() || !outgoing_.empty()) {
      return;
    }
    finish_called_ = true;
    Finish(cancelled_ ? rpc_.Status(absl::CancelledError("the caller has gone"))
                      : grpc::Status::OK);
  }

  Rpc rpc_;
  CompileFlow& flow_;
  Counters& counters_;
  CompileManyRequest incoming_;

  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Item>> items_ ABSL_GUARDED_BY(mutex_);  // in progress
  // Answered; kept until no callback of theirs can still be on the stack.
  std::vector<std::shared_ptr<Item>> finished_ ABSL_GUARDED_BY(mutex_);
  std::deque<CompileManyResponse> outgoing_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_serial_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool reads_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finish_called_ ABSL_GUARDED_BY(mutex_) = false;
};

class PayloadReactor final : public grpc::ServerWriteReactor<PayloadChunk> {
 public:
  PayloadReactor(grpc::CallbackServerContext* context, Activity& activity, ArtifactIndex& index,
                 const compile::v1::GetPayloadRequest& request)
      : rpc_(context, activity) {
    const absl::Status status = Open(index, request);
    if (!status.ok()) {
      Finish(rpc_.Status(status));
    } else {
      WriteNext();
    }
  }

  void OnWriteDone(bool ok) override {
    if (ok && offset_ < payload_.size()) {
      WriteNext();
    } else {
      Finish(ok ? grpc::Status::OK : rpc_.Status(absl::CancelledError("the caller has gone")));
    }
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Open(ArtifactIndex& index, const compile::v1::GetPayloadRequest& request) {
    if (absl::Status status = CheckKnown(request); !status.ok()) return status;
    if (absl::Status status = CheckClient(request.client()); !status.ok()) return status;
    absl::StatusOr<cache::Hit> hit = index.Find(request.artifact_id());
    if (!hit.ok()) return hit.status();
    entry_ = std::move(hit->entry);
    const std::optional<std::string_view> payload = entry_->Find(request.name());
    if (!payload.has_value()) return absl::NotFoundError("the artifact has no such payload");
    if (request.offset() > payload->size()) {
      return absl::OutOfRangeError(
          absl::StrCat("offset ", request.offset(), " is beyond ", payload->size(), " bytes"));
    }
    payload_ = *payload;
    offset_ = request.offset();
    return absl::OkStatus();
  }

  void WriteNext() {
    const std::string_view piece = payload_.substr(offset_, kChunkBytes);
    chunk_.set_offset(offset_);
    chunk_.set_total_size(payload_.size());
    chunk_.set_data(piece.data(), piece.size());
    offset_ += piece.size();
    StartWrite(&chunk_);
  }

  Rpc rpc_;
  ArtifactEntry entry_;
  std::string_view payload_;
  uint64_t offset_ = 0;
  PayloadChunk chunk_;
};

}  // namespace

grpc::ServerUnaryReactor* CompileServiceImpl::Compile(grpc::CallbackServerContext* context,
                                                      const CompileRequest* request,
                                                      CompileResponse* response) {
  auto* reactor = new CompileReactor(context, activity_, flow_, counters_);
  reactor->Run(*request, response);
  return reactor;
}

grpc::ServerBidiReactor<CompileManyRequest, CompileManyResponse>* CompileServiceImpl::CompileMany(
    grpc::CallbackServerContext* context) {
  return new CompileManyReactor(context, activity_, flow_, counters_);
}

grpc::ServerUnaryReactor* CompileServiceImpl::Lookup(grpc::CallbackServerContext* context,
                                                     const compile::v1::LookupRequest* request,
                                                     compile::v1::LookupResponse* response) {
  Rpc rpc(context, activity_);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto run = [&]() -> absl::Status {
    ++counters_.lookups;
    if (absl::Status status = CheckKnown(*request); !status.ok()) return status;
    if (absl::Status status = CheckClient(request->client()); !status.ok()) return status;
    CompileOutcome found;
    if (request->has_request()) {
      const absl::StatusOr<std::string> target = CheckCompileRequest(request->request());
      if (!target.ok()) return target.status();
      const BackEnds::Choice choice = flow_.back_ends().For(*target);
      const auto* const back_end = std::get_if<const BackEnd*>(&choice);
      if (back_end == nullptr) return absl::OkStatus();  // never compiled for: in no cache
      std::optional<CompileOutcome> outcome =
          flow_.Find(RequestKey(request->request(), *target, (*back_end)->hello.fingerprint()));
      if (!outcome.has_value()) return absl::OkStatus();
      found = *std::move(outcome);
    } else {
      absl::StatusOr<cache::Hit> hit = index_.Find(request->artifact_id());
      if (absl::IsNotFound(hit.status())) return absl::OkStatus();
      if (!hit.ok()) return hit.status();
      found.entry = std::move(hit->entry);
      found.cache.set_where(hit->tier == cache::Tier::kMemory ? compile::v1::CacheInfo::WHERE_MEMORY
                                                              : compile::v1::CacheInfo::WHERE_DISK);
    }
    ++counters_.lookup_hits;
    FillArtifact(
        *found.entry,
        request->has_request() ? request->request().inline_payloads() : request->inline_payloads(),
        response->mutable_artifact());
    *response->mutable_artifact()->mutable_cache() = found.cache;
    return absl::OkStatus();
  };
  reactor->Finish(rpc.Status(run()));
  return reactor;
}

grpc::ServerWriteReactor<PayloadChunk>* CompileServiceImpl::GetPayload(
    grpc::CallbackServerContext* context, const compile::v1::GetPayloadRequest* request) {
  return new PayloadReactor(context, activity_, index_, *request);
}

}  // namespace intent
