#pragma once

// An executor: runs kernels, one call after another, on tensors in shared memory or in memory of
// its own. Kernels are untrusted code; a crash here is one call's error in the front process, which
// enforces time and memory.
//
// Loaded artifacts are kept, least recently used ones go first; so are mappings of arenas, until
// the front process retires them.

#include <memory>

#include "absl/status/statusor.h"
#include "server/ipc/frame_channel.h"
#include "server/worker/backend.h"

namespace intent {

// Returns when the channel closes or, having said so, when the backend is lost; the process's exit
// status. Without a backend it says why and ends.
int RunExecuteWorker(FrameChannel& channel, absl::StatusOr<std::unique_ptr<Backend>> backend);

}  // namespace intent
