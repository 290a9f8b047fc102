#pragma once

// ProcessRuntime: what the kernels of one user run with inside that user's own process: one pool of
// threads for all of them, and scratch memory for each call in progress, kept from call to call.
//
// Thread-safe: calls of several threads run at once; the pool's threads share the loops of one of
// them at a time, the others' loops run on their own threads. After a fork the child starts with
// fresh threads and memory; a call that was in progress on another thread goes on in the parent
// only.

#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "compiler/runtime/kernel_runtime.h"
#include "compiler/runtime/thread_pool.h"

namespace intent {

struct ProcessRuntimeOptions {
  int threads = 0;                         // of the pool, with the caller; 0: one per processor
  int64_t arena_bytes = int64_t{1} << 30;  // scratch memory of each thread, at most
};

class ProcessRuntime {
 public:
  explicit ProcessRuntime(const ProcessRuntimeOptions& options);

  // This process's; made at the first call. INTENT_THREADS, if it is a positive number, is the
  // number of threads.
  static ProcessRuntime& Shared();

  // As KernelRuntime::Run.
  int32_t Run(intent_entry entry, const KernelRuntime::Call& call, intent_error* error);

  int threads() const { return pool_->threads(); }

 private:
  const std::shared_ptr<ThreadPool> pool_;
  const int64_t arena_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<KernelRuntime>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent
