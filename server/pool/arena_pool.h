#pragma once

// ArenaPool: shared memory that holds the tensors of calls, for the front process to fill and an
// executor to work on.
//
// An arena is a memfd of fixed, sealed size, mapped here; nobody can shrink it under us. Arenas are
// kept and used again, because new mappings cost page faults, and everything that a call used is
// zeroed before the next caller gets it. What all arenas occupy is bounded. Thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "cache/file_descriptor.h"

namespace intent {

class ArenaPool {
 public:
  class Arena {
   public:
    ~Arena();
    uint64_t id() const { return id_; }
    char* data() const { return data_; }
    uint64_t size() const { return size_; }
    int fd() const { return fd_.get(); }

   private:
    friend class ArenaPool;
    uint64_t id_ = 0;
    char* data_ = nullptr;
    uint64_t size_ = 0;
    cache::FileDescriptor fd_;
  };

  // `max_bytes` bounds the arenas in use together, `idle_bytes` those that are kept.
  ArenaPool(uint64_t max_bytes, uint64_t idle_bytes)
      : state_(std::make_shared<State>(max_bytes, idle_bytes)) {}

  // An arena of at least `bytes` zero bytes; it returns to the pool, zeroed, when the last copy of
  // the pointer goes, which may be after the pool. ResourceExhausted when the pool has no room now,
  // InvalidArgument when it never has.
  absl::StatusOr<std::shared_ptr<Arena>> Acquire(uint64_t bytes);

  // Whether executors may still be given this arena.
  bool Exists(uint64_t id) const;

 private:
  struct State {
    State(uint64_t max, uint64_t idle) : max_bytes(max), max_idle_bytes(idle) {}
    void Return(std::unique_ptr<Arena> arena, uint64_t used);

    const uint64_t max_bytes;
    const uint64_t max_idle_bytes;
    mutable std::mutex mutex;
    std::multimap<uint64_t, std::unique_ptr<Arena>> idle ABSL_GUARDED_BY(mutex);  // by size
    std::set<uint64_t> ids ABSL_GUARDED_BY(mutex);
    uint64_t bytes ABSL_GUARDED_BY(mutex) = 0;  // of all arenas
    uint64_t idle_bytes ABSL_GUARDED_BY(mutex) = 0;
    uint64_t next_id ABSL_GUARDED_BY(mutex) = 1;
  };

  static absl::StatusOr<std::unique_ptr<Arena>> Make(uint64_t id, uint64_t size);

  const std::shared_ptr<State> state_;
};

}  // namespace intent
