#pragma once

// TieredStore: a fast store before a large one.
//
// Get asks the fast tier, then the large one, and copies what it finds there into the fast tier.
// Put writes both and is kept when either keeps it. A hit in the fast tier still counts as a use in
// the large one, or entries in constant use would be the first to leave it.

#include <memory>

#include "cache/store.h"

namespace intent::cache {

class TieredStore final : public Store {
 public:
  TieredStore(std::unique_ptr<Store> fast, std::unique_ptr<Store> large)
      : fast_(std::move(fast)), large_(std::move(large)) {}

  absl::StatusOr<Hit> Get(const Key& key) override;
  absl::Status Put(std::shared_ptr<const Entry> entry) override;
  void Touch(const Key& key) override;

  // Sums of both tiers; a miss is what missed in both.
  StoreStats Stats() const override;

 private:
  const std::unique_ptr<Store> fast_;
  const std::unique_ptr<Store> large_;
};

}  // namespace intent::cache
