#pragma once

// CudaDevices: which CUDA devices this host has, as a process of their own finds out: the front
// process links no CUDA, and the zygote must not touch it. Thread-safe.

#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/pool/worker_factory.h"

namespace intent {

class CudaDevices {
 public:
  explicit CudaDevices(WorkerFactory& factory) : factory_(factory) {}

  // Asked at the first call, which waits for the answer (a second where there is a driver, some
  // milliseconds where there is none), and remembered.
  const worker::v1::DeviceList& Get();

  // The device for code of `target`, by index or UUID or, when `selector` is empty, the first that
  // runs it. FailedPrecondition says what there is instead.
  absl::StatusOr<worker::v1::Device> Pick(const std::string& selector, const std::string& target);

 private:
  worker::v1::DeviceList Ask();

  WorkerFactory& factory_;
  std::once_flag once_;
  worker::v1::DeviceList list_;  // written once
};

}  // namespace intent
