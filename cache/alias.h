#pragma once

// Aliases: entries that say "the answer is under that other key".
//
// A request key is cheap to compute but differs between equivalent requests; their common canonical
// key costs a worker's time. An alias entry under the request key holds the preimage of the
// canonical key, so that the next equal request finds the artifact without a worker and the
// artifact is kept once.
//
// An alias is followed once: an alias of an alias, and an alias whose target has been evicted, are
// misses. Callable from any thread; blocks as the store does.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/key.h"
#include "cache/store.h"

namespace intent::cache {

// The entry of `key`, or the one its alias points to. The tier is the slower of the two.
absl::StatusOr<Hit> Lookup(Store& store, const Key& key);

// Makes Lookup of `from` find the entry of `to`. Put the entry of `to` first.
absl::Status PutAlias(Store& store, const Key& from, const Key& to);

}  // namespace intent::cache
