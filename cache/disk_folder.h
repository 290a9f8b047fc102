#pragma once

// DiskFolder: the files of one disk cache, and the only code that touches them.
//
//   <folder>/            ours, no symbolic link, mode 0700 unless it was there before
//     ab/cdef…           an entry (entry.h): the key's digest in hexadecimal, split after two
//     digits tmp/…              entries being written; leftovers of killed writers until they are
//     stale lock               held with flock by whoever evicts
//
// Publication: a complete file is written under tmp/ and renamed to its place, so any other
// process, and this one after a kill at any instant, sees an old entry, a new entry or none. There
// is no fsync: after a power failure a file may hold anything, and its own digest says so. Files
// outside this scheme are neither counted nor removed.
//
// All paths are relative to a descriptor that was checked once, so nobody can swap the folder under
// us. A DiskFolder may be used from any thread; every call blocks for file I/O.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/digest.h"
#include "cache/file_descriptor.h"

namespace intent::cache {

class DiskFolder {
 public:
  struct File {
    std::string bytes;
    ino_t inode = 0;
  };

  struct ScannedFile {
    Digest digest;
    uint64_t bytes = 0;   // allocated, or the size where that is larger
    int64_t used_at = 0;  // modification time in nanoseconds of the Unix epoch
  };

  // Opens the folder at `path`, creating it and missing parents with mode 0700. FailedPrecondition
  // for a symbolic link, a file, or a folder that others may write to (they may have planted
  // entries); PermissionDenied for a folder of another user. The mode of an existing folder is left
  // alone, it may be somebody's home; what we create inside is closed to others in any case.
  static absl::StatusOr<std::shared_ptr<DiskFolder>> Open(const std::string& path);

  // The whole file. NotFound when there is none, DataLoss when what is there cannot be an entry or
  // cannot be read back, Unavailable when the environment is short of something.
  absl::StatusOr<File> Read(const Digest& digest) const;

  // Publishes `bytes`. ResourceExhausted when less than `reserve_bytes` would stay free on the file
  // system; NotFound when the folder itself is gone. Leaves no temporary file behind.
  absl::Status Write(const Digest& digest, std::string_view bytes, uint64_t reserve_bytes);

  // Removes the entry if it still is the file with this inode: another process may have replaced a
  // bad file by a good one.
  void RemoveIfSame(const Digest& digest, ino_t inode);

  enum class Eviction { kEvicted, kAlreadyGone, kKept };

  // Removes a scanned entry; keeps it when it was used or replaced since the scan, or cannot be
  // removed.
  Eviction Evict(const ScannedFile& scanned);

  // Sets the entry's modification time, the use clock of eviction, to now.
  void Touch(const Digest& digest);

  // Every entry, in no order; ends early, incomplete, once `stop` is set.
  std::vector<ScannedFile> Scan(const std::atomic<bool>& stop) const;

  // Removes temporary files last written before `oldest`; returns the bytes of those that remain.
  uint64_t RemoveStaleTemporaries(std::time_t oldest);

  // The lock file, locked until the descriptor is closed; Unavailable when another process holds
  // it.
  absl::StatusOr<FileDescriptor> TryLock();

 private:
  explicit DiskFolder(FileDescriptor root, uint64_t nonce)
      : root_(std::move(root)), nonce_(nonce) {}

  absl::StatusOr<FileDescriptor> CreateTemporary(const std::string& name);
  absl::Status Publish(const std::string& name, const Digest& digest);

  const FileDescriptor root_;
  const uint64_t nonce_;  // tells our temporary files from everybody else's
  std::atomic<uint64_t> next_temporary_{0};
};

}  // namespace intent::cache
