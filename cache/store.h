#pragma once

// Store: a cache tier. It may be slow, full or absent; it is never wrong and never fatal.
//
// The contract, which store_contract_test.cc checks on every store:
//
// - Get returns the entry whose preimage equals the key's, or NotFound and nothing else. Damage, a
//   preimage that belongs to another key, and trouble in the environment are misses.
// - Put makes an entry available to later Gets until it is evicted, and replaces what was there for
// the
//   same key. When it cannot, it says why and leaves nothing half-written: the entry that was there
//   before is still there or gone. Callers carry on without the cache. An entry larger than the
//   whole store is ResourceExhausted and no write failure.
// - Every Get adds one to exactly one of hits_memory, hits_disk and misses.
// - All calls may come from any thread at any time. Get and Put of a disk tier block for file I/O,
//   nothing else blocks.
// - Entries are shared: eviction never takes one away from somebody who holds it.

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/entry.h"
#include "cache/key.h"

namespace intent::cache {

// Where an entry was found, fastest first.
enum class Tier { kMemory, kDisk };

struct Hit {
  std::shared_ptr<const Entry> entry;
  Tier tier = Tier::kMemory;
};

// Each counter is incremented at its event and never goes back. They count calls of Get and Put,
// not requests: a lookup through an alias (alias.h) is two Gets.
struct StoreStats {
  uint64_t hits_memory = 0;
  uint64_t hits_disk = 0;
  uint64_t misses = 0;
  uint64_t corrupt = 0;         // entries found damaged or under another key's name; misses as well
  uint64_t evictions = 0;       // entries removed to make room
  uint64_t write_failures = 0;  // Puts lost to the environment: disk full, no permission …

  uint64_t bytes_memory = 0;  // occupied now
  uint64_t bytes_disk = 0;    // as of the last scan and our own writes since

  StoreStats& operator+=(const StoreStats& other);
};

class Store {
 public:
  virtual ~Store() = default;

  virtual absl::StatusOr<Hit> Get(const Key& key) = 0;
  virtual absl::Status Put(std::shared_ptr<const Entry> entry) = 0;

  // Says that `key` was used though this store was not asked, because a tier before it had the
  // answer.
  virtual void Touch(const Key& key) = 0;

  virtual StoreStats Stats() const = 0;
};

}  // namespace intent::cache
