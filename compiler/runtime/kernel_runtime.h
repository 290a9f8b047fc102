#pragma once

// KernelRuntime: what a CPU artifact's entry is given to run with (intent_call.h): threads, scratch
// memory and a floating-point environment.
//
// One KernelRuntime serves one call at a time. Several may share a pool: the threads serve one
// call's loop, and the loops of the others run on their own callers (process_runtime.h). The caller
// has checked the arguments against the manifest (bind_arguments.h).

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/driver/intent_call.h"
#include "compiler/runtime/scratch_arena.h"
#include "compiler/runtime/thread_pool.h"

namespace intent {

// What becomes of scratch memory when a call has ended.
enum class ScratchBetweenCalls : uint8_t {
  kCleared,  // zero for the next caller, who may be somebody else
  kKept,     // all calls are of one user: as it is
};

class KernelRuntime {
 public:
  // `arena_bytes` bounds the scratch memory of each thread.
  KernelRuntime(std::shared_ptr<ThreadPool> pool, int64_t arena_bytes,
                ScratchBetweenCalls scratch = ScratchBetweenCalls::kCleared);
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

  const std::shared_ptr<ThreadPool> pool_;
  const ScratchBetweenCalls scratch_;
  std::vector<std::unique_ptr<ScratchArena>> arenas_;  // by thread
};

}  // namespace intent
