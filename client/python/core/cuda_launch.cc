#include "client/python/core/cuda_launch.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/cuda_runtime/cuda_kernel.h"
#include "compiler/cuda_runtime/device.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/bind_arguments.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

using execute::v1::RunError;
using gpu::CudaKernel;
using gpu::ToStatus;

// What calls give instead of a result: a serialised RunError, or (code, message) of a status.
nb::object ToBytes(const RunError& error) {
  const std::string wire = error.SerializeAsString();
  return nb::bytes(wire.data(), wire.size());
}
nb::object ToTuple(const absl::Status& status) {
  return nb::make_tuple(absl::StatusCodeToString(status.code()), std::string(status.message()));
}

gpu::Stream ToStream(uintptr_t handle) { return reinterpret_cast<gpu::Stream>(handle); }

// What a view's coordinates span around its address. Nothing when that cannot be; Bind then says
// what is wrong.
struct Span {
  int64_t low = 0, high = 0;  // bytes
};
std::optional<Span> SpanOf(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides,
                           int64_t element_bytes) {
  Span span;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] <= 0) return Span{};
    int64_t reach = 0;
    if (axis >= strides.size() ||
        __builtin_mul_overflow(extents[axis] - 1, strides[axis], &reach) ||
        __builtin_mul_overflow(reach, element_bytes, &reach)) {
      return std::nullopt;
    }
    int64_t& end = reach < 0 ? span.low : span.high;
    if (__builtin_add_overflow(end, reach, &end)) return std::nullopt;
  }
  if (__builtin_add_overflow(span.high, element_bytes, &span.high)) return std::nullopt;
  return span;
}

// Of a list with, for each parameter, the bits of a scalar or (address, extents, strides in
// elements) of a view, each view's memory being an allocation of its own.
std::variant<BoundCall, RunError> BindList(const compile::v1::Manifest& manifest,
                                           const nb::list& list) {
  struct Numbers {
    std::vector<int64_t> extents, strides;
  };
  std::vector<Numbers> numbers;
  numbers.reserve(list.size());  // arguments point into it
  std::vector<BoundAllocation> allocations;
  std::vector<CallArgument> arguments;
  for (nb::handle item : list) {
    const auto position = static_cast<uint32_t>(arguments.size());
    if (!nb::isinstance<nb::tuple>(item)) {
      arguments.emplace_back(nb::cast<uint64_t>(item));
      continue;
    }
    const auto tuple = nb::cast<nb::tuple>(item);
    const Numbers& view = numbers.emplace_back(Numbers{
        nb::cast<std::vector<int64_t>>(tuple[1]), nb::cast<std::vector<int64_t>>(tuple[2])});
    const auto parameter = static_cast<int>(position);
    const std::optional<DType> dtype =
        parameter < manifest.parameters_size()
            ? DTypeFromName(manifest.parameters(parameter).view().dtype())
            : std::nullopt;
    const int64_t element_bytes = dtype.has_value() ? StorageBytes(*dtype) : 1;
    const Span span = SpanOf(view.extents, view.strides, element_bytes).value_or(Span{});
    allocations.push_back({position,
                           reinterpret_cast<char*>(nb::cast<uintptr_t>(tuple[0])) + span.low,
                           static_cast<uint64_t>(span.high - span.low)});
    arguments.emplace_back(
        ViewArgument{position, -span.low / element_bytes, view.extents, view.strides});
  }
  return intent::Bind(manifest, allocations, arguments);
}

// Puts `first`'s work so far before what `second` gets from now on.
absl::Status Order(const gpu::Driver& driver, gpu::Stream first, gpu::Stream second) {
  gpu::Event event = nullptr;
  gpu::Result result = driver.EventCreate(&event, gpu::kEventWithoutTiming);
  if (result != gpu::kSuccess) return ToStatus(result, "make an event");
  result = driver.EventRecord(event, first);
  if (result == gpu::kSuccess) result = driver.StreamWaitEvent(second, event, 0);
  driver.EventDestroy(event);
  return ToStatus(result, "order two streams");
}

// Bound arguments, launched as often as wanted, from any thread. The memory stays the caller's.
class CudaCall {
 public:
  CudaCall(std::shared_ptr<CudaKernel> kernel, gpu::PreparedLaunch prepared)
      : kernel_(std::move(kernel)), prepared_(std::move(prepared)) {}

  // None when the launch is in its stream; what an earlier launch reported, and then nothing is
  // launched; or a status. `others`: streams whose work the launch comes after and before.
  nb::object Launch(uintptr_t stream, const std::vector<uintptr_t>& others) const {
    if (kernel_->HasError()) {
      nb::object error = TakeError();
      if (!error.is_none()) return error;
    }
    absl::Status status;
    {
      const nb::gil_scoped_release release;
      status = others.empty() ? kernel_->Launch(prepared_, ToStream(stream))
                              : LaunchBetween(ToStream(stream), others);
    }
    return status.ok() ? nb::none() : ToTuple(status);
  }

  nb::object TakeError() const {
    absl::StatusOr<std::optional<RunError>> error = std::nullopt;
    {
      const nb::gil_scoped_release release;
      error = kernel_->TakeError();
    }
    if (!error.ok()) return ToTuple(error.status());
    return error->has_value() ? ToBytes(**error) : nb::none();
  }

 private:
  absl::Status LaunchBetween(gpu::Stream stream, const std::vector<uintptr_t>& others) const {
    const gpu::DeviceContext& context = kernel_->context();
    const gpu::DeviceContext::Current current(context);
    absl::Status status = current.status();
    for (const uintptr_t other : others) {
      if (status.ok()) status = Order(context.driver(), ToStream(other), stream);
    }
    if (status.ok()) status = kernel_->Launch(prepared_, stream);
    for (const uintptr_t other : others) {
      if (status.ok()) status = Order(context.driver(), stream, ToStream(other));
    }
    return status;
  }

  const std::shared_ptr<CudaKernel> kernel_;
  const gpu::PreparedLaunch prepared_;
};

class LocalCudaKernel {
 public:
  explicit LocalCudaKernel(std::shared_ptr<CudaKernel> kernel) : kernel_(std::move(kernel)) {}

  // A CudaCall, a serialised RunError, or a status. `arguments`: see BindList.
  nb::object Bind(nb::list arguments) const {
    auto bound = BindList(kernel_->manifest(), arguments);
    if (const auto* error = std::get_if<RunError>(&bound)) return ToBytes(*error);
    auto prepared = kernel_->Prepare(std::get<BoundCall>(bound));
    if (!prepared.ok()) return ToTuple(prepared.status());
    if (const auto* error = std::get_if<RunError>(&*prepared)) return ToBytes(*error);
    return nb::cast(
        new CudaCall(kernel_, std::get<gpu::PreparedLaunch>(*std::move(prepared))),
        nb::rv_policy::take_ownership);
  }

  // Waits for the device: None, a serialised RunError of a launch, or a status.
  nb::object Synchronize() const {
    absl::Status status;
    absl::StatusOr<std::optional<RunError>> error = std::nullopt;
    {
      const nb::gil_scoped_release release;
      status = kernel_->context().Synchronize();
      if (status.ok()) error = kernel_->TakeError();
    }
    status.Update(error.status());
    if (!status.ok()) return ToTuple(status);
    return error->has_value() ? ToBytes(**error) : nb::none();
  }

 private:
  const std::shared_ptr<CudaKernel> kernel_;
};

// A LocalCudaKernel on device `index`, or a status.
nb::object LoadKernel(nb::bytes manifest, nb::bytes cubin, int index) {
  compile::v1::Manifest parsed;
  if (!parsed.ParseFromArray(manifest.c_str(), static_cast<int>(manifest.size()))) {
    return ToTuple(absl::DataLossError("the manifest does not parse"));
  }
  absl::StatusOr<std::shared_ptr<gpu::DeviceContext>> context = gpu::DeviceContext::Get(index);
  if (!context.ok()) return ToTuple(context.status());
  absl::StatusOr<std::unique_ptr<CudaKernel>> kernel = CudaKernel::Load(
      *std::move(context), std::move(parsed), std::string(cubin.c_str(), cubin.size()));
  if (!kernel.ok()) return ToTuple(kernel.status());
  return nb::cast(new LocalCudaKernel(*std::move(kernel)), nb::rv_policy::take_ownership);
}

// The index of the device that an address belongs to, or a status.
nb::object DeviceOfPointer(uintptr_t pointer) {
  const absl::StatusOr<int> index = gpu::DeviceOf(pointer);
  return index.ok() ? nb::object(nb::int_(*index)) : ToTuple(index.status());
}

// [(index, uuid, name, architecture, the target to compile for or ""), ...], or a status.
nb::object Devices() {
  const absl::StatusOr<std::vector<gpu::DeviceInfo>> devices = gpu::ListDevices();
  if (!devices.ok()) return ToTuple(devices.status());
  nb::list list;
  for (const gpu::DeviceInfo& device : *devices) {
    const absl::StatusOr<Target> target = gpu::NativeTarget(device);
    list.append(nb::make_tuple(device.index, device.uuid, device.name, device.Architecture(),
                               target.ok() ? target->ToString() : std::string()));
  }
  return list;
}

}  // namespace

void BindCudaLaunch(nb::module_& module) {
  nb::class_<CudaCall>(module, "CudaCall").def("launch", &CudaCall::Launch);
  nb::class_<LocalCudaKernel>(module, "CudaKernel")
      .def("bind", &LocalCudaKernel::Bind)
      .def("synchronize", &LocalCudaKernel::Synchronize);
  module.def("load_cuda_kernel", &LoadKernel);
  module.def("cuda_device_of", &DeviceOfPointer);
  module.def("cuda_devices", &Devices);
}

}  // namespace intent::python
