#pragma once

// The handshake of workers and zygote: frame version, compiler fingerprint and targets.

#include "intent/worker/v1/worker.pb.h"

namespace intent {

// Computes what is computed once per process; the zygote's children inherit it.
worker::v1::FromWorker MakeHello();

}  // namespace intent
