#include "cache/alias.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace intent::cache {
namespace {

constexpr std::string_view kAliasPayload = "alias";

}  // namespace

absl::StatusOr<Hit> Lookup(Store& store, const Key& key) {
  absl::StatusOr<Hit> alias = store.Get(key);
  if (!alias.ok()) return alias;
  const std::optional<std::string_view> target = alias->entry->Find(kAliasPayload);
  if (!target.has_value()) return alias;

  absl::StatusOr<Hit> hit = store.Get(Key::FromPreimage(std::string(*target)));
  if (!hit.ok()) return hit;
  if (hit->entry->Find(kAliasPayload).has_value()) {
    return absl::NotFoundError("an alias of an alias");
  }
  hit->tier = std::max(hit->tier, alias->tier);
  return hit;
}

absl::Status PutAlias(Store& store, const Key& from, const Key& to) {
  const Payload payload{kAliasPayload, to.preimage};
  absl::StatusOr<std::shared_ptr<const Entry>> entry = Entry::Make(from, {&payload, 1});
  if (!entry.ok()) return entry.status();
  return store.Put(*std::move(entry));
}

}  // namespace intent::cache
