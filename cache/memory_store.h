#pragma once

// MemoryStore: the first tier, least recently used entries out first, bounded by real bytes.
//
// An entry counts with its whole buffer, capacity rather than size, and with the store's
// bookkeeping for it. Entries that were evicted while somebody still reads them are not counted any
// more.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "cache/digest.h"
#include "cache/store.h"

namespace intent::cache {

class MemoryStore final : public Store {
 public:
  // Zero bytes make a store that keeps nothing.
  explicit MemoryStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  absl::StatusOr<Hit> Get(const Key& key) override;

  // ResourceExhausted when the entry alone is larger than the store.
  absl::Status Put(std::shared_ptr<const Entry> entry) override;

  void Touch(const Key& key) override;
  StoreStats Stats() const override;

 private:
  using Recency = std::list<std::shared_ptr<const Entry>>;  // most recent first

  void Erase(Recency::iterator position, Recency& removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  Recency recency_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Digest, Recency::iterator> index_ ABSL_GUARDED_BY(mutex_);
  StoreStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent::cache
