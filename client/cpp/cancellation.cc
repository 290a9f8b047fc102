#include "client/cpp/cancellation.h"

#include <utility>

namespace intent::client {

void Cancellation::Cancel() {
  std::lock_guard lock(mutex_);
  if (std::exchange(cancelled_, true)) return;
  for (Registration* registration : registrations_) registration->stop_();
  changed_.notify_all();
}

bool Cancellation::IsCancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

bool Cancellation::SleepFor(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return cancelled_; });
}

Cancellation::Registration::Registration(Cancellation* cancellation, std::function<void()> stop)
    : cancellation_(cancellation), stop_(std::move(stop)) {
  if (cancellation_ == nullptr) return;
  std::lock_guard lock(cancellation_->mutex_);
  cancellation_->registrations_.insert(this);
  if (cancellation_->cancelled_) stop_();
}

Cancellation::Registration::~Registration() {
  if (cancellation_ == nullptr) return;
  std::lock_guard lock(cancellation_->mutex_);
  cancellation_->registrations_.erase(this);
}

}  // namespace intent::client
