#include "server/retry_after.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace intent {
namespace {

constexpr char kPayload[] = "intent.retry-after-ms";

}  // namespace

absl::Status WithRetryAfter(absl::Status status, uint64_t milliseconds) {
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(milliseconds)));
  return status;
}

uint64_t RetryAfter(const absl::Status& status) {
  uint64_t milliseconds = 0;
  if (const auto payload = status.GetPayload(kPayload)) {
    (void)absl::SimpleAtoi(std::string(*payload), &milliseconds);
  }
  return milliseconds;
}

}  // namespace intent
