#include "server/pool/cuda_pool.h"

#include <utility>

namespace intent {

CudaPool::CudaPool(WorkerFactory& factory, CudaDevices& devices, const ArenaPool& arenas,
                   const ExecutePoolOptions& options, Counters& counters)
    : factory_(factory),
      devices_(devices),
      arenas_(arenas),
      options_(options),
      counters_(counters) {}

absl::Status CudaPool::Submit(const std::string& selector, const std::string& target,
                              std::unique_ptr<ExecuteJob>& job) {
  const absl::StatusOr<worker::v1::Device> device = devices_.Pick(selector, target);
  if (!device.ok()) return device.status();
  OfDevice* const pools = Find(device->uuid());
  if (pools == nullptr) return absl::CancelledError("the daemon is ending");
  ExecutePool& pool =
      suspicion_.Suspects(job->artifact->key_digest()) ? *pools->suspects : *pools->trusted;
  if (pool.Submit(job)) return absl::OkStatus();
  return absl::ResourceExhaustedError("too many calls wait for the device");
}

CudaPool::OfDevice* CudaPool::Find(const std::string& uuid) {
  std::lock_guard lock(mutex_);
  if (stopped_) return nullptr;
  OfDevice& pools = pools_[uuid];
  if (pools.trusted != nullptr) return &pools;
  ExecutePoolOptions options = options_;
  options.start_early = false;
  options.executor.role = worker::v1::ZygoteRequest::ROLE_EXECUTE_CUDA;
  options.executor.device = uuid;
  const auto trusted_watch = [this, &pools](std::unique_ptr<ExecuteJob>& job,
                                            const absl::Status& status, bool rerun) {
    if (!absl::IsAborted(status)) return false;
    suspicion_.RecordFault(job->artifact->key_digest());
    if (!rerun || job->IsCancelled() || !pools.suspects->Submit(job)) return false;
    ++counters_.cuda_reruns;
    return true;
  };
  const auto suspects_watch = [this](std::unique_ptr<ExecuteJob>& job, const absl::Status& status,
                                     bool) {
    if (absl::IsAborted(status)) suspicion_.RecordFault(job->artifact->key_digest());
    if (status.ok()) suspicion_.RecordSuccess(job->artifact->key_digest());
    return false;
  };
  ExecutePoolOptions alone = options;
  alone.executors = 1;
  pools.suspects = std::make_unique<ExecutePool>(factory_, arenas_, alone, counters_.cuda_executors,
                                                 suspects_watch);
  pools.trusted = std::make_unique<ExecutePool>(factory_, arenas_, options,
                                                counters_.cuda_executors, trusted_watch);
  return &pools;
}

void CudaPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  for (auto& [uuid, pools] : pools_) {
    pools.trusted->Stop();
    pools.suspects->Stop();
  }
}

}  // namespace intent
