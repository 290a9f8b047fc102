#pragma once

// CudaPool: calls of CUDA artifacts on all devices of the host.
//
// Each device has executors of its own, which start with the first call that needs them. A process
// runs one call at a time, so a kernel that faults takes no other call with it. A call whose
// executor lost its context is done once more, alone, in the device's executor for suspects: its
// tensors are as they came, and whoever was innocent (an error of the device, a fault elsewhere
// under MPS) succeeds there. An artifact that faulted is a suspect (suspicion.h) and goes there at
// once the next time. Thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "server/pool/arena_pool.h"
#include "server/pool/counters.h"
#include "server/pool/cuda_devices.h"
#include "server/pool/execute_pool.h"
#include "server/pool/suspicion.h"
#include "server/pool/worker_factory.h"

namespace intent {

class CudaPool {
 public:
  // `options.executors` of each device beside the one for suspects; its `executor` is completed
  // for each device.
  CudaPool(WorkerFactory& factory, CudaDevices& devices, const ArenaPool& arenas,
           const ExecutePoolOptions& options, Counters& counters);
  ~CudaPool() { Stop(); }

  // FailedPrecondition when no device `selector` runs `target`. ResourceExhausted when too many
  // calls wait; `job` is then still the caller's. The first call of a process asks for the devices.
  absl::Status Submit(const std::string& selector, const std::string& target,
                      std::unique_ptr<ExecuteJob>& job);

  // As ExecutePool::Stop, and what is submitted later is refused.
  void Stop();

 private:
  // The executors of one device. The suspects' go last, for calls move there.
  struct OfDevice {
    std::unique_ptr<ExecutePool> suspects;
    std::unique_ptr<ExecutePool> trusted;
  };

  OfDevice* Find(const std::string& uuid);

  WorkerFactory& factory_;
  CudaDevices& devices_;
  const ArenaPool& arenas_;
  const ExecutePoolOptions options_;
  Counters& counters_;
  Suspicion suspicion_;
  std::mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, OfDevice> pools_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent
