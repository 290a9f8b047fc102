#pragma once

// CudaKernel: a CUDA artifact, a manifest and its cubin, loaded into a device's context and ready
// to be launched on anybody's stream.
//
//   auto kernel = CudaKernel::Load(context, manifest, cubin);
//   auto bound = Bind(manifest, allocations, arguments);   // device addresses; as for a CPU
//   auto prepared = (*kernel)->Prepare(bound);             // guards, grid, memory: once
//   (*kernel)->Launch(prepared, stream);                   // as often as wanted
//   ...
//   if ((*kernel)->HasError()) error = (*kernel)->TakeError();
//
// A launch neither waits nor copies. What a kernel reports (an index out of bounds) stands in its
// error record and stays there, later launches notwithstanding, until it is taken; the record is
// the kernel's, whatever streams it runs on. Thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "compiler/cuda_runtime/device_context.h"
#include "compiler/cuda_runtime/launch_shape.h"
#include "compiler/runtime/bind_arguments.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::gpu {

// Arguments bound to a kernel and to how it is launched with them. A value; it holds addresses of
// the caller's memory, not the memory.
struct PreparedLaunch {
  LaunchShape shape;
  Function function = nullptr;
  bool cooperative = false;
  std::vector<uint64_t> words;  // the kernel's parameter, see LaunchWords
};

class CudaKernel {
 public:
  // FailedPrecondition when the device cannot run the manifest's target, or the driver the cubin.
  static absl::StatusOr<std::unique_ptr<CudaKernel>> Load(std::shared_ptr<DeviceContext> context,
                                                          compile::v1::Manifest manifest,
                                                          const std::string& cubin);
  // Waits for the device when launches may still be under way.
  ~CudaKernel();
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  const compile::v1::Manifest& manifest() const { return manifest_; }
  DeviceContext& context() const { return *context_; }

  // `call` is what Bind made of this manifest, with addresses of the device. FailedPrecondition
  // when the device has not what the launch needs (shared memory, a barrier of the grid).
  absl::StatusOr<std::variant<PreparedLaunch, execute::v1::RunError>> Prepare(
      const BoundCall& call);

  // Puts one launch into `stream` (null: the legacy stream) and returns. Aborted: the context is
  // lost, see ToStatus; ResourceExhausted: no scratch memory.
  absl::Status Launch(const PreparedLaunch& prepared, Stream stream);

  // Whether a launch has reported an error that was not taken yet. Costs a look at host memory; the
  // error of a launch that has not ended may not be there.
  bool HasError() const;

  // Waits for the device if HasError, and takes the error. Aborted: the context is lost.
  absl::StatusOr<std::optional<execute::v1::RunError>> TakeError();

 private:
  struct Variant {
    Function function = nullptr;
    uint32_t shared_bytes = 0;  // dynamic, that it has been allowed
  };

  CudaKernel(std::shared_ptr<DeviceContext> context, compile::v1::Manifest manifest);

  absl::Status LoadModule(const std::string& cubin);
  absl::Status AllowShared(int variant, uint32_t bytes);
  absl::Status FitGrid(LaunchShape& shape, bool cooperative, bool resident);

  const std::shared_ptr<DeviceContext> context_;
  const compile::v1::Manifest manifest_;
  Module module_ = nullptr;
  intent_error* record_ = nullptr;
  std::mutex mutex_;
  std::vector<Variant> variants_;  // what is written of them is guarded by mutex_
  std::atomic<bool> launched_{false};
};

}  // namespace intent::gpu
