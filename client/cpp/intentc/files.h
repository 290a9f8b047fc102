#pragma once

// Whole files, read and written at once.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace intent::client {

// NotFound when the path cannot be read or is a folder.
absl::StatusOr<std::string> ReadFile(const std::string& path);

absl::Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace intent::client
