#include "client/python/core/program.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>

#include "compiler/ir/codec.h"
#include "compiler/ir/print.h"
#include "compiler/ir/source_map_codec.h"

namespace intent::python {

namespace nb = nanobind;

void BindProgram(nb::module_& module) {
  nb::class_<Program>(module, "Program", "A traced kernel: a KIR module and its source map.")
      .def_prop_ro("module",
                   [](const Program& p) {
                     std::string bytes;
                     {
                       nb::gil_scoped_release release;
                       bytes = EncodeModule(*p.module);
                     }
                     return nb::bytes(bytes.data(), bytes.size());
                   })
      .def_prop_ro("source_map",
                   [](const Program& p) {
                     std::string bytes = EncodeSourceMap(p.map);
                     return nb::bytes(bytes.data(), bytes.size());
                   })
      .def_prop_ro(
          "text", [](const Program& p) { return PrintModule(*p.module); },
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("files", [](const Program& p) { return p.map.files; })
      .def_prop_ro("parameter_names", [](const Program& p) { return p.map.parameter_names; })
      .def_prop_ro("symbol_names", [](const Program& p) { return p.map.symbol_names; })
      .def_prop_ro("constexpr_names", [](const Program& p) { return p.map.constexpr_names; })
      .def(
          "span",
          [](const Program& p, uint32_t ordinal) {
            Span s = p.map.SpanOf(ordinal);
            return nb::make_tuple(s.file, s.line, s.column, s.end_line, s.end_column);
          },
          "(file, line, column, end_line, end_column) of an operation; line 0: unknown");
  module.def(
      "print_module",
      [](nb::bytes bytes) {
        const std::string_view encoded(bytes.c_str(), bytes.size());
        nb::gil_scoped_release release;
        DecodedModule decoded = DecodeModule(encoded);
        if (!decoded.ok()) throw nb::value_error(ToString(decoded.diagnostics[0]).c_str());
        return PrintModule(*decoded.module);
      },
      "The textual form of a serialised module");
}

}  // namespace intent::python
