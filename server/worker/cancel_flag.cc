#include "server/worker/cancel_flag.h"

#include <signal.h>

namespace intent {
namespace {

CancelFlag flag;

void OnSignal(int) {
  flag.requested.store(true, std::memory_order_relaxed);
  flag.requested_word = 1;
}

}  // namespace

CancelFlag& TaskCancelFlag() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    return sigaction(SIGUSR1, &action, nullptr) == 0;
  }();
  (void)installed;
  return flag;
}

}  // namespace intent
