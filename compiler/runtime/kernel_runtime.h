#pragma once

// KernelRuntime: what a CPU artifact's entry is given to run with (intent_call.h): threads, scratch
// memory and a floating-point environment.
//
// One KernelRuntime serves one call at a time; executors and clients keep one. Between calls all
// scratch memory is cleared. The caller has checked the arguments against the manifest
// (bind_arguments.h).

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/driver/intent_call.h"
#include "compiler/runtime/scratch_arena.h"
#include "compiler/runtime/thread_pool.h"

namespace intent {

class KernelRuntime {
 public:
  // `arena_bytes` bounds the scratch memory of each thread.
  KernelRuntime(int threads, int64_t arena_bytes);

  struct Call {
    const intent_view* views = nullptr;
    const uint64_t* scalars = nullptr;
    const volatile int32_t* cancel = nullptr;
    int max_threads = 0;  // 0: all
  };

  // Runs the kernel on this thread and the pool's. Saves, sets and restores the floating-point
  // control state, for the host may have any. `error` is filled when the result is nonzero.
  int32_t Run(intent_entry entry, const Call& call, intent_error* error);

 private:
  struct Table;

  static int32_t ParallelFor(const intent_call* call, intent_task task, void* context,
                             int64_t begin, int64_t end, int64_t grain);
  static void* ArenaAllocate(void* arena, int64_t bytes);
  static int64_t ArenaMark(void* arena);
  static void ArenaRelease(void* arena, int64_t mark);
  static void* ThreadArena(const intent_call* call);

  ThreadPool pool_;
  std::vector<std::unique_ptr<ScratchArena>> arenas_;  // by thread
};

}  // namespace intent
