#include "cache/disk_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cache/entry.h"

namespace intent::cache {
namespace {

constexpr char kTemporaryFolder[] = "tmp";
constexpr char kLockFile[] = "lock";
constexpr size_t kShardDigits = 2;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string EntryPath(const Digest& digest) {
  const std::string hex = digest.Hex();
  return absl::StrCat(hex.substr(0, kShardDigits), "/", hex.substr(kShardDigits));
}

uint64_t OccupiedBytes(const struct stat& info) {
  return std::max(static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_blocks) * 512);
}

int64_t UsedAt(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

absl::Status ErrnoStatus(std::string_view what) {
  const int error = errno;
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrCat(std::string(what), ": ", std::generic_category().message(error)));
}

// O_NOFOLLOW looks at the last component only, and "link/" has an empty one.
std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

absl::Status MakeFolders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus("cannot create the cache folder " + prefix);
    }
    if (end == std::string::npos) return absl::OkStatus();
  }
}

absl::Status CheckFolder(const std::string& path, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus("cannot examine the cache folder " + path);
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("the cache folder ", path, " belongs to user ",
                                                    info.st_uid, ", not to user ", geteuid()));
  }
  if ((info.st_mode & 0022) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the cache folder ", path, " is writable by other users; give it mode 0700"));
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("cannot write a cache entry");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Calls visit(name, stat) for every regular file of the folder `name` below `root`.
template <typename Visit>
void ForEachFile(int root, const char* name, Visit visit) {
  FileDescriptor folder(openat(root, name, kOpenFolder));
  if (!folder.valid()) return;
  DIR* const stream = fdopendir(folder.get());
  if (stream == nullptr) return;
  const int fd = folder.Release();  // closedir closes it
  while (const dirent* file = readdir(stream)) {
    struct stat info;
    if (fstatat(fd, file->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)) {
      visit(fd, file->d_name, info);
    }
  }
  closedir(stream);
}

}  // namespace

absl::StatusOr<std::shared_ptr<DiskFolder>> DiskFolder::Open(const std::string& given_path) {
  const std::string path = WithoutTrailingSlashes(given_path);
  if (path.empty()) return absl::InvalidArgumentError("the cache folder has an empty name");
  if (absl::Status status = MakeFolders(path); !status.ok()) return status;

  FileDescriptor root(open(path.c_str(), kOpenFolder));
  if (!root.valid()) {
    absl::Status status = ErrnoStatus("cannot open the cache folder " + path);
    struct stat info;
    if (lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the cache folder ", path,
                       S_ISLNK(info.st_mode) ? " is a symbolic link" : " is not a folder"));
    }
    return status;
  }
  if (absl::Status status = CheckFolder(path, root.get()); !status.ok()) return status;

  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) return ErrnoStatus("no random numbers");
  return std::shared_ptr<DiskFolder>(new DiskFolder(std::move(root), nonce));
}

absl::StatusOr<DiskFolder::File> DiskFolder::Read(const Digest& digest) const {
  // O_NONBLOCK: a named pipe in an entry's place must not hold the caller.
  FileDescriptor fd(openat(root_.get(), EntryPath(digest).c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return absl::NotFoundError("not on disk");
    if (errno == ELOOP || errno == EIO) return absl::DataLossError("not a readable file");
    return absl::UnavailableError(ErrnoStatus("cannot open a cache entry").message());
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0) {
    return absl::UnavailableError(ErrnoStatus("cannot examine a cache entry").message());
  }
  File file;
  file.inode = info.st_ino;
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) > Entry::kMaxBytes) {
    return absl::DataLossError("not an entry");
  }
  file.bytes.resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < file.bytes.size()) {
    const ssize_t got = read(fd.get(), file.bytes.data() + done, file.bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::DataLossError("a cache entry cannot be read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  file.bytes.resize(done);
  return file;
}

absl::Status DiskFolder::Write(const Digest& digest, std::string_view bytes,
                               uint64_t reserve_bytes) {
  struct statvfs space;
  if (fstatvfs(root_.get(), &space) == 0) {
    const uint64_t available = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
    if (available < bytes.size() || available - bytes.size() < reserve_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("only ", available, " bytes are free beside the cache"));
    }
  }
  const std::string name = absl::StrFormat("%s/%016x-%x", kTemporaryFolder, nonce_,
                                           next_temporary_.fetch_add(1, std::memory_order_relaxed));
  absl::StatusOr<FileDescriptor> fd = CreateTemporary(name);
  if (!fd.ok()) return fd.status();
  absl::Status status = WriteAll(fd->get(), bytes);
  if (fd->Close() != 0 && status.ok()) status = ErrnoStatus("cannot finish a cache entry");
  if (status.ok()) status = Publish(name, digest);
  if (!status.ok()) unlinkat(root_.get(), name.c_str(), 0);
  return status;
}

absl::StatusOr<FileDescriptor> DiskFolder::CreateTemporary(const std::string& name) {
  constexpr int kCreate = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor fd(openat(root_.get(), name.c_str(), kCreate, 0600));
  if (!fd.valid() && errno == ENOENT) {
    if (mkdirat(root_.get(), kTemporaryFolder, 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus("cannot create a folder in the cache");
    }
    fd = FileDescriptor(openat(root_.get(), name.c_str(), kCreate, 0600));
  }
  if (!fd.valid()) return ErrnoStatus("cannot create a cache entry");
  return fd;
}

absl::Status DiskFolder::Publish(const std::string& name, const Digest& digest) {
  const std::string path = EntryPath(digest);
  if (renameat(root_.get(), name.c_str(), root_.get(), path.c_str()) == 0) return absl::OkStatus();
  if (errno == ENOENT) {
    const std::string shard = path.substr(0, kShardDigits);
    if (mkdirat(root_.get(), shard.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus("cannot create a folder in the cache");
    }
    if (renameat(root_.get(), name.c_str(), root_.get(), path.c_str()) == 0) {
      return absl::OkStatus();
    }
  }
  return ErrnoStatus("cannot publish a cache entry");
}

void DiskFolder::RemoveIfSame(const Digest& digest, ino_t inode) {
  const std::string path = EntryPath(digest);
  struct stat info;
  if (fstatat(root_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_ino == inode) {
    unlinkat(root_.get(), path.c_str(), 0);
  }
}

DiskFolder::Eviction DiskFolder::Evict(const ScannedFile& scanned) {
  const std::string path = EntryPath(scanned.digest);
  struct stat info;
  if (fstatat(root_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (UsedAt(info) != scanned.used_at) return Eviction::kKept;
    if (unlinkat(root_.get(), path.c_str(), 0) == 0) return Eviction::kEvicted;
  }
  return errno == ENOENT ? Eviction::kAlreadyGone : Eviction::kKept;
}

void DiskFolder::Touch(const Digest& digest) {
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  utimensat(root_.get(), EntryPath(digest).c_str(), times, AT_SYMLINK_NOFOLLOW);
}

std::vector<DiskFolder::ScannedFile> DiskFolder::Scan(const std::atomic<bool>& stop) const {
  std::vector<ScannedFile> files;
  for (int i = 0; i < 256 && !stop; ++i) {
    const std::string shard = absl::StrFormat("%02x", i);
    ForEachFile(root_.get(), shard.c_str(), [&](int, const char* name, const struct stat& info) {
      const absl::StatusOr<Digest> digest = Digest::FromHex(shard + name);
      if (!digest.ok()) return;
      files.push_back({*digest, OccupiedBytes(info), UsedAt(info)});
    });
  }
  return files;
}

uint64_t DiskFolder::RemoveStaleTemporaries(std::time_t oldest) {
  uint64_t remaining = 0;
  ForEachFile(root_.get(), kTemporaryFolder,
              [&](int folder, const char* name, const struct stat& info) {
                if (info.st_mtim.tv_sec < oldest && unlinkat(folder, name, 0) == 0) return;
                remaining += OccupiedBytes(info);
              });
  return remaining;
}

absl::StatusOr<FileDescriptor> DiskFolder::TryLock() {
  FileDescriptor fd(
      openat(root_.get(), kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("cannot open the lock of the cache");
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::UnavailableError("another process evicts from the cache");
  }
  return fd;
}

}  // namespace intent::cache
