#pragma once

// A compile worker: one task after another on one thread, on untrusted input. Its limits in time
// and memory are the front process's business; a crash here is one request's error there.

#include "server/ipc/frame_channel.h"

namespace intent {

// Returns when the channel closes; the process's exit status.
int RunCompileWorker(FrameChannel& channel);

}  // namespace intent
