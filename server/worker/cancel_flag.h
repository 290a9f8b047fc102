#pragma once

// Cancellation of the task that this process works on: the front process sends SIGUSR1.
//
// The front process signals only while it waits for an answer, and sends the next task only after
// it, so a signal never reaches the wrong task.

#include <atomic>
#include <cstdint>

namespace intent {

struct CancelFlag {
  std::atomic<bool> requested{false};
  volatile int32_t requested_word = 0;  // the same for intent_call::cancel

  void Reset() {
    requested = false;
    requested_word = 0;
  }
};

// Installs the handler at the first call.
CancelFlag& TaskCancelFlag();

}  // namespace intent
