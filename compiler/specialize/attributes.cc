#include "compiler/specialize/attributes.h"

namespace intent::specialize {
namespace {

struct Visitor {
  const std::function<void(StaticInt*)>& visit;

  void All(std::vector<StaticInt>* values) const {
    for (StaticInt& value : *values) visit(&value);
  }
  void Index(IndexAttr* attr) const {
    for (IndexTerm& term : attr->terms) visit(&term.position);
  }
  void Pairs(ContractAttr* attr) const {
    for (auto* pairs : {&attr->reduce, &attr->batch}) {
      for (AxisPair& pair : *pairs) {
        visit(&pair.lhs);
        visit(&pair.rhs);
      }
    }
  }

  void operator()(NoAttr&) const {}
  void operator()(ConstantAttr&) const {}
  void operator()(ConstexprAttr&) const {}
  void operator()(AxisAttr& attr) const { visit(&attr.axis); }
  void operator()(AxesAttr& attr) const { All(&attr.axes); }
  void operator()(SubregionAttr&) const {}
  void operator()(CallAttr&) const {}
  void operator()(UnaryAttr& attr) const {
    visit(&attr.approximate);
    visit(&attr.flush_to_zero);
  }
  void operator()(BinaryAttr& attr) const {
    visit(&attr.approximate);
    visit(&attr.flush_to_zero);
  }
  void operator()(CompareAttr&) const {}
  void operator()(ReduceAttr& attr) const { All(&attr.axes); }
  void operator()(ScanAttr& attr) const {
    visit(&attr.axis);
    visit(&attr.inclusive);
    visit(&attr.reverse);
  }
  void operator()(RegionAttr& attr) const { visit(&attr.axis); }
  void operator()(ContractAttr& attr) const { Pairs(&attr); }
  void operator()(ScaledAttr& attr) const { visit(&attr.group_size); }
  void operator()(SparseAttr& attr) const {
    visit(&attr.compression_axis);
    Pairs(&attr.contract);
  }
  void operator()(FormatAttr&) const {}
  void operator()(IndexAttr& attr) const { Index(&attr); }
  void operator()(ScatterReduceAttr& attr) const { Index(&attr.index); }
  void operator()(AtomicAttr& attr) const { Index(&attr.index); }
};

}  // namespace

void ForEachStatic(Attributes* attributes, const std::function<void(StaticInt*)>& visit) {
  std::visit(Visitor{visit}, *attributes);
}

}  // namespace intent::specialize
