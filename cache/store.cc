#include "cache/store.h"

namespace intent::cache {

StoreStats& StoreStats::operator+=(const StoreStats& other) {
  hits_memory += other.hits_memory;
  hits_disk += other.hits_disk;
  misses += other.misses;
  corrupt += other.corrupt;
  evictions += other.evictions;
  write_failures += other.write_failures;
  bytes_memory += other.bytes_memory;
  bytes_disk += other.bytes_disk;
  return *this;
}

}  // namespace intent::cache
