#pragma once

// Kernels on a CUDA device: tensors of a call are copied there and back.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/worker/backend.h"

namespace intent {

// `uuid` names the device. FailedPrecondition, NotFound: there is no driver or no such device.
absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const std::string& uuid);

// The devices of this host, or why there are none. No process that forks later may ask.
worker::v1::DeviceList ListCudaDevices();

}  // namespace intent
