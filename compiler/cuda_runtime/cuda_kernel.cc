#include "compiler/cuda_runtime/cuda_kernel.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "compiler/target/target.h"

namespace intent::gpu {
namespace {

// What a launch can carry on every device that is served.
constexpr size_t kMaxParameterBytes = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<CudaKernel>> CudaKernel::Load(std::shared_ptr<DeviceContext> context,
                                                             compile::v1::Manifest manifest,
                                                             const std::string& cubin) {
  const absl::StatusOr<Target> target = ParseTarget(manifest.target());
  if (!target.ok()) return target.status();
  if (!Runs(context->info(), *target)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the artifact is for ", manifest.target(), ", but device ", context->info().index, " (",
        context->info().name, ") is ", context->info().Architecture()));
  }
  std::unique_ptr<CudaKernel> kernel(new CudaKernel(std::move(context), std::move(manifest)));
  if (absl::Status status = kernel->LoadModule(cubin); !status.ok()) return status;
  return kernel;
}

CudaKernel::CudaKernel(std::shared_ptr<DeviceContext> context, compile::v1::Manifest manifest)
    : context_(std::move(context)), manifest_(std::move(manifest)) {}

absl::Status CudaKernel::LoadModule(const std::string& cubin) {
  const DeviceContext::Current current(*context_);
  if (absl::Status status = current.status(); !status.ok()) return status;
  const Driver& driver = context_->driver();
  if (Result result = driver.ModuleLoadData(&module_, cubin.data()); result != kSuccess) {
    module_ = nullptr;
    return ToStatus(result, "load the kernel's cubin");
  }
  for (const compile::v1::Variant& variant : manifest_.variants()) {
    Function function = nullptr;
    const Result result =
        driver.ModuleGetFunction(&function, module_, variant.entry_symbol().c_str());
    if (result != kSuccess) return ToStatus(result, "find the kernel in its cubin");
    variants_.push_back({function, 0});
  }
  absl::StatusOr<intent_error*> record = context_->error_records().Take();
  if (!record.ok()) return record.status();
  record_ = *record;
  return absl::OkStatus();
}

CudaKernel::~CudaKernel() {
  const DeviceContext::Current current(*context_);
  const Driver& driver = context_->driver();
  // Code that runs must not go, nor a record that it may write to. A lost context or a driver that
  // has ended runs nothing.
  if (launched_) driver.CtxSynchronize();
  if (module_ != nullptr) driver.ModuleUnload(module_);
  if (record_ != nullptr) context_->error_records().Give(record_);
}

absl::StatusOr<std::variant<PreparedLaunch, execute::v1::RunError>> CudaKernel::Prepare(
    const BoundCall& call) {
  std::variant<LaunchShape, execute::v1::RunError> shape = ShapeLaunch(manifest_, call);
  if (auto* error = std::get_if<execute::v1::RunError>(&shape)) return std::move(*error);
  PreparedLaunch prepared;
  prepared.shape = std::get<LaunchShape>(shape);
  prepared.cooperative = manifest_.variants(prepared.shape.variant).cooperative();
  prepared.function = variants_[prepared.shape.variant].function;
  prepared.words = LaunchWords(call);
  if (prepared.words.size() * sizeof(uint64_t) > kMaxParameterBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("the kernel's arguments take ", prepared.words.size() * sizeof(uint64_t),
                     " bytes; a launch carries at most ", kMaxParameterBytes));
  }
  const bool resident = manifest_.variants(prepared.shape.variant).resident();
  const DeviceContext::Current current(*context_);
  absl::Status status = current.status();
  if (status.ok()) status = AllowShared(prepared.shape.variant, prepared.shape.shared_bytes);
  if (status.ok()) status = FitGrid(prepared.shape, prepared.cooperative, resident);
  if (!status.ok()) return status;
  return prepared;
}

// Beyond 48 KB a function must be allowed its dynamic shared memory.
absl::Status CudaKernel::AllowShared(int position, uint32_t bytes) {
  std::lock_guard lock(mutex_);
  Variant& variant = variants_[position];
  if (bytes <= variant.shared_bytes) return absl::OkStatus();
  const int limit = context_->info().shared_bytes_limit;
  if (bytes > static_cast<uint32_t>(limit)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the kernel needs ", bytes, " bytes of shared memory for these shapes; ",
                     context_->info().name, " gives a block ", limit));
  }
  const Result result = context_->driver().FuncSetAttribute(
      variant.function, kMaxDynamicSharedBytes, static_cast<int>(bytes));
  if (result != kSuccess) return ToStatus(result, "have the kernel's shared memory");
  variant.shared_bytes = bytes;
  return absl::OkStatus();
}

// Blocks that wait for each other must be on the device together, blocks with scratch memory of
// their own would else need more of it than the device can use, and others lose time where they
// begin.
absl::Status CudaKernel::FitGrid(LaunchShape& shape, bool cooperative, bool resident) {
  if (!cooperative && !resident && shape.block_scratch_bytes == 0) return absl::OkStatus();
  const DeviceInfo& info = context_->info();
  if (cooperative && !info.cooperative) {
    return absl::FailedPreconditionError(
        absl::StrCat(info.name, " has no barrier of a whole grid, which the kernel needs"));
  }
  int per_multiprocessor = 0;
  const Result result = context_->driver().OccupancyMaxActiveBlocksPerMultiprocessor(
      &per_multiprocessor, variants_[shape.variant].function,
      static_cast<int>(shape.BlockThreads()), shape.shared_bytes);
  if (result != kSuccess) return ToStatus(result, "learn how many blocks fit on the device");
  const int64_t plane = int64_t{shape.grid[1]} * shape.grid[2];
  const int64_t fit = int64_t{per_multiprocessor} * info.multiprocessors / plane;
  if (fit == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("a block of ", shape.BlockThreads(), " threads and ", shape.shared_bytes,
                     " bytes of shared memory does not fit on ", info.name));
  }
  shape.grid[0] = static_cast<uint32_t>(std::min<int64_t>(shape.grid[0], fit));
  return absl::OkStatus();
}

absl::Status CudaKernel::Launch(const PreparedLaunch& prepared, Stream stream) {
  const DeviceContext::Current current(*context_);
  if (absl::Status status = current.status(); !status.ok()) return status;
  const LaunchShape& shape = prepared.shape;
  absl::FixedArray<uint64_t, 128> words(prepared.words.begin(), prepared.words.end());
  uint64_t* const trailing = words.data() + words.size() - kTrailingWords;
  trailing[0] = reinterpret_cast<uintptr_t>(record_);
  LaunchMemory::Lease lease;
  if (const int64_t scratch = shape.AllScratchBytes(); scratch > 0 || prepared.cooperative) {
    absl::StatusOr<LaunchMemory::Lease> memory = context_->launch_memory().Get(stream, scratch);
    if (!memory.ok()) return memory.status();
    lease = *std::move(memory);
    trailing[1] = lease.barrier;
    trailing[2] = lease.scratch;
    trailing[3] = static_cast<uint64_t>(shape.scratch_bytes);
    if (shape.block_scratch_bytes > 0) {
      trailing[4] = lease.scratch + static_cast<uint64_t>(shape.scratch_bytes);
      trailing[5] = static_cast<uint64_t>(shape.block_scratch_bytes);
    }
  }
  void* parameters[] = {words.data()};
  const auto& [grid, block] = std::tie(shape.grid, shape.block);
  const Driver& driver = context_->driver();
  launched_.store(true, std::memory_order_relaxed);
  const Result result =
      prepared.cooperative
          ? driver.LaunchCooperativeKernel(prepared.function, grid[0], grid[1], grid[2], block[0],
                                           block[1], block[2], shape.shared_bytes, stream,
                                           parameters)
          : driver.LaunchKernel(prepared.function, grid[0], grid[1], grid[2], block[0], block[1],
                                block[2], shape.shared_bytes, stream, parameters, nullptr);
  return ToStatus(result, "launch the kernel");
}

bool CudaKernel::HasError() const {
  return __atomic_load_n(&record_->status, __ATOMIC_ACQUIRE) != INTENT_OK;
}

absl::StatusOr<std::optional<execute::v1::RunError>> CudaKernel::TakeError() {
  if (!HasError()) return std::nullopt;
  // A record is whole when the launch that wrote it has ended.
  if (absl::Status status = context_->Synchronize(); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  const intent_error error = *record_;
  *record_ = {};
  if (error.status == INTENT_OK) return std::nullopt;  // another thread took it
  return ToRunError(error, manifest_);
}

}  // namespace intent::gpu
