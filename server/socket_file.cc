#include "server/socket_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace intent {

absl::StatusOr<std::unique_ptr<SocketFile>> SocketFile::Claim(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (!folder.empty() && mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", folder));
  }
  const std::string lock_path = absl::StrCat(path, ".lock");
  cache::FileDescriptor lock(
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", lock_path));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("another daemon serves ", path));
  }
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return absl::FailedPreconditionError(absl::StrCat(path, " exists and is no socket"));
    }
    unlink(path.c_str());
  }
  return std::unique_ptr<SocketFile>(new SocketFile(path, std::move(lock)));
}

SocketFile::~SocketFile() { unlink(path_.c_str()); }

}  // namespace intent
