#pragma once

// JobQueue: jobs that wait for a worker, bounded in number and bytes. A full queue refuses at once:
// callers learn it while they can still go elsewhere. Thread-safe.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace intent {

// Job has `bool IsCancelled() const` and `uint64_t Bytes() const`.
template <typename Job>
class JobQueue {
 public:
  JobQueue(size_t max_jobs, uint64_t max_bytes) : max_jobs_(max_jobs), max_bytes_(max_bytes) {}

  // False, and `job` is still the caller's, when there is no room or the queue is closed.
  bool Push(std::unique_ptr<Job>& job) {
    std::deque<std::unique_ptr<Job>> unwanted;  // destroyed without the lock
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      const uint64_t bytes = job->Bytes();
      if (Full(bytes)) unwanted = TakeCancelled();
      if (Full(bytes)) return false;
      bytes_ += bytes;
      jobs_.push_back(std::move(job));
    }
    ready_.notify_one();
    return true;
  }

  // Waits for a job; null once the queue is closed.
  std::unique_ptr<Job> Pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock,
                [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closed_ || !jobs_.empty(); });
    return TakeFirst();
  }

  // As Pop; null also when no job has come within `time`.
  std::unique_ptr<Job> PopWithin(std::chrono::steady_clock::duration time) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, time,
                    [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closed_ || !jobs_.empty(); });
    return TakeFirst();
  }

  // Destroys what waits.
  void Close() {
    std::deque<std::unique_ptr<Job>> unwanted;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      unwanted.swap(jobs_);
    }
    ready_.notify_all();
  }

 private:
  std::unique_ptr<Job> TakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closed_ || jobs_.empty()) return nullptr;
    std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    bytes_ -= job->Bytes();
    return job;
  }

  bool Full(uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return jobs_.size() >= max_jobs_ || bytes > max_bytes_ || bytes_ > max_bytes_ - bytes;
  }

  // Nobody waits for these; they must not keep others out.
  std::deque<std::unique_ptr<Job>> TakeCancelled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::deque<std::unique_ptr<Job>> cancelled, kept;
    for (std::unique_ptr<Job>& job : jobs_) {
      if (job->IsCancelled()) {
        bytes_ -= job->Bytes();
        cancelled.push_back(std::move(job));
      } else {
        kept.push_back(std::move(job));
      }
    }
    jobs_.swap(kept);
    return cancelled;
  }

  const size_t max_jobs_;
  const uint64_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::unique_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace intent
