// Domains, subregions and their coordinates (language.md chapter 3; indices are 64-bit, seed 000
// chapter 2).

#include "compiler/interp/machine.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {

// L 3: half-open, the step positive, empty domains legal.
RuntimeValue Machine::MakeDomain(const Op& op) {
  const Domain::Range range{GetIndex(op, 0), GetIndex(op, 1), GetIndex(op, 2)};
  if (range.step <= 0) {
    Fail(ErrorKind::kBadShape, op,
         "a domain's step is positive, not " + std::to_string(range.step));
    return {};
  }
  int64_t span;
  if (range.begin < range.end && __builtin_sub_overflow(range.end, range.begin, &span)) {
    Fail(ErrorKind::kBadShape, op,
         "a domain from " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
             " spans more than an index counts");
    return {};
  }
  return Domain{{range}};
}

RuntimeValue Machine::DomainProduct(const Op& op) {
  Domain product;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Domain& factor = Get(op, i).domain();
    product.ranges.insert(product.ranges.end(), factor.ranges.begin(), factor.ranges.end());
  }
  return product;
}

// L 3: begin <= start <= stop <= end is required: nothing is clamped.
RuntimeValue Machine::Subregion(const Op& op) {
  const SubregionAttr& attr = op.attr<SubregionAttr>();
  const Domain::Range source = Get(op, 0).domain().ranges[0];
  Domain::Range part = source;
  if (attr.has_start) part.begin = GetIndex(op, 1);
  if (attr.has_stop) part.end = GetIndex(op, attr.has_start ? 2 : 1);
  if (part.begin < source.begin || part.begin > part.end || part.end > source.end) {
    Fail(ErrorKind::kSubregion, op,
         "the subregion [" + std::to_string(part.begin) + ", " + std::to_string(part.end) +
             ") does not lie in its domain [" + std::to_string(source.begin) + ", " +
             std::to_string(source.end) + ")");
    return {};
  }
  return Domain{{part}};
}

// L 3: absolute coordinates of the source.
RuntimeValue Machine::Indices(const Op& op) {
  const Domain::Range range = Get(op, 0).domain().ranges[0];
  auto tensor = NewTensor(op, DType::kIndex, {range.Count()});
  if (failed()) return {};
  auto* coordinates = reinterpret_cast<int64_t*>(tensor->mutable_data());
  for (int64_t i = 0; i < tensor->count(); ++i) coordinates[i] = range.At(i);
  return TensorPtr(tensor);
}

RuntimeValue Machine::RegionEnd(const Op& op) {
  return numerics::MakeIndex(Get(op, 0).domain().ranges[0].end);
}

// 2: the extent of an axis.
RuntimeValue Machine::Dim(const Op& op) {
  const Shape shape = Get(op, 0).shape();
  return numerics::MakeIndex(shape[static_cast<size_t>(op.attr<AxisAttr>().axis.value)]);
}

}  // namespace intent::interp
