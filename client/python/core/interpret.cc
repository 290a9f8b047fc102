#include "client/python/core/interpret.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "client/python/core/convert.h"
#include "client/python/core/program.h"
#include "compiler/interp/interp.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

// (parameter, enum type, kind, integer, float): the value of a constexpr parameter.
using BindingTuple = std::tuple<uint32_t, uint32_t, std::string, int64_t, double>;

Binding ToBinding(const BindingTuple& tuple) {
  const auto& [parameter, enum_type, kind, integer, number] = tuple;
  Binding binding;
  binding.parameter = parameter;
  binding.value.enum_type = enum_type;
  binding.value.int_value = integer;
  binding.value.float_value = number;
  binding.value.kind = kind == "float"  ? ConstexprKind::kFloat
                       : kind == "bool" ? ConstexprKind::kBool
                       : kind == "enum" ? ConstexprKind::kEnum
                                        : ConstexprKind::kInt;
  return binding;
}

// A scalar is (dtype, bits); a view (dtype, address, bytes, offset, extents, strides).
interp::Argument ToArgument(nb::tuple tuple) {
  DType dtype = ToDType(tuple[0]);
  if (tuple.size() == 2) {
    return ScalarValue{dtype, nb::cast<uint64_t>(tuple[1])};
  }
  interp::ViewArgument view;
  view.dtype = dtype;
  view.allocation = reinterpret_cast<void*>(nb::cast<uintptr_t>(tuple[1]));
  view.allocation_bytes = nb::cast<int64_t>(tuple[2]);
  view.offset = nb::cast<int64_t>(tuple[3]);
  view.extents = nb::cast<std::vector<int64_t>>(tuple[4]);
  view.strides = nb::cast<std::vector<int64_t>>(tuple[5]);
  return view;
}

nb::object OrNone(bool known, int64_t number) {
  return known ? nb::object(nb::int_(number)) : nb::none();
}

// ("diagnostics", [(code, ordinal or None, message)]), ("error", (kind, code, ordinal, parameter,
// axis, message, other ordinal)), numbers being None where they are not known, or ("done", None).
nb::tuple Interpret(const Program& program, const std::vector<BindingTuple>& bindings,
                    nb::list arguments, bool check, bool laws) {
  std::unique_ptr<Module> module = Clone(*program.module);
  std::vector<Binding> bound;
  for (const BindingTuple& tuple : bindings) bound.push_back(ToBinding(tuple));
  std::vector<interp::Argument> values;
  for (nb::handle argument : arguments) values.push_back(ToArgument(nb::cast<nb::tuple>(argument)));

  std::vector<Diagnostic> diagnostics;
  std::optional<interp::RuntimeError> error;
  {
    nb::gil_scoped_release release;
    diagnostics = Verify(*module);
    if (diagnostics.empty()) diagnostics = Specialize(module.get(), bound);
    if (diagnostics.empty()) error = interp::Run(*module, values, {.check = check, .laws = laws});
  }
  if (!diagnostics.empty()) {
    nb::list list;
    for (const Diagnostic& d : diagnostics) {
      list.append(nb::make_tuple(std::string(CodeText(d.code)),
                                 OrNone(d.ordinal != kNoOrdinal, d.ordinal), d.message));
    }
    return nb::make_tuple("diagnostics", list);
  }
  if (!error) return nb::make_tuple("done", nb::none());
  return nb::make_tuple("error",
                        nb::make_tuple(std::string(interp::NameOf(error->kind)),
                                       std::string(interp::CodeOf(error->kind)),
                                       OrNone(error->ordinal != kNoOrdinal, error->ordinal),
                                       OrNone(error->parameter >= 0, error->parameter),
                                       OrNone(error->axis >= 0, error->axis), error->message,
                                       OrNone(error->other != kNoOrdinal, error->other)));
}

// By ordinal in an artifact of the program: the ordinal in the program.
std::vector<uint32_t> Ordinals(const Program& program, const std::vector<BindingTuple>& bindings) {
  std::vector<Binding> bound;
  for (const BindingTuple& tuple : bindings) bound.push_back(ToBinding(tuple));
  return OrdinalsInArtifacts(*program.module, bound);
}

}  // namespace

void BindInterpret(nb::module_& module) {
  module.def("interpret", &Interpret);
  module.def("ordinals", &Ordinals, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace intent::python
