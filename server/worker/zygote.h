#pragma once

// The zygote: a small warm process that has seen no input and forks workers on request.
//
// It says hello on its channel, then answers ZygoteRequests and reports every child that ends. It
// stays single-threaded, so that fork is safe, and never reads what its children read. One that
// serves CUDA has NVRTC loaded; before its first worker for an architecture it compiles a kernel of
// our own for it and reads the device library ahead, which its children inherit (docs/cuda.md).
// When the front process goes, it kills its children and returns.

#include <string>

#include "server/ipc/frame_channel.h"

namespace intent {

// What a zygote's workers compile for.
struct ZygoteOptions {
  bool cuda = false;       // CUDA by NVRTC, and nothing else; otherwise the rest
  std::string nvrtc_path;  // of the library or its folder; empty: the machine's
};

// Returns the exit status of the process: of the zygote, or, in a forked child, of the worker.
int RunZygote(FileDescriptor front, const ZygoteOptions& options);

}  // namespace intent
