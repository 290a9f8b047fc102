// intent-worker: the zygote of compile workers and executors. Started by intent-compiled with the
// channel as descriptor 3; of no use by hand.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "server/ipc/harden.h"
#include "server/worker/zygote.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--zygote") != 0 || fcntl(3, F_GETFD) < 0) {
    std::fprintf(stderr, "intent-worker is started by intent-compiled\n");
    return 2;
  }
  intent::CloseFrom(4);
  fcntl(3, F_SETFL, fcntl(3, F_GETFL) | O_NONBLOCK);
  // A forked worker ends here too; exit handlers are not for it.
  _exit(intent::RunZygote(intent::FileDescriptor(3)));
}
