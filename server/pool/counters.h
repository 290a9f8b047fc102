#pragma once

// Every counter of the daemon (admin.proto, Statistics), each incremented at its event.
// Thread-safe.

#include <atomic>
#include <cstdint>

namespace intent {

using Counter = std::atomic<uint64_t>;

struct Counters {
  Counter requests{0}, hits_memory{0}, hits_disk{0}, hits_remote{0}, misses{0}, compiles{0},
      bypasses{0}, errors{0}, in_flight{0};
  Counter diagnosed{0}, joined{0}, canonical_hits{0};
  Counter executions{0}, execution_errors{0}, run_errors{0}, lookups{0}, lookup_hits{0};
  Counter quarantined{0}, rejected{0};
  Counter cuda_reruns{0}, sessions{0};

  // Of one kind of process.
  struct Processes {
    Counter starts{0}, crashes{0}, timeouts{0}, memory_kills{0}, recycles{0};
  };
  Processes workers, executors, cuda_executors;
};

}  // namespace intent
