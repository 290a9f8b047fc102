#pragma once

// Kernels on this host's processor, or interpreted: tensors stay in the arena.

#include <cstdint>
#include <memory>

#include "server/worker/backend.h"

namespace intent {

// `arena_bytes`: scratch memory of each thread.
std::unique_ptr<Backend> MakeHostBackend(int threads, int64_t arena_bytes);

}  // namespace intent
