#pragma once

// A compile worker: one task after another on one thread, on untrusted input. Its limits in time
// and memory are the front process's business; a crash here is one request's error there.

#include "compiler/cuda/nvrtc.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/ipc/frame_channel.h"

namespace intent {

// Says `hello`, then serves tasks. With `nvrtc`, it compiles for CUDA and reads the device library
// ahead after its first task for an architecture. Returns when the channel closes; the process's
// exit status.
int RunCompileWorker(FrameChannel& channel, const worker::v1::FromWorker& hello,
                     cuda::Nvrtc* nvrtc = nullptr);

}  // namespace intent
