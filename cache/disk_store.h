#pragma once

// DiskStore: the large tier, a folder that outlives the daemon and may be shared by several of
// them.
//
// Files and their atomicity are disk_folder.h's; this is the policy.
//
// - Every read verifies the entry's digest and preimage. A bad file is a miss, is counted, and is
//   removed so that the next Put replaces it.
// - Size: nobody keeps an index. A background thread scans the folder at start, which delays
// nothing,
//   and again whenever what we know, the last scan plus our own writes, says that the folder is
//   full or that we wrote a sixteenth of it: other daemons write too. When over max_bytes it
//   removes the entries that were used longest ago until a tenth is free. One process evicts at a
//   time, by a lock file. Between scans the folder may exceed max_bytes by a sixteenth for each
//   daemon; a Put that outruns the thread by more than a quarter evicts by itself, and is refused
//   if that does not help.
// - Use clock: an entry's modification time, set at a hit, at most once a minute for each entry.
// - Trouble: a full disk, a read-only or vanished folder make Put fail, counted, and nothing else.
//   Puts start to succeed again when the trouble ends; a vanished folder is created anew.
//
// Thread-safe. Get and Put block for file I/O, the destructor for the rest of one shard's scan.
// Create the store after the last fork: its thread does not survive one.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "cache/disk_folder.h"
#include "cache/store.h"

namespace intent::cache {

struct DiskStoreOptions {
  std::string folder;
  uint64_t max_bytes = uint64_t{4} << 30;

  // Space that the cache leaves to everybody else on the file system.
  uint64_t reserve_bytes = uint64_t{64} << 20;
};

class DiskStore final : public Store {
 public:
  // Opens or creates the folder; for what it refuses, see DiskFolder::Open.
  static absl::StatusOr<std::unique_ptr<DiskStore>> Open(const DiskStoreOptions& options);
  ~DiskStore() override;

  absl::StatusOr<Hit> Get(const Key& key) override;
  absl::Status Put(std::shared_ptr<const Entry> entry) override;
  void Touch(const Key& key) override;
  StoreStats Stats() const override;

  // What the background thread does when it is due: scans, removes stale temporary files and evicts
  // down to the bound. Blocks for all of it. When another process is evicting, only scans.
  void Maintain();

 private:
  DiskStore(DiskStoreOptions options, std::shared_ptr<DiskFolder> folder);

  std::shared_ptr<DiskFolder> Folder() const;
  absl::Status Write(const Entry& entry);
  void TouchOnceAMinute(const Digest& digest);
  absl::StatusOr<Hit> Miss(bool corrupt);
  void MaintainWithRoomFor(uint64_t size);
  uint64_t Evict(DiskFolder& folder, std::vector<DiskFolder::ScannedFile> files, uint64_t total,
                 uint64_t target);
  void RunMaintenance();

  const DiskStoreOptions options_;

  // Order: maintenance_mutex_ before mutex_. The first serialises whole scans, the second guards
  // data and is never held during I/O.
  std::mutex maintenance_mutex_;
  mutable std::mutex mutex_;
  std::shared_ptr<DiskFolder> folder_ ABSL_GUARDED_BY(mutex_);
  StoreStats stats_ ABSL_GUARDED_BY(mutex_);
  uint64_t written_since_scan_ ABSL_GUARDED_BY(mutex_) = 0;
  bool maintenance_due_ ABSL_GUARDED_BY(mutex_) = true;
  std::condition_variable wake_;
  std::atomic<bool> stop_{false};  // set under mutex_, read without

  // Who was touched when: 40 bits of digest and 24 bits of minute in each slot. A collision costs
  // one system call.
  std::array<std::atomic<uint64_t>, 4096> touched_{};

  std::thread maintenance_;
};

}  // namespace intent::cache
