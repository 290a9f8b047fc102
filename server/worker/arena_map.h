#pragma once

// ArenaMap: an executor's mappings of the front process's arenas (shared memory that holds the
// tensors of calls). Mappings stay until retired, because new ones cost page faults. One thread.

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/file_descriptor.h"

namespace intent {

class ArenaMap {
 public:
  ArenaMap() = default;
  ~ArenaMap();
  ArenaMap(const ArenaMap&) = delete;
  ArenaMap& operator=(const ArenaMap&) = delete;

  // Maps `size` bytes of the arena's descriptor.
  absl::Status Attach(uint64_t id, uint64_t size, cache::FileDescriptor descriptor);

  struct Arena {
    char* data = nullptr;
    uint64_t size = 0;
  };
  absl::StatusOr<Arena> Find(uint64_t id) const;

  void Retire(uint64_t id);

 private:
  std::map<uint64_t, Arena> arenas_;
};

}  // namespace intent
