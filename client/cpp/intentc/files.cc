#include "client/cpp/intentc/files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace intent::client {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": it is a folder"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file.is_open() || file.bad()) {
    const std::string why = errno != 0 ? std::error_code(errno, std::generic_category()).message()
                                       : "it cannot be opened";
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", why));
  }
  return std::move(bytes).str();
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return absl::OkStatus();
  const std::string why = errno != 0 ? std::error_code(errno, std::generic_category()).message()
                                     : "it cannot be opened";
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", why));
}

}  // namespace intent::client
