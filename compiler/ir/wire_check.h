#pragma once

// What can be said about a message before and beside its meaning: that parsing it will not allocate
// more than agreed, and that it holds nothing this version does not know. Part of the codec;
// works for any message type without maps, groups and extensions. Thread-safe.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "google/protobuf/message.h"

namespace intent::wire {

struct WireLimits {
  size_t bytes = 0;
  size_t objects = 0;  // messages and strings
  struct Repeated {
    const google::protobuf::Descriptor* message;
    int field;
    size_t count;  // elements of this field in all messages of this type together
  };
  std::vector<Repeated> repeated;
};

// Walks the bytes without allocating: bounds of `limits` (E0901), fields without a meaning (E0102),
// broken encodings (E0101). What passes parses within memory proportional to the limits.
std::optional<Diagnostic> ScanWire(std::string_view bytes,
                                   const google::protobuf::Descriptor* descriptor,
                                   const WireLimits& limits);

// The explicit recursive check of a parsed message: unknown fields and enum values (E0102).
std::optional<Diagnostic> FindUnknown(const google::protobuf::Message& message);

}  // namespace intent::wire
