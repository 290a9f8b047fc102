#include "cache/disk_store.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace intent::cache {
namespace {

// No write takes this long; a writer stopped for longer loses its entry and nothing else.
constexpr std::time_t kStaleTemporarySeconds = 600;

// What a file of this size will occupy on nearly every file system.
uint64_t OccupiedBytes(uint64_t size) {
  constexpr uint64_t kBlock = 4096;
  return (size + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskStore>> DiskStore::Open(const DiskStoreOptions& given) {
  DiskStoreOptions options = given;
  std::error_code error;
  // A vanished folder is opened again by name, wherever the process stands by then.
  if (!options.folder.empty()) {
    const std::filesystem::path path = std::filesystem::absolute(options.folder, error);
    if (error) return absl::UnavailableError("the current folder is gone");
    options.folder = path.string();
  }
  absl::StatusOr<std::shared_ptr<DiskFolder>> folder = DiskFolder::Open(options.folder);
  if (!folder.ok()) return folder.status();
  return std::unique_ptr<DiskStore>(new DiskStore(std::move(options), *std::move(folder)));
}

DiskStore::DiskStore(DiskStoreOptions options, std::shared_ptr<DiskFolder> folder)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      maintenance_([this] { RunMaintenance(); }) {}

DiskStore::~DiskStore() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  maintenance_.join();
}

std::shared_ptr<DiskFolder> DiskStore::Folder() const {
  std::lock_guard lock(mutex_);
  return folder_;
}

absl::StatusOr<Hit> DiskStore::Miss(bool corrupt) {
  std::lock_guard lock(mutex_);
  ++stats_.misses;
  if (corrupt) ++stats_.corrupt;
  return absl::NotFoundError(corrupt ? "a damaged entry on disk" : "not on disk");
}

absl::StatusOr<Hit> DiskStore::Get(const Key& key) {
  const std::shared_ptr<DiskFolder> folder = Folder();
  absl::StatusOr<DiskFolder::File> file = folder->Read(key.digest);
  if (!file.ok()) return Miss(/*corrupt=*/absl::IsDataLoss(file.status()));

  absl::StatusOr<std::shared_ptr<const Entry>> entry = Entry::Decode(std::move(file->bytes));
  if (!entry.ok() || !(*entry)->IsFor(key)) {
    folder->RemoveIfSame(key.digest, file->inode);
    return Miss(/*corrupt=*/true);
  }
  TouchOnceAMinute(key.digest);
  std::lock_guard lock(mutex_);
  ++stats_.hits_disk;
  return Hit{*std::move(entry), Tier::kDisk};
}

absl::Status DiskStore::Put(std::shared_ptr<const Entry> entry) {
  const uint64_t size = OccupiedBytes(entry->bytes().size());
  if (size > options_.max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an entry of ", size, " bytes in a disk cache of ", options_.max_bytes));
  }
  const uint64_t refused_above = options_.max_bytes + options_.max_bytes / 4;
  if (Stats().bytes_disk + size > refused_above) MaintainWithRoomFor(size);

  absl::Status status = Stats().bytes_disk + size > refused_above
                            ? absl::ResourceExhaustedError("the disk cache is over its bound")
                            : Write(*entry);
  std::lock_guard lock(mutex_);
  if (!status.ok()) {
    ++stats_.write_failures;
    return status;
  }
  stats_.bytes_disk += size;
  written_since_scan_ += size;
  if (stats_.bytes_disk > options_.max_bytes || written_since_scan_ > options_.max_bytes / 16) {
    maintenance_due_ = true;
    wake_.notify_all();
  }
  return absl::OkStatus();
}

absl::Status DiskStore::Write(const Entry& entry) {
  absl::Status status = Folder()->Write(entry.key_digest(), entry.bytes(), options_.reserve_bytes);
  if (!absl::IsNotFound(status)) return status;

  absl::StatusOr<std::shared_ptr<DiskFolder>> folder = DiskFolder::Open(options_.folder);
  if (!folder.ok()) return folder.status();
  {
    std::lock_guard lock(mutex_);
    folder_ = *folder;
  }
  return (*folder)->Write(entry.key_digest(), entry.bytes(), options_.reserve_bytes);
}

void DiskStore::Touch(const Key& key) { TouchOnceAMinute(key.digest); }

void DiskStore::TouchOnceAMinute(const Digest& digest) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const uint64_t minute = std::chrono::duration_cast<std::chrono::minutes>(now).count();
  const uint64_t prefix = digest.Prefix();
  const uint64_t mark = (prefix & ~uint64_t{0xFFFFFF}) | (minute & 0xFFFFFF);
  std::atomic<uint64_t>& slot = touched_[prefix % touched_.size()];
  if (slot.exchange(mark, std::memory_order_relaxed) != mark) Folder()->Touch(digest);
}

StoreStats DiskStore::Stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void DiskStore::Maintain() { MaintainWithRoomFor(0); }

void DiskStore::MaintainWithRoomFor(uint64_t size) {
  std::lock_guard one_scan_at_a_time(maintenance_mutex_);
  const std::shared_ptr<DiskFolder> folder = Folder();
  {
    std::lock_guard lock(mutex_);
    maintenance_due_ = false;
    written_since_scan_ = 0;
  }
  const absl::StatusOr<FileDescriptor> eviction_lock = folder->TryLock();
  std::vector<DiskFolder::ScannedFile> files = folder->Scan(stop_);
  uint64_t total = 0;
  for (const DiskFolder::ScannedFile& file : files) total += file.bytes;
  if (eviction_lock.ok()) {
    total += folder->RemoveStaleTemporaries(std::time(nullptr) - kStaleTemporarySeconds);
    if (total + size > options_.max_bytes) {
      const uint64_t room = std::max(size, options_.max_bytes / 10);
      total = Evict(*folder, std::move(files), total, options_.max_bytes - room);
    }
  }
  std::lock_guard lock(mutex_);
  // What was written during the scan may be in both terms: until the next scan that errs to the
  // safe side.
  if (!stop_) stats_.bytes_disk = total + written_since_scan_;
}

// Returns what remains of `total`.
uint64_t DiskStore::Evict(DiskFolder& folder, std::vector<DiskFolder::ScannedFile> files,
                          uint64_t total, uint64_t target) {
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.used_at, a.digest) < std::tie(b.used_at, b.digest);
  });
  uint64_t evicted = 0;
  for (const DiskFolder::ScannedFile& file : files) {
    if (total <= target || stop_) break;
    const DiskFolder::Eviction outcome = folder.Evict(file);
    if (outcome == DiskFolder::Eviction::kKept) continue;
    if (outcome == DiskFolder::Eviction::kEvicted) ++evicted;
    total -= file.bytes;
  }
  std::lock_guard lock(mutex_);
  stats_.evictions += evicted;
  return total;
}

void DiskStore::RunMaintenance() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || maintenance_due_; });
      if (stop_) return;
    }
    Maintain();
  }
}

}  // namespace intent::cache
