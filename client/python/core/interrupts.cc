#include "client/python/core/interrupts.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace intent::python {
namespace {

// Only the main thread watches, one kernel at a time.
std::atomic<volatile int32_t*> watched{nullptr};
struct sigaction previous;

void OnInterrupt(int number, siginfo_t* info, void* context) {
  if (volatile int32_t* const flag = watched.load(std::memory_order_relaxed)) *flag = 1;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, info, context);
  } else {
    previous.sa_handler(number);
  }
}

enum class IsMain : uint8_t { kUnknown, kYes, kNo };
thread_local IsMain is_main = IsMain::kUnknown;

// In the child of a fork: the thread that forked is the main one, and a kernel that the parent's
// main thread was running is not here.
void AfterFork() {
  is_main = IsMain::kUnknown;
  if (watched.exchange(nullptr) != nullptr) sigaction(SIGINT, &previous, nullptr);
}

bool OnMainThread() {
  if (is_main == IsMain::kUnknown) {
    static const int kHandlerResult = pthread_atfork(nullptr, nullptr, AfterFork);
    (void)kHandlerResult;
    is_main = gettid() == getpid() ? IsMain::kYes : IsMain::kNo;
  }
  return is_main == IsMain::kYes;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  if (!OnMainThread() || watched.load(std::memory_order_relaxed) != nullptr) return;
  struct sigaction ours = {};
  ours.sa_sigaction = OnInterrupt;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  struct sigaction known;
  if (sigaction(SIGINT, nullptr, &known) != 0) return;
  if (known.sa_handler == SIG_IGN || known.sa_handler == SIG_DFL) return;
  previous = known;
  watched.store(&flag_, std::memory_order_relaxed);
  watching_ = sigaction(SIGINT, &ours, nullptr) == 0;
  if (!watching_) watched.store(nullptr, std::memory_order_relaxed);
}

InterruptWatch::~InterruptWatch() {
  if (!watching_) return;
  sigaction(SIGINT, &previous, nullptr);
  watched.store(nullptr, std::memory_order_relaxed);
}

}  // namespace intent::python
