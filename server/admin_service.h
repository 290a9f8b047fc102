#pragma once

// AdminService: what the daemon can do, what it has done, how it is configured. Thread-safe.

#include <atomic>
#include <chrono>

#include "cache/store.h"
#include "intent/admin/v1/admin.grpc.pb.h"
#include "server/back_ends.h"
#include "server/options.h"
#include "server/pool/counters.h"
#include "server/pool/cuda_devices.h"

namespace intent {

class AdminServiceImpl final : public admin::v1::AdminService::CallbackService {
 public:
  AdminServiceImpl(const ServerOptions& options, const BackEnds& back_ends, CudaDevices& devices,
                   const cache::Store& store, const Counters& counters,
                   const std::atomic<bool>& draining)
      : options_(options),
        back_ends_(back_ends),
        devices_(devices),
        store_(store),
        counters_(counters),
        draining_(draining) {}

  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context,
                                            const admin::v1::GetCapabilitiesRequest* request,
                                            admin::v1::Capabilities* response) override;
  grpc::ServerUnaryReactor* GetStatistics(grpc::CallbackServerContext* context,
                                          const admin::v1::GetStatisticsRequest* request,
                                          admin::v1::Statistics* response) override;
  grpc::ServerUnaryReactor* GetConfig(grpc::CallbackServerContext* context,
                                      const admin::v1::GetConfigRequest* request,
                                      admin::v1::Config* response) override;

 private:
  const ServerOptions& options_;
  const BackEnds& back_ends_;
  CudaDevices& devices_;
  const cache::Store& store_;
  const Counters& counters_;
  const std::atomic<bool>& draining_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace intent
