#include "server/worker/cuda_backend.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/cuda_runtime/cuda_kernel.h"
#include "compiler/cuda_runtime/device.h"
#include "compiler/target/target.h"

namespace intent {
namespace {

using execute::v1::RunError;
using gpu::CudaKernel;
using gpu::DeviceContext;
using gpu::DevicePointer;
using gpu::ToStatus;

// Allocations of a call start at multiples of this on the device.
constexpr uint64_t kAlignment = 256;

uint64_t Aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
DevicePointer Address(const char* memory) { return reinterpret_cast<DevicePointer>(memory); }

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(std::unique_ptr<CudaKernel> kernel, gpu::Stream stream)
      : Executable(kernel->manifest()), kernel_(std::move(kernel)), stream_(stream) {}

  absl::StatusOr<std::optional<RunError>> Run(const BoundCall& call, int) override {
    auto prepared = kernel_->Prepare(call);
    if (!prepared.ok()) return prepared.status();
    if (auto* error = std::get_if<RunError>(&*prepared)) return std::move(*error);
    absl::Status status = kernel_->Launch(std::get<gpu::PreparedLaunch>(*prepared), stream_);
    if (absl::IsResourceExhausted(status)) {
      RunError error;
      error.set_kind(RunError::KIND_NO_MEMORY);
      error.set_message(std::string(status.message()));
      return error;
    }
    if (!status.ok()) return status;
    // Kernels do not ask whether anybody still waits: the front process ends this one instead.
    const gpu::Result result = kernel_->context().driver().StreamSynchronize(stream_);
    if (result != gpu::kSuccess) return ToStatus(result, "run the kernel");
    return kernel_->TakeError();
  }

 private:
  const std::unique_ptr<CudaKernel> kernel_;
  const gpu::Stream stream_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::shared_ptr<DeviceContext> context)
      : context_(std::move(context)), current_(*context_) {}

  // Before all else.
  absl::Status Start() {
    if (absl::Status status = current_.status(); !status.ok()) return status;
    return ToStatus(driver().StreamCreate(&stream_, gpu::kNonBlockingStream), "make a stream");
  }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const std::string& manifest,
                                                   const std::string& code) override {
    compile::v1::Manifest parsed;
    if (!parsed.ParseFromString(manifest)) {
      return absl::DataLossError("the manifest does not parse");
    }
    absl::StatusOr<std::unique_ptr<CudaKernel>> kernel =
        CudaKernel::Load(context_, std::move(parsed), code);
    if (!kernel.ok()) return kernel.status();
    return std::make_unique<CudaExecutable>(*std::move(kernel), stream_);
  }

  absl::Status Enter(std::vector<ArenaTensor>& tensors) override {
    used_ = 0;
    for (const ArenaTensor& tensor : tensors) used_ += Aligned(tensor.size);
    if (absl::Status status = Grow(used_); !status.ok()) return status;
    char* place = reinterpret_cast<char*>(staging_);
    for (ArenaTensor& tensor : tensors) {
      tensor.place = place;
      place += Aligned(tensor.size);
      if (tensor.size == 0) continue;
      const gpu::Result result =
          tensor.filled
              ? driver().MemcpyHtoDAsync(Address(tensor.place), tensor.host, tensor.size, stream_)
              : driver().MemsetD8Async(Address(tensor.place), 0, tensor.size, stream_);
      if (result != gpu::kSuccess) return ToStatus(result, "bring a tensor to the device");
    }
    return absl::OkStatus();
  }

  absl::Status Leave(const std::vector<ArenaTensor>& tensors, bool completed) override {
    for (const ArenaTensor& tensor : tensors) {
      if (!completed || !tensor.returned || tensor.size == 0) continue;
      const gpu::Result result =
          driver().MemcpyDtoHAsync(tensor.host, Address(tensor.place), tensor.size, stream_);
      if (result != gpu::kSuccess) return ToStatus(result, "bring a tensor back");
    }
    if (used_ > 0) {
      const gpu::Result result = driver().MemsetD8Async(staging_, 0, used_, stream_);
      if (result != gpu::kSuccess) return ToStatus(result, "clear the call's memory");
    }
    if (absl::Status status = context_->launch_memory().Clear(stream_); !status.ok()) return status;
    return Synchronize();
  }

  absl::StatusOr<char*> Allocate(uint64_t bytes) override {
    DevicePointer memory = 0;
    const uint64_t size = std::max<uint64_t>(bytes, 1);
    gpu::Result result = driver().MemAlloc(&memory, size);
    if (result == gpu::kSuccess) result = driver().MemsetD8Async(memory, 0, size, stream_);
    if (result != gpu::kSuccess) return ToStatus(result, "allocate on the device");
    return reinterpret_cast<char*>(memory);
  }

  void Free(char* memory) override { driver().MemFree(Address(memory)); }

  absl::Status CopyIn(char* memory, const char* from, uint64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    const gpu::Result result = driver().MemcpyHtoDAsync(Address(memory), from, bytes, stream_);
    if (result != gpu::kSuccess) return ToStatus(result, "copy to the device");
    return Synchronize();
  }

  absl::Status CopyOut(char* to, const char* memory, uint64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    const gpu::Result result = driver().MemcpyDtoHAsync(to, Address(memory), bytes, stream_);
    if (result != gpu::kSuccess) return ToStatus(result, "copy from the device");
    return Synchronize();
  }

 private:
  const gpu::Driver& driver() const { return context_->driver(); }

  absl::Status Synchronize() {
    return ToStatus(driver().StreamSynchronize(stream_), "wait for the device");
  }

  // Nothing runs between calls, so the old piece can go at once.
  absl::Status Grow(uint64_t bytes) {
    if (bytes <= staging_bytes_) return absl::OkStatus();
    if (staging_ != 0) driver().MemFree(std::exchange(staging_, 0));
    staging_bytes_ = 0;
    const gpu::Result result = driver().MemAlloc(&staging_, bytes);
    if (result != gpu::kSuccess) return ToStatus(result, "have the call's tensors on the device");
    staging_bytes_ = bytes;
    return absl::OkStatus();
  }

  const std::shared_ptr<DeviceContext> context_;
  const DeviceContext::Current current_;  // for the one thread, for good
  gpu::Stream stream_ = nullptr;
  DevicePointer staging_ = 0;
  uint64_t staging_bytes_ = 0, used_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const std::string& uuid) {
  const absl::StatusOr<std::vector<gpu::DeviceInfo>> devices = gpu::ListDevices();
  if (!devices.ok()) return devices.status();
  const absl::StatusOr<gpu::DeviceInfo> device = gpu::PickDevice(*devices, uuid);
  if (!device.ok()) return device.status();
  absl::StatusOr<std::shared_ptr<DeviceContext>> context = DeviceContext::Get(device->index);
  if (!context.ok()) return context.status();
  auto backend = std::make_unique<CudaBackend>(*std::move(context));
  if (absl::Status status = backend->Start(); !status.ok()) return status;
  return backend;
}

worker::v1::DeviceList ListCudaDevices() {
  worker::v1::DeviceList list;
  const absl::StatusOr<std::vector<gpu::DeviceInfo>> devices = gpu::ListDevices();
  if (!devices.ok()) {
    list.set_missing(std::string(devices.status().message()));
    return list;
  }
  for (const gpu::DeviceInfo& info : *devices) {
    worker::v1::Device& device = *list.add_devices();
    device.set_index(static_cast<uint32_t>(info.index));
    device.set_uuid(info.uuid);
    device.set_name(info.name);
    device.set_architecture(info.Architecture());
    device.set_memory_bytes(info.memory_bytes);
    for (const std::string& name : CudaTargets()) {
      if (gpu::Runs(info, *ParseTarget(name))) device.add_targets(name);
    }
  }
  return list;
}

}  // namespace intent
