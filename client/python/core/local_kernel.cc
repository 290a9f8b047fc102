#include "client/python/core/local_kernel.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "client/python/core/arguments.h"
#include "client/python/core/dlpack.h"
#include "client/python/core/interrupts.h"
#include "compiler/cpu/loader.h"
#include "compiler/driver/c_header.h"
#include "compiler/runtime/process_runtime.h"
#include "compiler/target/target.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

using execute::v1::RunError;

// Plain arrays of NumPy, and what other libraries lend.
std::optional<ArrayView> ReadPlain(PyObject* value, const ArrayRules& rules) {
  std::optional<ArrayView> array = ReadArray(value, rules, /*subclasses=*/false);
  return array.has_value() ? std::move(array) : ReadDlpack(value, rules);
}
std::optional<ArrayView> ReadAny(PyObject* value, const ArrayRules& rules) {
  return ReadArray(value, rules, /*subclasses=*/true);
}

nb::object LookAgain() { return nb::borrow(Py_NotImplemented); }

nb::object ToBytes(const RunError& error) {
  const std::string wire = error.SerializeAsString();
  return nb::bytes(wire.data(), wire.size());
}

// What calls share. Thread-safe, and so without the GIL: nothing of it changes.
struct Loaded {
  compile::v1::Manifest manifest;
  std::unique_ptr<cpu::LoadedKernel> kernel;

  // Raises what a handler of SIGINT raises.
  std::optional<RunError> Launch(const BoundCall& call) const {
    intent_error error;
    int32_t status;
    {
      const InterruptWatch watch;
      const nb::gil_scoped_release release;
      status = ProcessRuntime::Shared().Run(
          kernel->entry(), {call.views.data(), call.scalars.data(), watch.flag(), 0}, &error);
    }
    if (status == INTENT_OK) return std::nullopt;
    if (status == INTENT_CANCELLED && PyErr_CheckSignals() != 0) throw nb::python_error();
    return ToRunError(error, manifest);
  }
};

// Bound arguments, launched as often as wanted, from any thread. Keeps code and arrays.
class LocalCall {
 public:
  LocalCall(std::shared_ptr<const Loaded> loaded, BoundCall call, nb::object arrays)
      : loaded_(std::move(loaded)), call_(std::move(call)), arrays_(std::move(arrays)) {}

  // None, or a serialised intent.execute.v1.RunError.
  nb::object Launch() const {
    const std::optional<RunError> error = loaded_->Launch(call_);
    return error.has_value() ? ToBytes(*error) : nb::none();
  }

 private:
  const std::shared_ptr<const Loaded> loaded_;
  const BoundCall call_;
  const nb::object arrays_;
};

class LocalKernel {
 public:
  // Raises ValueError if it cannot be loaded here.
  LocalKernel(nb::bytes manifest, nb::bytes shared_object, nb::list parameters)
      : signature_(std::move(parameters)) {
    auto loaded = std::make_shared<Loaded>();
    if (!loaded->manifest.ParseFromArray(manifest.c_str(), static_cast<int>(manifest.size()))) {
      throw nb::value_error("the manifest does not parse");
    }
    auto kernel = cpu::LoadSharedObject({shared_object.c_str(), shared_object.size()},
                                        loaded->manifest.entry_symbol());
    if (!kernel.ok()) throw nb::value_error(std::string(kernel.status().message()).c_str());
    loaded->kernel = *std::move(kernel);
    loaded_ = std::move(loaded);
  }

  // Runs with all arguments but the Out arrays, which it makes. None, the one or a tuple of them; a
  // serialised RunError; or NotImplemented, when the arguments need another look.
  nb::object Run(nb::tuple inputs) const {
    if (inputs.size() != signature_.inputs()) return LookAgain();
    std::vector<PyObject*> values;
    size_t next = 0;
    for (const ParameterSpec& parameter : signature_.parameters()) {
      values.push_back(parameter.is_out ? nullptr : inputs[next++].ptr());
    }
    std::vector<nb::object> outputs;
    nb::object error = Execute(values, &outputs);
    if (!error.is_none()) return error;
    if (outputs.empty()) return nb::none();
    if (outputs.size() == 1) return outputs[0];
    nb::list all;
    for (const nb::object& output : outputs) all.append(output);
    return nb::tuple(all);
  }

  // Runs with all arguments. None, a serialised RunError, or NotImplemented.
  nb::object Call(nb::tuple arguments) const {
    std::vector<PyObject*> values;
    for (nb::handle argument : arguments) values.push_back(argument.ptr());
    std::vector<nb::object> none;
    return Execute(values, &none);
  }

  // All arguments, views being NumPy arrays: a LocalCall, a serialised RunError, or NotImplemented.
  nb::object Bind(nb::list arguments) const {
    std::vector<PyObject*> values;
    for (nb::handle argument : arguments) values.push_back(argument.ptr());
    ArgumentList list;
    std::vector<nb::object> none;
    if (!signature_.Read(values, ReadAny, &list, &none)) return LookAgain();
    auto bound = intent::Bind(loaded_->manifest, list.allocations, list.arguments);
    if (const auto* error = std::get_if<RunError>(&bound)) return ToBytes(*error);
    return nb::cast(new LocalCall(loaded_, std::get<BoundCall>(std::move(bound)), arguments),
                    nb::rv_policy::take_ownership);
  }

 private:
  nb::object Execute(const std::vector<PyObject*>& values, std::vector<nb::object>* made) const {
    ArgumentList list;
    if (!signature_.Read(values, ReadPlain, &list, made)) return LookAgain();
    const auto bound = intent::Bind(loaded_->manifest, list.allocations, list.arguments);
    const auto* call = std::get_if<BoundCall>(&bound);
    if (call == nullptr) return LookAgain();
    const std::optional<RunError> error = loaded_->Launch(*call);
    return error.has_value() ? ToBytes(*error) : nb::none();
  }

  const Signature signature_;
  std::shared_ptr<const Loaded> loaded_;
};

// Empty, or why code for the target cannot run here.
std::string Missing(const std::string& name) {
  const absl::StatusOr<Target> target = ParseTarget(name);
  return target.ok() ? MissingOnHost(*target) : std::string(target.status().message());
}

// Raises ValueError where there is none.
std::string Header(nb::bytes manifest, nb::bytes shared_object, const std::string& kernel,
                   const std::vector<std::string>& parameters,
                   const std::vector<std::string>& symbols) {
  compile::v1::Manifest parsed;
  if (!parsed.ParseFromArray(manifest.c_str(), static_cast<int>(manifest.size()))) {
    throw nb::value_error("the manifest does not parse");
  }
  absl::StatusOr<std::string> header =
      CHeader(parsed, {shared_object.c_str(), shared_object.size()}, {kernel, parameters, symbols});
  if (!header.ok()) throw nb::value_error(std::string(header.status().message()).c_str());
  return *std::move(header);
}

}  // namespace

void BindLocalKernel(nb::module_& module) {
  nb::class_<LocalCall>(module, "LocalCall").def("launch", &LocalCall::Launch);
  nb::class_<LocalKernel>(module, "LocalKernel")
      .def(nb::init<nb::bytes, nb::bytes, nb::list>())
      .def("run", &LocalKernel::Run)
      .def("call", &LocalKernel::Call)
      .def("bind", &LocalKernel::Bind);
  module.def("missing_on_host", &Missing);
  module.def("c_header", &Header);
  module.def("host_target", [] { return HostTarget().ToString(); });
}

}  // namespace intent::python
