#pragma once

// The handshake of workers and zygote: frame version, compiler fingerprint and targets.

#include <memory>

#include "absl/status/statusor.h"
#include "compiler/cuda/nvrtc.h"
#include "intent/worker/v1/worker.pb.h"

namespace intent {

// Computes what is computed once per process; the zygote's children inherit it.
worker::v1::FromWorker MakeHello();

// Of processes that compile for CUDA: the names of our table that the library knows, or what keeps
// it from being used.
worker::v1::FromWorker MakeCudaHello(const absl::StatusOr<std::unique_ptr<cuda::Nvrtc>>& nvrtc);

}  // namespace intent
