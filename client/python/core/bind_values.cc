#include "client/python/core/builder_class.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

using B = KernelBuilder;

void BindPointwise(BuilderClass& builder) {
  builder
      .def(
          "unary",
          [](B& b, const std::string& kind, nb::handle x, nb::handle approximate,
             nb::handle flush) {
            return FromOperand(
                b.Unary(ToUnaryKind(kind), ToOperand(x), ToOperand(approximate), ToOperand(flush)));
          },
          nb::arg("kind"), nb::arg("x"), nb::arg("approximate") = false,
          nb::arg("flush_to_zero") = false)
      .def(
          "binary",
          [](B& b, const std::string& kind, nb::handle x, nb::handle y, nb::handle approximate,
             nb::handle flush) {
            return FromOperand(b.Binary(ToBinaryKind(kind), ToOperand(x), ToOperand(y),
                                        ToOperand(approximate), ToOperand(flush)));
          },
          nb::arg("kind"), nb::arg("x"), nb::arg("y"), nb::arg("approximate") = false,
          nb::arg("flush_to_zero") = false)
      .def("compare",
           [](B& b, const std::string& kind, nb::handle x, nb::handle y) {
             return FromOperand(b.Compare(ToCompareKind(kind), ToOperand(x), ToOperand(y)));
           })
      .def("logical_and",
           [](B& b, nb::handle x, nb::handle y) {
             return FromOperand(b.LogicalAnd(ToOperand(x), ToOperand(y)));
           })
      .def("logical_or",
           [](B& b, nb::handle x, nb::handle y) {
             return FromOperand(b.LogicalOr(ToOperand(x), ToOperand(y)));
           })
      .def("logical_not",
           [](B& b, nb::handle x) { return FromOperand(b.LogicalNot(ToOperand(x))); })
      .def("select",
           [](B& b, nb::handle c, nb::handle x, nb::handle y) {
             return FromOperand(b.Select(ToOperand(c), ToOperand(x), ToOperand(y)));
           })
      .def("mask",
           [](B& b, nb::handle value, nb::handle valid, nb::handle fill) {
             return FromOperand(b.Mask(ToOperand(value), ToOperand(valid), ToOperand(fill)));
           })
      .def("cast",
           [](B& b, nb::handle x, nb::handle dtype) {
             return FromOperand(b.Cast(ToOperand(x), ToDType(dtype)));
           })
      .def("saturating_cast",
           [](B& b, nb::handle x, nb::handle dtype) {
             return FromOperand(b.SaturatingCast(ToOperand(x), ToDType(dtype)));
           })
      .def("bitcast", [](B& b, nb::handle x, nb::handle dtype) {
        return FromOperand(b.Bitcast(ToOperand(x), ToDType(dtype)));
      });
}

void BindShapes(BuilderClass& builder) {
  builder
      .def("full",
           [](B& b, nb::handle shape, nb::handle fill, nb::handle dtype) {
             return FromOperand(b.Full(ToOperands(shape), ToOperand(fill), ToDType(dtype)));
           })
      .def("reshape",
           [](B& b, nb::handle x, nb::handle shape) {
             return FromOperand(b.Reshape(ToOperand(x), ToOperands(shape)));
           })
      .def(
          "transpose",
          [](B& b, nb::handle x, std::optional<std::vector<int64_t>> permutation) {
            return FromOperand(b.Transpose(ToOperand(x), std::move(permutation)));
          },
          nb::arg("x"), nb::arg("permutation").none())
      .def("broadcast",
           [](B& b, nb::handle x, nb::handle shape) {
             return FromOperand(b.Broadcast(ToOperand(x), ToOperands(shape)));
           })
      .def("join", [](B& b, nb::handle x,
                      nb::handle y) { return FromOperand(b.Join(ToOperand(x), ToOperand(y))); })
      .def("domain",
           [](B& b, nb::handle begin, nb::handle end, nb::handle step) {
             return FromOperand(b.Domain(ToOperand(begin), ToOperand(end), ToOperand(step)));
           })
      .def(
          "subregion",
          [](B& b, nb::handle domain, nb::handle start, nb::handle stop) {
            return FromOperand(
                b.Subregion(ToOperand(domain), ToOptionalOperand(start), ToOptionalOperand(stop)));
          },
          nb::arg("domain"), nb::arg("start").none(), nb::arg("stop").none())
      .def("domain_product",
           [](B& b, nb::handle domains) {
             return FromOperand(b.DomainProduct(ToOperands(domains)));
           })
      .def("indices", [](B& b, nb::handle d) { return FromOperand(b.Indices(ToOperand(d))); })
      .def("region_end", [](B& b, nb::handle d) { return FromOperand(b.RegionEnd(ToOperand(d))); })
      .def("assume_in_bounds",
           [](B& b, nb::handle index, nb::handle resource, nb::handle axis) {
             b.AssumeInBounds(ToOperand(index), ToOperand(resource), ToOperand(axis));
           })
      .def("make_tuple",
           [](B& b, nb::handle fields) { return FromOperand(b.MakeTuple(ToOperands(fields))); })
      .def("make_record",
           [](B& b, const std::vector<std::string>& names, nb::handle fields) {
             return FromOperand(b.MakeRecord(names, ToOperands(fields)));
           })
      .def("extract", [](B& b, nb::handle product, int64_t position) {
        return FromOperand(b.Extract(ToOperand(product), position));
      });
}

void BindMemory(BuilderClass& builder) {
  builder
      .def("load",
           [](B& b, nb::handle source, nb::handle index) {
             return FromOperand(b.Load(ToOperand(source), ToIndex(index)));
           })
      .def(
          "gather",
          [](B& b, nb::handle source, nb::handle index, nb::handle valid, nb::handle fill) {
            return FromOperand(b.Gather(ToOperand(source), ToIndex(index), ToOptionalOperand(valid),
                                        ToOptionalOperand(fill)));
          },
          nb::arg("source"), nb::arg("index"), nb::arg("valid").none(), nb::arg("fill").none())
      .def("store",
           [](B& b, nb::handle resource, nb::handle index, nb::handle value) {
             b.Store(ToOperand(resource), ToIndex(index), ToOperand(value));
           })
      .def("scatter_unique",
           [](B& b, nb::handle view, nb::handle index, nb::handle value) {
             b.ScatterUnique(ToOperand(view), ToIndex(index), ToOperand(value));
           })
      .def(
          "scatter_reduce",
          [](B& b, nb::handle view, nb::handle index, nb::handle value, const std::string& kind,
             const RegionHandle* combine) {
            b.ScatterReduce(ToOperand(view), ToIndex(index), ToOperand(value), ToCombineKind(kind),
                            combine ? combine->region : nullptr);
          },
          nb::arg("view"), nb::arg("index"), nb::arg("value"), nb::arg("kind"),
          nb::arg("combine").none())
      .def(
          "buffer",
          [](B& b, nb::handle shape, nb::handle dtype, nb::handle init) {
            return FromOperand(
                b.Buffer(ToOperands(shape), ToDType(dtype), ToOptionalOperand(init)));
          },
          nb::arg("shape"), nb::arg("dtype"), nb::arg("init").none())
      .def("atomic_load",
           [](B& b, nb::handle resource, nb::handle index, const std::string& order) {
             return FromOperand(
                 b.AtomicLoad(ToOperand(resource), ToIndex(index), ToMemoryOrder(order)));
           })
      .def("atomic_store",
           [](B& b, nb::handle resource, nb::handle index, nb::handle value,
              const std::string& order) {
             b.AtomicStore(ToOperand(resource), ToIndex(index), ToOperand(value),
                           ToMemoryOrder(order));
           })
      .def("atomic_rmw",
           [](B& b, const std::string& kind, nb::handle resource, nb::handle index,
              nb::handle value, const std::string& order) {
             return FromOperand(b.AtomicRmw(ToRmwKind(kind), ToOperand(resource), ToIndex(index),
                                            ToOperand(value), ToMemoryOrder(order)));
           })
      .def(
          "atomic_cas",
          [](B& b, nb::handle resource, nb::handle index, nb::handle expected, nb::handle desired,
             const std::string& order) {
            return FromOperand(b.AtomicCas(ToOperand(resource), ToIndex(index), ToOperand(expected),
                                           ToOperand(desired), ToMemoryOrder(order)));
          })
      .def("random_bits", [](B& b, nb::handle seed, nb::handle counter) {
        return FromOperand(b.RandomBits(ToOperand(seed), ToOperand(counter)));
      });
}

}  // namespace

void BindValues(BuilderClass& builder) {
  BindPointwise(builder);
  BindShapes(builder);
  BindMemory(builder);
}

}  // namespace intent::python
