#pragma once

// ArtifactIndex: finds artifacts by id for GetPayload and Execute.
//
// Stores answer for whole keys; an id is only a key's digest. The index remembers the keys of
// artifacts that this daemon has answered with, the most recent ones, and holds on to those that no
// store has taken (a bypassed cache, a full disk). An id that it has forgotten is NOT_FOUND to the
// caller, who compiles again. Thread-safe.

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "cache/digest.h"
#include "cache/store.h"
#include "server/artifact.h"

namespace intent {

class ArtifactIndex {
 public:
  static constexpr size_t kMaxKeys = 65'536;
  static constexpr size_t kMaxHeld = 64;
  static constexpr uint64_t kMaxHeldBytes = 64 << 20;

  explicit ArtifactIndex(cache::Store& store) : store_(store) {}

  // Remembers an artifact that went out. `hold`: no store has it.
  void Remember(const ArtifactEntry& entry, bool hold);

  // NotFound when forgotten or evicted, InvalidArgument when `id` is none.
  absl::StatusOr<cache::Hit> Find(std::string_view id);

 private:
  struct Item {
    cache::Digest digest;
    std::string preimage;
    ArtifactEntry held;
  };
  using Recency = std::list<Item>;  // most recent first

  void Trim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  cache::Store& store_;
  std::mutex mutex_;
  Recency recency_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<cache::Digest, Recency::iterator> index_ ABSL_GUARDED_BY(mutex_);
  std::list<cache::Digest> held_ ABSL_GUARDED_BY(mutex_);  // oldest first
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace intent
