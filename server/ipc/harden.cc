#include "server/ipc/harden.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace intent {

void HardenProcess() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void DieWithParent() { prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

void CloseFrom(int first, std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  for (const int fd : kept) {
    if (fd < first) continue;
    if (fd > first) syscall(SYS_close_range, first, fd - 1, 0);
    first = fd + 1;
  }
  syscall(SYS_close_range, first, ~0U, 0);
}

}  // namespace intent
