#pragma once

// How long a caller should wait before it tries again, carried inside a status until it leaves as
// the trailer `retry-after-ms`.

#include <cstdint>

#include "absl/status/status.h"

namespace intent {

absl::Status WithRetryAfter(absl::Status status, uint64_t milliseconds);

// 0: trying again will not help, or nobody knows.
uint64_t RetryAfter(const absl::Status& status);

}  // namespace intent
