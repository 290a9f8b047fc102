#include "server/pool/arena_pool.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace intent {
namespace {

constexpr uint64_t kSmallest = 1 << 20;
// Above this, giving pages back is cheaper than writing zeros.
constexpr uint64_t kZeroByHand = 64 << 20;

}  // namespace

ArenaPool::Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::StatusOr<std::shared_ptr<ArenaPool::Arena>> ArenaPool::Acquire(uint64_t bytes) {
  if (bytes > state_->max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("allocations of ", bytes, " bytes exceed ", state_->max_bytes, " bytes"));
  }
  const uint64_t size = std::max(kSmallest, std::bit_ceil(bytes));
  std::unique_ptr<Arena> arena;
  std::vector<std::unique_ptr<Arena>> evicted;  // unmapped without the lock
  uint64_t id = 0;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    if (const auto found = state.idle.find(size); found != state.idle.end()) {
      arena = std::move(found->second);
      state.idle.erase(found);
      state.idle_bytes -= size;
    } else {
      // The bound is on what callers use; sizes are rounded up, pages appear when touched.
      while (state.bytes + bytes > state.max_bytes && !state.idle.empty()) {
        const auto largest = std::prev(state.idle.end());
        state.bytes -= largest->first;
        state.idle_bytes -= largest->first;
        state.ids.erase(largest->second->id());
        evicted.push_back(std::move(largest->second));
        state.idle.erase(largest);
      }
      if (state.bytes + bytes > state.max_bytes) {
        return absl::ResourceExhaustedError("the memory for tensors is in use by other calls");
      }
      state.bytes += size;
      id = state.next_id++;
      state.ids.insert(id);
    }
  }
  if (arena == nullptr) {
    absl::StatusOr<std::unique_ptr<Arena>> made = Make(id, size);
    if (!made.ok()) {
      std::lock_guard lock(state_->mutex);
      state_->bytes -= size;
      state_->ids.erase(id);
      return made.status();
    }
    arena = *std::move(made);
  }
  return std::shared_ptr<Arena>(arena.release(), [state = state_, bytes](Arena* used) {
    state->Return(std::unique_ptr<Arena>(used), bytes);
  });
}

bool ArenaPool::Exists(uint64_t id) const {
  std::lock_guard lock(state_->mutex);
  return state_->ids.contains(id);
}

absl::StatusOr<std::unique_ptr<ArenaPool::Arena>> ArenaPool::Make(uint64_t id, uint64_t size) {
  auto arena = std::make_unique<Arena>();
  arena->id_ = id;
  arena->fd_ = cache::FileDescriptor(memfd_create("intent-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!arena->fd_.valid()) return absl::ErrnoToStatus(errno, "memfd_create");
  if (ftruncate(arena->fd(), static_cast<off_t>(size)) != 0 ||
      fcntl(arena->fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return absl::ErrnoToStatus(errno, "sizing an arena");
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd(), 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "mmap of an arena");
  arena->data_ = static_cast<char*>(data);
  arena->size_ = size;
  return arena;
}

void ArenaPool::State::Return(std::unique_ptr<Arena> arena, uint64_t used) {
  // A kernel may have written anywhere in what its executor maps, when it was trusted with bounds.
  if (used <= kZeroByHand) std::memset(arena->data(), 0, used);
  const uint64_t kept = used <= kZeroByHand ? (used + 4095) / 4096 * 4096 : 0;
  bool clean = kept >= arena->size() ||
               fallocate(arena->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(kept), static_cast<off_t>(arena->size() - kept)) == 0;
  if (kept > used) std::memset(arena->data() + used, 0, std::min(kept, arena->size()) - used);

  std::lock_guard lock(mutex);
  if (clean && idle_bytes + arena->size() <= max_idle_bytes) {
    idle_bytes += arena->size();
    const uint64_t size = arena->size();
    idle.emplace(size, std::move(arena));
  } else {
    bytes -= arena->size();
    ids.erase(arena->id());
  }
}

}  // namespace intent
