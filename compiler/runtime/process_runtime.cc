#include "compiler/runtime/process_runtime.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

namespace intent {
namespace {

// Never destroyed: kernels may run until the process ends. Null before the first call, and again in
// the child of a fork, whose parent's threads and locks are not there.
std::atomic<ProcessRuntime*> shared{nullptr};

// The processors that this process may use.
int Processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

int ThreadsAskedFor() {
  const char* text = std::getenv("INTENT_THREADS");
  return text == nullptr ? 0 : std::max(std::atoi(text), 0);
}

}  // namespace

ProcessRuntime::ProcessRuntime(const ProcessRuntimeOptions& options)
    : pool_(std::make_shared<ThreadPool>(options.threads > 0 ? options.threads : Processors())),
      arena_bytes_(options.arena_bytes) {}

ProcessRuntime& ProcessRuntime::Shared() {
  ProcessRuntime* runtime = shared.load(std::memory_order_acquire);
  if (runtime != nullptr) return *runtime;
  static const int kHandlerResult =
      pthread_atfork(nullptr, nullptr, [] { shared.store(nullptr, std::memory_order_relaxed); });
  (void)kHandlerResult;
  auto made = std::make_unique<ProcessRuntime>(ProcessRuntimeOptions{.threads = ThreadsAskedFor()});
  if (shared.compare_exchange_strong(runtime, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *runtime;
}

int32_t ProcessRuntime::Run(intent_entry entry, const KernelRuntime::Call& call,
                            intent_error* error) {
  std::unique_ptr<KernelRuntime> runtime;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      runtime = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (runtime == nullptr) {
    runtime = std::make_unique<KernelRuntime>(pool_, arena_bytes_, ScratchBetweenCalls::kKept);
  }
  const int32_t status = runtime->Run(entry, call, error);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(runtime));
  return status;
}

}  // namespace intent
