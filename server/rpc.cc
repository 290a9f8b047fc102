#include "server/rpc.h"

#include <atomic>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "server/retry_after.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

constexpr size_t kMaxMessageBytes = 700;

// Unique within a daemon and, by its random start, most likely among daemons.
std::string NextRequestId() {
  static std::atomic<uint64_t> next{(static_cast<uint64_t>(std::random_device()()) << 32) |
                                    std::random_device()()};
  return absl::StrFormat("%016x", next.fetch_add(1));
}

// Only what a message of ours may hold: no byte of it comes from a client unchecked.
std::string Printable(absl::string_view text) {
  std::string result(text.substr(0, kMaxMessageBytes));
  for (char& c : result) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return result;
}

bool IsOurFault(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnavailable ||
         code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kAborted;
}

}  // namespace

Rpc::Rpc(grpc::CallbackServerContext* context, Activity& activity)
    : context_(context), activity_(activity), id_(NextRequestId()) {
  activity_.Begin();
  context_->AddTrailingMetadata("request-id", id_);
}

grpc::Status Rpc::Status(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Printable(status.message());
  spdlog::log(IsOurFault(status.code()) ? spdlog::level::err : spdlog::level::info,
              "request={} {}: {}", id_, absl::StatusCodeToString(status.code()), message);
  if (const uint64_t retry_after = RetryAfter(status); retry_after > 0) {
    context_->AddTrailingMetadata("retry-after-ms", absl::StrCat(retry_after));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      absl::StrCat(message, " [request ", id_, "]"));
}

}  // namespace intent
