#include "tests/support/cuda_way.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <variant>

#include "compiler/cuda/device_library.h"
#include "compiler/cuda/emit.h"
#include "compiler/cuda/nvrtc_fixture.h"
#include "compiler/cuda_runtime/device.h"
#include "compiler/driver/manifest.h"

namespace intent::testing {
namespace {

struct OnDevice {
  std::shared_ptr<gpu::DeviceContext> context;
  std::string target = "sm_80";
};

const OnDevice& TheDevice() {
  static const OnDevice kDevice = [] {
    OnDevice found;
    const auto devices = gpu::ListDevices();
    if (!devices.ok()) return found;
    const auto target = gpu::NativeTarget(devices->front());
    const auto context = gpu::DeviceContext::Get(0);
    if (!target.ok() || !context.ok()) return found;
    return OnDevice{*context, target->ToString()};
  }();
  return kDevice;
}

Outcome Failed(const std::string& message, const CallData& data) {
  Outcome outcome;
  outcome.failed = true;
  outcome.message = message;
  outcome.allocations = data.allocations;
  return outcome;
}

// Memory of the device for the time of one call.
class DeviceMemory {
 public:
  DeviceMemory(const gpu::Driver& driver, const std::vector<uint8_t>& bytes)
      : driver_(driver), size_(bytes.size()) {
    status_ = driver.MemAlloc(&pointer_, std::max<size_t>(size_, 64));
    if (status_ == gpu::kSuccess)
      status_ = driver.MemcpyHtoDAsync(pointer_, bytes.data(), size_, nullptr);
  }
  ~DeviceMemory() { driver_.MemFree(pointer_); }
  DeviceMemory(const DeviceMemory&) = delete;

  bool ok() const { return status_ == gpu::kSuccess; }
  gpu::DevicePointer pointer() const { return pointer_; }
  bool Read(std::vector<uint8_t>* bytes) const {
    bytes->resize(size_);
    return driver_.MemcpyDtoHAsync(bytes->data(), pointer_, size_, nullptr) == gpu::kSuccess &&
           driver_.CtxSynchronize() == gpu::kSuccess;
  }

 private:
  const gpu::Driver& driver_;
  size_t size_;
  gpu::DevicePointer pointer_ = 0;
  gpu::Result status_;
};

}  // namespace

bool CompilesCuda() { return cuda::NvrtcForTests() != nullptr; }
bool RunsCuda() { return CompilesCuda() && TheDevice().context != nullptr; }
std::string CudaTarget() { return TheDevice().target; }

CudaCode CompileCuda(const Module& module, const lower::Lowered& lowered) {
  CudaCode code;
  cuda::EmitOptions options;
  const Function& function = module.kernel_function();
  for (uint32_t i = 0; i < function.parameters.size(); ++i) {
    (function.parameters[i].type.IsView() ? options.view_parameters : options.scalar_parameters)
        .push_back(i);
  }
  for (const cuda::SpecialLowering& special :
       cuda::SpecialLowerings(module, cuda::Lowering(module), lowered)) {
    lower::Lowered again = lower::LowerToTiles(module, special.options);
    if (special.options.row_tiles > 0 && again.held_rows == 0) continue;
    options.special.push_back({special.suffix, std::move(again)});
  }
  options.resident_blocks = cuda::ResidentBlocks(module);
  options.architecture = CudaTarget();
  const auto source = cuda::EmitCuda(*lowered.program, options);
  if (!source.ok()) {
    code.refusal = "emit: " + std::string(source.status().message());
    return code;
  }
  // For a look at it, with the libraries' headers beside it.
  if (const char* folder = std::getenv("INTENT_CUDA_SOURCES")) {
    const std::filesystem::path at(folder);
    std::filesystem::create_directories(at / "intent");
    for (const cuda::DeviceHeader& header : cuda::DeviceLibrary())
      std::ofstream(at / header.name) << header.text;
    std::ofstream(at / "kernel.cu") << source->text;
    std::ofstream variants(at / "variants.txt");
    for (const compile::v1::Variant& variant : source->variants) variants << variant.DebugString();
  }
  const std::string target = CudaTarget();
  const auto compiled = cuda::NvrtcForTests()->Compile({.source = source->text,
                                                        .headers = cuda::DeviceLibrary(),
                                                        .architecture = target,
                                                        .quick = !RunsCuda()});
  if (!compiled.ok()) {
    code.refusal = std::string(compiled.status().message()) + "\n" + source->text;
    return code;
  }
  if (!RunsCuda()) return code;
  compile::v1::Manifest manifest;
  manifest.ParseFromString(
      MakeManifest(module, *ParseTarget(target), {},
                   {.entry_symbol = source->entry, .variants = source->variants}));
  auto kernel = gpu::CudaKernel::Load(TheDevice().context, std::move(manifest), compiled->cubin);
  if (!kernel.ok()) {
    code.refusal = "load: " + std::string(kernel.status().message());
  } else {
    code.kernel = *std::move(kernel);
  }
  return code;
}

Outcome RunCuda(gpu::CudaKernel& kernel, const Function& function, const CallData& data) {
  gpu::DeviceContext& context = kernel.context();
  const gpu::DeviceContext::Current current(context);
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<BoundAllocation> allocations;
  for (const Allocation& allocation : data.allocations) {
    memory.push_back(std::make_unique<DeviceMemory>(context.driver(), allocation.bytes));
    if (!memory.back()->ok()) return Failed("no memory on the device", data);
    allocations.push_back({static_cast<uint32_t>(allocations.size()),
                           reinterpret_cast<char*>(memory.back()->pointer()),
                           allocation.bytes.size()});
  }
  google::protobuf::RepeatedPtrField<execute::v1::Argument> arguments;
  size_t view = 0, scalar = 0;
  for (const Parameter& parameter : function.parameters) {
    execute::v1::Argument* argument = arguments.Add();
    if (!parameter.type.IsView()) {
      argument->set_scalar_bits(static_cast<uint64_t>(data.scalars[scalar++].bits));
      continue;
    }
    const ViewPlace& place = data.views[view++];
    argument->mutable_view()->set_allocation(static_cast<uint32_t>(place.allocation));
    argument->mutable_view()->set_offset(place.offset);
    for (int64_t extent : place.extents) argument->mutable_view()->add_extents(extent);
    for (int64_t stride : place.strides) argument->mutable_view()->add_strides(stride);
  }
  std::optional<execute::v1::RunError> error;
  auto bound = Bind(kernel.manifest(), allocations, arguments);
  if (std::holds_alternative<execute::v1::RunError>(bound)) {
    error = std::get<execute::v1::RunError>(bound);
  } else {
    auto prepared = kernel.Prepare(std::get<BoundCall>(bound));
    if (!prepared.ok()) return Failed(std::string(prepared.status().message()), data);
    if (std::holds_alternative<execute::v1::RunError>(*prepared)) {
      error = std::get<execute::v1::RunError>(*prepared);
    } else {
      absl::Status status = kernel.Launch(std::get<gpu::PreparedLaunch>(*prepared), nullptr);
      if (status.ok()) status = context.Synchronize();
      if (!status.ok()) return Failed(std::string(status.message()), data);
      if (kernel.HasError()) {
        auto taken = kernel.TakeError();
        if (!taken.ok()) return Failed(std::string(taken.status().message()), data);
        error = *taken;
      }
    }
  }
  Outcome outcome;
  outcome.allocations = data.allocations;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i]->Read(&outcome.allocations[i].bytes))
      return Failed("the device's context is lost", data);
  }
  if (error.has_value()) {
    outcome.failed = true;
    if (error->has_ordinal()) outcome.ordinal = error->ordinal();
    if (error->has_parameter()) outcome.parameter = static_cast<int32_t>(error->parameter());
    if (error->has_axis()) outcome.axis = static_cast<int32_t>(error->axis());
    outcome.message = error->message();
  }
  return outcome;
}

}  // namespace intent::testing
