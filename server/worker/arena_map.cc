#include "server/worker/arena_map.h"

#include <sys/mman.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace intent {

ArenaMap::~ArenaMap() {
  for (const auto& [id, arena] : arenas_) munmap(arena.data, arena.size);
}

absl::Status ArenaMap::Attach(uint64_t id, uint64_t size, cache::FileDescriptor descriptor) {
  Retire(id);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "mmap of an arena");
  arenas_[id] = {static_cast<char*>(data), size};
  return absl::OkStatus();
}

absl::StatusOr<ArenaMap::Arena> ArenaMap::Find(uint64_t id) const {
  const auto found = arenas_.find(id);
  if (found == arenas_.end()) return absl::InternalError(absl::StrCat("no arena ", id));
  return found->second;
}

void ArenaMap::Retire(uint64_t id) {
  const auto found = arenas_.find(id);
  if (found == arenas_.end()) return;
  munmap(found->second.data, found->second.size);
  arenas_.erase(found);
}

}  // namespace intent
