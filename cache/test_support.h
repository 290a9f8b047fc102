#pragma once

// What the cache's tests share: a temporary folder, keys and entries by a short name, and file
// helpers.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/entry.h"
#include "cache/key.h"
#include "cache/store.h"

namespace intent::cache {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "intent_cache_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline Key TestKey(std::string_view name) {
  return KeyBuilder().AddBytes("kind", "test.1").AddBytes("name", name).Build();
}

inline std::shared_ptr<const Entry> TestEntry(const Key& key, std::string_view object) {
  const Payload payloads[] = {{"manifest", "m"}, {"object", object}};
  absl::StatusOr<std::shared_ptr<const Entry>> entry = Entry::Make(key, payloads);
  EXPECT_TRUE(entry.ok()) << entry.status();
  return *entry;
}

// The "object" payload that `store` has for `key`; "(miss)" when there is none.
inline std::string ObjectIn(Store& store, const Key& key) {
  const absl::StatusOr<Hit> hit = store.Get(key);
  return hit.ok() ? std::string(hit->entry->Find("object").value_or("(no object)")) : "(miss)";
}

// Where a DiskStore on `folder` keeps the entry of `key`.
inline std::filesystem::path EntryFile(const std::string& folder, const Key& key) {
  const std::string hex = key.digest.Hex();
  return std::filesystem::path(folder) / hex.substr(0, 2) / hex.substr(2);
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Sets the modification time to `seconds` after the Unix epoch.
inline void SetModified(const std::filesystem::path& path, long seconds) {
  const timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
}

inline std::vector<std::filesystem::path> FilesUnder(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (file.is_regular_file()) files.push_back(file.path());
  }
  return files;
}

}  // namespace intent::cache
