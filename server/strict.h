#pragma once

// Refuses what this version does not know: protobuf keeps unknown fields and enum values silently,
// and a request half understood is a wrong answer. Thread-safe.

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace intent {

// InvalidArgument, naming the message, when `message` or one inside it has an unknown field or enum
// value. Bytes fields are opaque.
absl::Status CheckKnown(const google::protobuf::Message& message);

}  // namespace intent
