#include "client/python/core/types.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "client/python/core/convert.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

const char* KindName(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kNone:
      return "none";
    case TypeKind::kScalar:
      return "scalar";
    case TypeKind::kTensor:
      return "tensor";
    case TypeKind::kTuple:
      return "tuple";
    case TypeKind::kRecord:
      return "record";
    case TypeKind::kView:
      return "view";
    case TypeKind::kBuffer:
      return "buffer";
    case TypeKind::kDomain:
      return "domain";
  }
  return "none";
}

}  // namespace

void BindTypes(nb::module_& module) {
  nb::class_<Type>(module, "Type", "The type of a KIR value")
      .def_prop_ro("kind", &KindName)
      .def_prop_ro("dtype", [](const Type& t) { return std::string(DTypeName(t.dtype())); })
      .def_prop_ro("rank", &Type::rank)
      .def_prop_ro("fields", &Type::fields)
      .def_prop_ro("names", &Type::names)
      .def(
          "extents",
          [](const Type& t) {
            nb::list extents;
            for (const Extent& e : t.shape()) {
              if (e.IsConstant()) {
                extents.append(e.constant());
              } else {
                extents.append(nb::none());
              }
            }
            return extents;
          },
          "Static extents; None where one is not static")
      .def(
          "same_extent",
          [](const Type& a, size_t axis, const Type& b, size_t other) {
            return a.shape().at(axis) == b.shape().at(other);
          },
          "Whether an extent is provably that of another type")
      .def("__eq__", [](const Type& a, nb::handle b) {
        return nb::isinstance<Type>(b) && a == nb::cast<const Type&>(b);
      });
  module.def("scalar_type", [](nb::handle dtype) { return Type::Scalar(ToDType(dtype)); });
  nb::class_<Operand>(module, "Operand", "A value, a constexpr, or the poison left by an error")
      .def_prop_ro("is_poison", &Operand::IsPoison)
      .def_prop_ro("is_value", &Operand::IsValue)
      .def_prop_ro("is_constexpr", &Operand::IsConstexpr)
      .def_prop_ro("id",
                   [](const Operand& o) -> nb::object {
                     if (o.IsValue()) return nb::make_tuple("value", o.value());
                     if (o.IsConstexpr()) return nb::make_tuple("constexpr", o.constexpr_id());
                     return nb::none();
                   })
      .def_static("poison", [] { return Operand(); });
}

}  // namespace intent::python
