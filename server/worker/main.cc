// intent-worker: the zygote of compile workers and executors. Started by intent-compiled with the
// channel as descriptor 3; of no use by hand.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "server/ipc/harden.h"
#include "server/worker/zygote.h"

int main(int argc, char** argv) {
  // The path of an NVRTC may follow the second flag.
  const std::string_view flag = argc > 1 ? argv[1] : "";
  const bool cuda = flag == "--cuda-zygote";
  if ((flag != "--zygote" && !cuda) || argc > (cuda ? 3 : 2) || fcntl(3, F_GETFD) < 0) {
    std::fprintf(stderr, "intent-worker is started by intent-compiled\n");
    return 2;
  }
  intent::CloseFrom(4);
  fcntl(3, F_SETFL, fcntl(3, F_GETFL) | O_NONBLOCK);
  // A forked worker ends here too; exit handlers are not for it.
  _exit(intent::RunZygote(intent::FileDescriptor(3), {cuda, argc > 2 ? argv[2] : ""}));
}
