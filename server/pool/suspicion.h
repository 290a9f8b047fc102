#pragma once

// Suspicion: artifacts that have cost a device's executor its life. They run apart from others
// until they have done well for a while, so that whoever loops a faulting kernel delays nobody but
// those who run the same one. Nothing is refused: a fault may be the doing of one caller's data.
// Bounded; thread-safe.

#include <chrono>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "cache/digest.h"

namespace intent {

class Suspicion {
 public:
  using Clock = std::chrono::steady_clock;
  // So many calls in a row must do well, or so much time pass, to be trusted again.
  static constexpr int kGoodCalls = 16;
  static constexpr std::chrono::minutes kMemory{10};
  static constexpr size_t kMaxRecords = 10'000;

  void RecordFault(const cache::Digest& artifact, Clock::time_point now = Clock::now()) {
    std::lock_guard lock(mutex_);
    if (records_.size() >= kMaxRecords) {
      absl::erase_if(records_, [&](const auto& item) { return now - item.second.last >= kMemory; });
    }
    if (records_.size() >= kMaxRecords) records_.clear();
    records_[artifact] = {now, 0};
  }

  void RecordSuccess(const cache::Digest& artifact) {
    std::lock_guard lock(mutex_);
    const auto found = records_.find(artifact);
    if (found != records_.end() && ++found->second.good_calls >= kGoodCalls) records_.erase(found);
  }

  bool Suspects(const cache::Digest& artifact, Clock::time_point now = Clock::now()) const {
    std::lock_guard lock(mutex_);
    const auto found = records_.find(artifact);
    return found != records_.end() && now - found->second.last < kMemory;
  }

 private:
  struct Record {
    Clock::time_point last;
    int good_calls = 0;
  };

  mutable std::mutex mutex_;
  absl::flat_hash_map<cache::Digest, Record> records_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent
