#include "cache/tiered_store.h"

namespace intent::cache {

absl::StatusOr<Hit> TieredStore::Get(const Key& key) {
  if (absl::StatusOr<Hit> hit = fast_->Get(key); hit.ok()) {
    large_->Touch(key);
    return hit;
  }
  absl::StatusOr<Hit> hit = large_->Get(key);
  // An entry too large for the fast tier is served from the large one every time.
  if (hit.ok()) fast_->Put(hit->entry).IgnoreError();
  return hit;
}

absl::Status TieredStore::Put(std::shared_ptr<const Entry> entry) {
  const absl::Status fast = fast_->Put(entry);
  const absl::Status large = large_->Put(std::move(entry));
  return fast.ok() ? absl::OkStatus() : large;
}

void TieredStore::Touch(const Key& key) {
  fast_->Touch(key);
  large_->Touch(key);
}

StoreStats TieredStore::Stats() const {
  const StoreStats large = large_->Stats();
  StoreStats sum = fast_->Stats();
  sum.misses = 0;  // every miss of the fast tier went on to the large one
  return sum += large;
}

}  // namespace intent::cache
