#include "client/python/core/builder_class.h"
#include "client/python/core/program.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

ConstexprKind ToConstexprKind(const std::string& name) {
  if (name == "int") return ConstexprKind::kInt;
  if (name == "float") return ConstexprKind::kFloat;
  if (name == "bool") return ConstexprKind::kBool;
  if (name == "enum") return ConstexprKind::kEnum;
  throw nb::value_error("unknown kind of constexpr");
}

std::optional<ConstexprValue> ToConstexprValue(ConstexprKind kind, uint32_t enum_type,
                                               nb::handle value) {
  if (value.is_none()) return std::nullopt;
  ConstexprValue result;
  result.kind = kind;
  result.enum_type = enum_type;
  if (kind == ConstexprKind::kFloat) {
    result.float_value = nb::cast<double>(value);
  } else if (kind == ConstexprKind::kBool) {
    result.int_value = nb::cast<bool>(value);
  } else {
    result.int_value = nb::cast<int64_t>(value);
  }
  return result;
}

Access ToAccess(const std::string& name) {
  if (name == "In") return Access::kIn;
  if (name == "Out") return Access::kOut;
  return Access::kInOut;
}

nb::tuple FromSpan(const Span& s) {
  return nb::make_tuple(s.file, s.line, s.column, s.end_line, s.end_column);
}

nb::list Diagnostics(const KernelBuilder& builder) {
  nb::list list;
  for (const Diagnostic& d : builder.diagnostics()) {
    nb::list notes;
    for (const DiagnosticNote& note : d.notes) {
      notes.append(nb::make_tuple(note.text, FromSpan(note.span)));
    }
    list.append(nb::make_tuple(std::string(CodeText(d.code)), d.message, FromSpan(d.span), notes,
                               d.severity == Severity::kError));
  }
  return list;
}

Operand AddView(KernelBuilder& b, std::string name, nb::handle dtype, nb::list shape,
                const std::string& access, std::optional<std::string> alias, bool noalias) {
  std::vector<Extent> extents;
  for (nb::handle extent : shape) {
    if (PyLong_Check(extent.ptr())) {
      extents.push_back(Extent(nb::cast<int64_t>(extent)));
    } else {
      extents.push_back(b.SymbolExtent(nb::cast<std::string>(extent)));
    }
  }
  ViewConstraints constraints{std::move(alias), noalias};
  return b.AddView(std::move(name), ToDType(dtype), std::move(extents), ToAccess(access),
                   constraints);
}

}  // namespace

void BindFrame(BuilderClass& builder) {
  builder.def(nb::init<>())
      .def("add_file", &KernelBuilder::AddFile)
      .def("set_span",
           [](KernelBuilder& b, uint32_t file, uint32_t line, uint32_t column, uint32_t end_line,
              uint32_t end_column) {
             b.SetSpan({file, line, column, end_line, end_column});
           })
      .def_prop_ro("ok", &KernelBuilder::ok)
      .def("diagnostics", &Diagnostics,
           "(code, message, span, notes, is_error) of everything reported so far")
      .def(
          "error",
          [](KernelBuilder& b, const std::string& code, std::string message,
             const std::vector<std::string>& notes) {
            Diagnostic& diagnostic = b.Error(ToDiagnosticCode(code), std::move(message));
            for (const std::string& note : notes) diagnostic.notes.push_back({.text = note});
          },
          nb::arg("code"), nb::arg("message"), nb::arg("notes") = std::vector<std::string>())
      .def("mark", &KernelBuilder::DiagnosticMark)
      .def("rollback", &KernelBuilder::DiagnosticRollback)
      // Signature.
      .def("set_kernel_name", &KernelBuilder::SetKernelName)
      .def("add_view", &AddView, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"),
           nb::arg("access"), nb::arg("alias").none(), nb::arg("noalias"))
      .def("add_scalar",
           [](KernelBuilder& b, std::string name, nb::handle dtype) {
             return b.AddScalar(std::move(name), ToDType(dtype));
           })
      .def("add_enum", &KernelBuilder::AddEnum)
      .def(
          "add_constexpr",
          [](KernelBuilder& b, std::string name, const std::string& kind_name, uint32_t enum_type,
             nb::handle default_value, bool fixed) {
            ConstexprKind kind = ToConstexprKind(kind_name);
            return b.AddConstexpr(std::move(name), kind, enum_type,
                                  ToConstexprValue(kind, enum_type, default_value), fixed);
          },
          nb::arg("name"), nb::arg("kind"), nb::arg("enum_type"), nb::arg("default").none(),
          nb::arg("fixed"))
      .def("enum_member", &KernelBuilder::EnumMember)
      // Facts.
      .def("type_of", [](const KernelBuilder& b, nb::handle x) { return b.TypeOf(ToOperand(x)); })
      .def("describe",
           [](const KernelBuilder& b, nb::handle x) { return b.Describe(ToOperand(x)); })
      .def("describe_type",
           [](const KernelBuilder& b, const Type& type) { return b.Describe(type); })
      .def("static_int",
           [](const KernelBuilder& b, nb::handle x) { return b.StaticIntOf(ToOperand(x)); })
      .def("is_static",
           [](const KernelBuilder& b, nb::handle x) { return b.IsConstexpr(ToOperand(x)); })
      .def("materialize",
           [](KernelBuilder& b, nb::handle x) { return FromOperand(b.Materialize(ToOperand(x))); })
      .def("instantiate",
           [](KernelBuilder& b, nb::handle x, nb::handle dtype) {
             return FromOperand(b.Instantiate(ToOperand(x), ToDType(dtype)));
           })
      .def("dim", [](KernelBuilder& b, nb::handle source,
                     int64_t axis) { return FromOperand(b.Dim(ToOperand(source), axis)); })
      // Regions.
      .def(
          "push_region",
          [](KernelBuilder& b, const std::vector<Type>& arguments, bool isolated) {
            return FromOperands(b.PushRegion(arguments, isolated));
          },
          nb::arg("arguments"), nb::arg("isolated") = false)
      .def("pop_region",
           [](KernelBuilder& b, nb::handle yields) {
             return RegionHandle{b.PopRegion(ToOperands(yields))};
           })
      .def("drop_region", &KernelBuilder::DropRegion)
      .def("yield_types",
           [](const KernelBuilder& b, const RegionHandle& r) { return b.YieldTypes(r.region); })
      .def(
          "if_",
          [](KernelBuilder& b, nb::handle condition, const RegionHandle& then_region,
             const RegionHandle& else_region) {
            return FromOperands(b.If(ToOperand(condition), then_region.region, else_region.region));
          })
      .def("parallel", [](KernelBuilder& b, nb::handle domain,
                          const RegionHandle& body) { b.Parallel(ToOperand(domain), body.region); })
      .def("for_",
           [](KernelBuilder& b, nb::handle domain, nb::handle inits, const RegionHandle& body) {
             return FromOperands(b.For(ToOperand(domain), ToOperands(inits), body.region));
           })
      .def("while_",
           [](KernelBuilder& b, nb::handle inits, const RegionHandle& condition,
              const RegionHandle& body) {
             return FromOperands(b.While(ToOperands(inits), condition.region, body.region));
           })
      .def(
          "finish",
          [](KernelBuilder& b) -> nb::object {
            SourceMap map;
            std::unique_ptr<Module> module = b.Finish(&map);
            if (module == nullptr) return nb::none();
            return nb::cast(Program{std::move(module), std::move(map)}, nb::rv_policy::move);
          },
          "The finished Program, or None if there was any error");
}

}  // namespace intent::python
