#pragma once

// A CPU executor: runs kernels, one call after another, on tensors in shared memory. Kernels are
// untrusted code; a crash here is one call's error in the front process, which enforces time and
// memory.
//
// Loaded artifacts are kept, least recently used ones go first; so are mappings of arenas, until
// the front process retires them.

#include <cstdint>

#include "server/ipc/frame_channel.h"

namespace intent {

struct ExecuteWorkerOptions {
  int threads = 1;
  int64_t arena_bytes = 0;  // scratch memory of each thread
};

// Returns when the channel closes; the process's exit status.
int RunExecuteWorker(FrameChannel& channel, const ExecuteWorkerOptions& options);

}  // namespace intent
