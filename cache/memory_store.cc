#include "cache/memory_store.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace intent::cache {
namespace {

// A list node and a hash slot at the table's usual load, rounded up to what the allocator hands
// out.
constexpr uint64_t kBookkeepingBytes = 160;

uint64_t Charge(const Entry& entry) { return entry.MemoryBytes() + kBookkeepingBytes; }

}  // namespace

absl::StatusOr<Hit> MemoryStore::Get(const Key& key) {
  Recency removed;
  std::lock_guard lock(mutex_);
  const auto found = index_.find(key.digest);
  if (found == index_.end()) {
    ++stats_.misses;
    return absl::NotFoundError("not in memory");
  }
  if (!(*found->second)->IsFor(key)) {
    ++stats_.misses;
    ++stats_.corrupt;
    Erase(found->second, removed);
    return absl::NotFoundError("another key's entry");
  }
  recency_.splice(recency_.begin(), recency_, found->second);
  ++stats_.hits_memory;
  return Hit{*found->second, Tier::kMemory};
}

absl::Status MemoryStore::Put(std::shared_ptr<const Entry> entry) {
  Recency removed;  // destroyed after the lock is released: freeing large buffers takes time
  const Digest digest = entry->key_digest();
  const uint64_t charge = Charge(*entry);
  std::lock_guard lock(mutex_);
  if (const auto found = index_.find(digest); found != index_.end()) Erase(found->second, removed);
  if (charge > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an entry of ", charge, " bytes in a memory cache of ", max_bytes_));
  }
  while (stats_.bytes_memory + charge > max_bytes_) {
    Erase(std::prev(recency_.end()), removed);
    ++stats_.evictions;
  }
  recency_.push_front(std::move(entry));
  index_[digest] = recency_.begin();
  stats_.bytes_memory += charge;
  return absl::OkStatus();
}

void MemoryStore::Touch(const Key& key) {
  std::lock_guard lock(mutex_);
  const auto found = index_.find(key.digest);
  if (found != index_.end()) recency_.splice(recency_.begin(), recency_, found->second);
}

StoreStats MemoryStore::Stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void MemoryStore::Erase(Recency::iterator position, Recency& removed) {
  stats_.bytes_memory -= Charge(**position);
  index_.erase((*position)->key_digest());
  removed.splice(removed.begin(), recency_, position);
}

}  // namespace intent::cache
