#pragma once

// Cancellation: ends calls of a client from another thread. Thread-safe; it must outlive the calls
// that it is given to, and once cancelled it stays so.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>

#include "absl/base/thread_annotations.h"

namespace intent::client {

class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void Cancel();
  bool IsCancelled() const;

  // False when it was cancelled before the time was over.
  bool SleepFor(std::chrono::milliseconds time);

  // While it lives, Cancel calls `stop`; at once if that has happened before. `stop` is quick,
  // thread-safe and does not touch the Cancellation. A null Cancellation is never cancelled.
  class Registration {
   public:
    Registration(Cancellation* cancellation, std::function<void()> stop);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    friend class Cancellation;
    Cancellation* const cancellation_;
    const std::function<void()> stop_;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Registration*> registrations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent::client
