#pragma once

// Quarantine: inputs that crashed the compiler several times are refused for a while, so that one
// bad module cannot keep the workers restarting. Only crashes count: limits and short deadlines say
// nothing about an input (decisions.md D.24). Bounded; thread-safe.

#include <chrono>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "cache/digest.h"

namespace intent {

class Quarantine {
 public:
  using Clock = std::chrono::steady_clock;

  // After `crashes` (0: never) an input is refused until `duration` has passed since the last.
  Quarantine(uint64_t crashes, std::chrono::milliseconds duration)
      : crashes_(crashes), duration_(duration) {}

  void RecordCrash(const cache::Digest& input, Clock::time_point now = Clock::now()) {
    std::lock_guard lock(mutex_);
    if (records_.size() >= kMaxRecords) {
      absl::erase_if(records_, [&](const auto& item) { return Expired(item.second, now); });
    }
    if (records_.size() >= kMaxRecords) records_.clear();
    Record& record = records_[input];
    if (Expired(record, now)) record.crashes = 0;
    ++record.crashes;
    record.last = now;
  }

  // How much longer the input is refused; zero when it is not.
  std::chrono::milliseconds RefusedFor(const cache::Digest& input,
                                       Clock::time_point now = Clock::now()) {
    std::lock_guard lock(mutex_);
    const auto found = records_.find(input);
    if (crashes_ == 0 || found == records_.end() || found->second.crashes < crashes_ ||
        Expired(found->second, now)) {
      return std::chrono::milliseconds(0);
    }
    return std::chrono::ceil<std::chrono::milliseconds>(found->second.last + duration_ - now);
  }

 private:
  static constexpr size_t kMaxRecords = 10'000;

  struct Record {
    uint64_t crashes = 0;
    Clock::time_point last;
  };

  bool Expired(const Record& record, Clock::time_point now) const {
    return now - record.last >= duration_;
  }

  const uint64_t crashes_;
  const std::chrono::milliseconds duration_;
  std::mutex mutex_;
  absl::flat_hash_map<cache::Digest, Record> records_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent
