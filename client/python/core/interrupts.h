#pragma once

// Ctrl-C while a kernel runs in the interpreter's main thread: the kernel's cancel flag is set at
// once, and Python's own handler runs as ever, when the interpreter is reached again.

#include <cstdint>

namespace intent::python {

// Watches SIGINT as long as it lives. Does nothing in other threads, which Python's handlers do not
// interrupt either, and where the signal is ignored or ends the process.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Nonzero after a SIGINT.
  const volatile int32_t* flag() const { return &flag_; }

 private:
  volatile int32_t flag_ = 0;
  bool watching_ = false;
};

}  // namespace intent::python
