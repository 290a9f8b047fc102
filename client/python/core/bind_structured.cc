#include "client/python/core/builder_class.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

using B = KernelBuilder;
using Axes = std::vector<int64_t>;

KernelBuilder::RegionPtr RegionOf(const RegionHandle* handle) {
  return handle ? handle->region : nullptr;
}

// The element format's name and the scale's dtype decide.
ScaledFormat ToScaledFormat(const std::string& element, const std::string& scale) {
  bool e8m0 = scale == "e8m0";
  if (element == "e2m1") return e8m0 ? ScaledFormat::kE2M1E8M0 : ScaledFormat::kE2M1E4M3;
  return e8m0 ? ScaledFormat::kE4M3E8M0 : ScaledFormat::kE4M3E4M3;
}

void BindReductions(BuilderClass& builder) {
  builder
      .def("combine_schema",
           [](B& b, nb::handle value, const Axes& axes, nb::handle identity) {
             return b.CombineSchema(ToOperand(value), axes, ToOperand(identity));
           })
      .def(
          "reduce",
          [](B& b, nb::handle value, const Axes& axes, nb::handle identity, const std::string& kind,
             const RegionHandle* combine, nb::handle captures) {
            return FromOperand(b.Reduce(ToOperand(value), axes, ToOperand(identity),
                                        ToCombineKind(kind), RegionOf(combine),
                                        ToOperands(captures)));
          },
          nb::arg("value"), nb::arg("axes"), nb::arg("identity"), nb::arg("kind"),
          nb::arg("combine").none(), nb::arg("captures"))
      .def(
          "scan",
          [](B& b, nb::handle value, int64_t axis, nb::handle identity, const std::string& kind,
             const RegionHandle* combine, nb::handle captures, nb::handle inclusive,
             nb::handle reverse) {
            return FromOperand(b.Scan(ToOperand(value), axis, ToOperand(identity),
                                      ToCombineKind(kind), RegionOf(combine), ToOperands(captures),
                                      ToOperand(inclusive), ToOperand(reverse)));
          },
          nb::arg("value"), nb::arg("axis"), nb::arg("identity"), nb::arg("kind"),
          nb::arg("combine").none(), nb::arg("captures"), nb::arg("inclusive"), nb::arg("reverse"))
      .def(
          "reduce_builtin",
          [](B& b, const std::string& name, nb::handle value, const Axes& axes,
             nb::handle acc_dtype) {
            return FromOperand(
                b.ReduceBuiltin(name, ToOperand(value), axes, ToOptionalDType(acc_dtype)));
          },
          nb::arg("name"), nb::arg("value"), nb::arg("axes"), nb::arg("acc_dtype").none())
      .def(
          "arg_max",
          [](B& b, nb::handle value, int64_t axis, nb::handle acc_dtype) {
            return FromOperand(b.ArgMax(ToOperand(value), axis, ToOptionalDType(acc_dtype)));
          },
          nb::arg("value"), nb::arg("axis"), nb::arg("acc_dtype").none())
      .def(
          "cumulative",
          [](B& b, const std::string& name, nb::handle value, int64_t axis, nb::handle inclusive,
             nb::handle reverse, nb::handle acc_dtype) {
            return FromOperand(b.CumulativeBuiltin(name, ToOperand(value), axis,
                                                   ToOperand(inclusive), ToOperand(reverse),
                                                   ToOptionalDType(acc_dtype)));
          },
          nb::arg("name"), nb::arg("value"), nb::arg("axis"), nb::arg("inclusive"),
          nb::arg("reverse"), nb::arg("acc_dtype").none());
}

void BindRegionOps(BuilderClass& builder) {
  nb::class_<B::SliceSchema>(builder, "Slices", "What the callbacks of a region operation see")
      .def_ro("types", &B::SliceSchema::types);
  builder
      .def("slices",
           [](B& b, nb::handle source, int64_t axis) { return b.Slices(ToOperand(source), axis); })
      .def("region_fold",
           [](B& b, nb::handle source, const B::SliceSchema& slices, nb::handle identity,
              const RegionHandle& summarize, const RegionHandle& combine, nb::handle captures) {
             return FromOperand(b.RegionFold(ToOperand(source), slices, ToOperand(identity),
                                             summarize.region, combine.region,
                                             ToOperands(captures)));
           })
      .def("region_scan",
           [](B& b, nb::handle source, const B::SliceSchema& slices, nb::handle identity,
              nb::handle state, const RegionHandle& summarize, const RegionHandle& combine,
              const RegionHandle& apply, const RegionHandle& emit, nb::handle captures) {
             return FromOperand(b.RegionScan(ToOperand(source), slices, ToOperand(identity),
                                             ToOperand(state), summarize.region, combine.region,
                                             apply.region, emit.region, ToOperands(captures)));
           });
}

void BindContractions(BuilderClass& builder) {
  builder
      .def("contract",
           [](B& b, nb::handle l, nb::handle r, const AxisPairs& reduce, const AxisPairs& batch,
              nb::handle acc_dtype) {
             return FromOperand(
                 b.Contract(ToOperand(l), ToOperand(r), reduce, batch, ToDType(acc_dtype)));
           })
      .def("dot",
           [](B& b, nb::handle l, nb::handle r, nb::handle acc_dtype) {
             return FromOperand(b.Dot(ToOperand(l), ToOperand(r), ToDType(acc_dtype)));
           })
      .def(
          "matvec",
          [](B& b, nb::handle m, nb::handle v, nb::handle acc_dtype, bool transpose) {
            return FromOperand(b.Matvec(ToOperand(m), ToOperand(v), ToDType(acc_dtype), transpose));
          })
      .def(
          "vecmat",
          [](B& b, nb::handle v, nb::handle m, nb::handle acc_dtype, bool transpose) {
            return FromOperand(b.Vecmat(ToOperand(v), ToOperand(m), ToDType(acc_dtype), transpose));
          })
      .def("matmul",
           [](B& b, nb::handle l, nb::handle r, nb::handle acc_dtype, bool transpose_lhs,
              bool transpose_rhs) {
             return FromOperand(b.Matmul(ToOperand(l), ToOperand(r), ToDType(acc_dtype),
                                         transpose_lhs, transpose_rhs));
           })
      .def("outer", [](B& b, nb::handle l,
                       nb::handle r) { return FromOperand(b.Outer(ToOperand(l), ToOperand(r))); })
      .def("scaled_contract",
           [](B& b, nb::handle lhs, nb::handle lhs_scale, nb::handle rhs, nb::handle rhs_scale,
              const std::string& lhs_element, const std::string& lhs_scale_format,
              const std::string& rhs_element, const std::string& rhs_scale_format,
              int64_t group_size, nb::handle acc_dtype) {
             return FromOperand(b.ScaledContract(
                 ToOperand(lhs), ToOperand(lhs_scale), ToOperand(rhs), ToOperand(rhs_scale),
                 ToScaledFormat(lhs_element, lhs_scale_format),
                 ToScaledFormat(rhs_element, rhs_scale_format), group_size, ToDType(acc_dtype)));
           })
      .def("sparse_contract",
           [](B& b, nb::handle compressed, nb::handle metadata, nb::handle rhs,
              const std::string& format, int64_t compression_axis, const AxisPairs& reduce,
              const AxisPairs& batch, nb::handle acc_dtype) {
             return FromOperand(b.SparseContract(
                 ToOperand(compressed), ToOperand(metadata), ToOperand(rhs),
                 format == "one_of_two" ? SparseFormat::kOneOfTwo : SparseFormat::kTwoOfFour,
                 compression_axis, reduce, batch, ToDType(acc_dtype)));
           })
      .def("histogram",
           [](B& b, nb::handle values, nb::handle bins, nb::handle valid, nb::handle dtype) {
             return FromOperand(
                 b.Histogram(ToOperand(values), ToOperand(bins), ToOperand(valid), ToDType(dtype)));
           })
      .def("quantize", [](B& b, nb::handle x) { return FromOperand(b.Quantize(ToOperand(x))); })
      .def("quantized_dot", [](B& b, nb::handle l, nb::handle r) {
        return FromOperand(b.QuantizedDot(ToOperand(l), ToOperand(r)));
      });
}

}  // namespace

void BindStructured(BuilderClass& builder) {
  BindReductions(builder);
  BindRegionOps(builder);
  BindContractions(builder);
}

}  // namespace intent::python
