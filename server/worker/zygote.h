#pragma once

// The zygote: a small warm process that has seen no input and forks workers on request.
//
// It says hello on its channel, then answers ZygoteRequests and reports every child that ends. It
// stays single-threaded, so that fork is safe, and never reads what its children read. When the
// front process goes, it kills its children and returns.

#include "server/ipc/frame_channel.h"

namespace intent {

// Returns the exit status of the process: of the zygote, or, in a forked child, of the worker.
int RunZygote(FileDescriptor front);

}  // namespace intent
