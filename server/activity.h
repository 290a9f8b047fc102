#pragma once

// Activity: how many calls are in progress and when the last one was, for the exit of an idle
// daemon. Thread-safe.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace intent {

class Activity {
 public:
  using Clock = std::chrono::steady_clock;

  void Begin() { ++active_; }
  void End() {
    last_ = Clock::now().time_since_epoch().count();
    --active_;
  }

  // Since the last call ended; zero while one is in progress.
  Clock::duration IdleFor() const {
    if (active_ > 0) return Clock::duration::zero();
    return Clock::now().time_since_epoch() - Clock::duration(last_.load());
  }

 private:
  std::atomic<int64_t> active_{0};
  std::atomic<int64_t> last_{Clock::now().time_since_epoch().count()};
};

}  // namespace intent
