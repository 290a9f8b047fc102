#pragma once

// CancelSignal: says once, from any thread, that nobody waits for a piece of work any more. A
// thread that polls descriptors can wait for it. Thread-safe.

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "cache/file_descriptor.h"

namespace intent {

class CancelSignal {
 public:
  CancelSignal() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Set() {
    if (set_.exchange(true)) return;
    const uint64_t one = 1;
    (void)!write(event_.get(), &one, sizeof(one));
  }

  bool IsSet() const { return set_.load(); }

  // Readable once Set was called.
  int fd() const { return event_.get(); }

 private:
  std::atomic<bool> set_{false};
  const cache::FileDescriptor event_;
};

}  // namespace intent
