#include "server/artifact_index.h"

#include <utility>

namespace intent {

void ArtifactIndex::Remember(const ArtifactEntry& entry, bool hold) {
  std::lock_guard lock(mutex_);
  const cache::Digest& digest = entry->key_digest();
  const auto found = index_.find(digest);
  if (found != index_.end()) {
    recency_.splice(recency_.begin(), recency_, found->second);
  } else {
    recency_.push_front({digest, std::string(entry->preimage()), nullptr});
    index_[digest] = recency_.begin();
  }
  Item& item = recency_.front();
  if (hold && item.held == nullptr) {
    item.held = entry;
    held_.push_back(digest);
    held_bytes_ += entry->MemoryBytes();
  }
  Trim();
}

absl::StatusOr<cache::Hit> ArtifactIndex::Find(std::string_view id) {
  const absl::StatusOr<cache::Digest> digest = cache::Digest::FromBytes(id);
  if (!digest.ok()) return absl::InvalidArgumentError("an artifact id has 32 bytes");
  cache::Key key;
  ArtifactEntry held;
  {
    std::lock_guard lock(mutex_);
    const auto found = index_.find(*digest);
    if (found == index_.end()) {
      return absl::NotFoundError(
          "the daemon does not know this artifact (any more): compile again");
    }
    recency_.splice(recency_.begin(), recency_, found->second);
    held = found->second->held;
    key = {*digest, found->second->preimage};
  }
  if (held != nullptr) return cache::Hit{std::move(held), cache::Tier::kMemory};
  absl::StatusOr<cache::Hit> hit = store_.Get(key);
  if (!hit.ok()) return absl::NotFoundError("the artifact has been evicted: compile again");
  return hit;
}

void ArtifactIndex::Trim() {
  while (held_.size() > kMaxHeld || (held_bytes_ > kMaxHeldBytes && held_.size() > 1)) {
    const auto oldest = index_.find(held_.front());
    held_.pop_front();
    if (oldest == index_.end()) continue;
    held_bytes_ -= oldest->second->held->MemoryBytes();
    oldest->second->held = nullptr;
  }
  while (recency_.size() > kMaxKeys) {
    if (recency_.back().held != nullptr) {
      held_bytes_ -= recency_.back().held->MemoryBytes();
      held_.remove(recency_.back().digest);
    }
    index_.erase(recency_.back().digest);
    recency_.pop_back();
  }
}

}  // namespace intent
