#include "compiler/runtime/kernel_runtime.h"

#include <utility>

#include "compiler/runtime/float_environment.h"

namespace intent {
namespace {

// A null arena means the calling thread's own; this is it, while a call runs.
thread_local ScratchArena* thread_arena = nullptr;

ScratchArena& ArenaOf(void* arena) {
  return arena != nullptr ? *static_cast<ScratchArena*>(arena) : *thread_arena;
}

}  // namespace

// What the entry sees as an intent_runtime is the head of this.
struct KernelRuntime::Table {
  intent_runtime api;
  KernelRuntime* runtime;
  int max_threads;
};

KernelRuntime::KernelRuntime(int threads, int64_t arena_bytes)
    : KernelRuntime(std::make_shared<ThreadPool>(threads), arena_bytes) {}

KernelRuntime::KernelRuntime(std::shared_ptr<ThreadPool> pool, int64_t arena_bytes,
                             ScratchBetweenCalls scratch)
    : pool_(std::move(pool)), scratch_(scratch) {
  for (int i = 0; i < pool_->threads(); ++i) {
    arenas_.push_back(std::make_unique<ScratchArena>(arena_bytes));
  }
}

int32_t KernelRuntime::Run(intent_entry entry, const Call& call, intent_error* error) {
  const Table table{
      {ParallelFor, ArenaAllocate, ArenaMark, ArenaRelease, ThreadArena}, this, call.max_threads};
  *error = {};
  const intent_call view{call.views, call.scalars, &table.api, call.cancel, error};
  int32_t status;
  {
    const FloatEnvironment environment;
    thread_arena = arenas_[0].get();
    status = entry(&view);
    thread_arena = nullptr;
  }
  for (const std::unique_ptr<ScratchArena>& arena : arenas_) {
    if (scratch_ == ScratchBetweenCalls::kCleared) {
      arena->Clear();
    } else {
      arena->Trim();
    }
  }
  if (status != INTENT_OK && error->status == INTENT_OK) {
    *error = {status, 0xffffffffu, -1, -1, 0, 0};
  }
  return status;
}

int32_t KernelRuntime::ParallelFor(const intent_call* call, intent_task task, void* context,
                                   int64_t begin, int64_t end, int64_t grain) {
  const auto* table = reinterpret_cast<const Table*>(call->runtime);
  KernelRuntime& runtime = *table->runtime;
  return runtime.pool_->ParallelFor(
      begin, end, grain, table->max_threads, [&](int thread, int64_t from, int64_t to) -> int32_t {
        if (call->cancel != nullptr && *call->cancel != 0) return INTENT_CANCELLED;
        const FloatEnvironment environment;
        ScratchArena* const outer = thread_arena;
        thread_arena = runtime.arenas_[thread].get();
        const int64_t mark = thread_arena->Mark();
        const int32_t status = task(context, call, thread_arena, from, to);
        thread_arena->Release(mark);
        thread_arena = outer;
        return status;
      });
}

void* KernelRuntime::ArenaAllocate(void* arena, int64_t bytes) {
  return ArenaOf(arena).Allocate(bytes);
}

int64_t KernelRuntime::ArenaMark(void* arena) { return ArenaOf(arena).Mark(); }

void KernelRuntime::ArenaRelease(void* arena, int64_t mark) { ArenaOf(arena).Release(mark); }

void* KernelRuntime::ThreadArena(const intent_call*) { return thread_arena; }

}  // namespace intent
