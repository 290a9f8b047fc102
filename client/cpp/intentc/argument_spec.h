#pragma once

// What a value of --arg says: where the content of an argument comes from.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace intent::client {

// An extent list such as 3x4 or 3,4; "scalar" is rank 0.
using ShapeSpec = std::vector<int64_t>;

struct FileSpec {
  std::string path;
};
struct RandomSpec {
  std::optional<ShapeSpec> shape;  // absent: what the kernel's other arguments make of it
  uint64_t seed = 0;
};
struct ZerosSpec {
  std::optional<ShapeSpec> shape;
};
struct ValueSpec {
  std::string text;  // a scalar; of a view, every element
};

using ArgumentSpec = std::variant<FileSpec, RandomSpec, ZerosSpec, ValueSpec>;

// "x.npy", "random", "random:3x4", "random:3x4:7", "zeros", "zeros:3x4"; anything else is a value.
absl::StatusOr<ArgumentSpec> ParseArgumentSpec(const std::string& text);

}  // namespace intent::client
