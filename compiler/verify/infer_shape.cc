// Tensor shapes and products.

#include <algorithm>
#include <set>

#include "compiler/verify/infer_internal.h"

namespace intent::infer {

std::optional<Type> Inference::Reshape() {
  if (!CheckElementwise(0)) return std::nullopt;
  const Type& source = operand(0);
  if (!declared().IsTensor() || declared().dtype() != source.dtype()) {
    return Fail(DiagnosticCode::kDeclaredType, "reshape gives a tensor of " +
                                                   std::string(DTypeName(source.dtype())) +
                                                   ", not " + Text(declared()));
  }
  if (!CheckExtents(declared().shape())) return std::nullopt;
  const Extent from = ElementCount(source.shape()), to = ElementCount(declared().shape());
  if (Extent::ProvablyDifferent(from, to)) {
    return Fail(DiagnosticCode::kElementCount,
                "a reshape keeps the number of elements: " + Text(source) + " has " + Text(from) +
                    ", shape " + Text(declared().shape()) + " has " + Text(to));
  }
  return declared();
}

std::optional<Type> Inference::Transpose() {
  if (!CheckTensor(0)) return std::nullopt;
  const Type& source = operand(0);
  const std::vector<StaticInt>& axes = op_.attr<AxesAttr>().axes;
  std::string listed;
  std::vector<bool> seen(source.shape().size(), false);
  std::vector<Extent> shape;
  bool complete = axes.size() == seen.size(), deferred = false;
  for (const StaticInt& axis : axes) {
    if (!CheckStatic(axis, ConstexprKind::kInt, "an axis of a permutation")) return std::nullopt;
    if (!axis.resolved()) {
      deferred = true;
      continue;
    }
    listed += (listed.empty() ? "" : ", ") + std::to_string(axis.value);
    if (axis.value < 0 || axis.value >= source.rank() || seen[axis.value]) {
      complete = false;
    } else {
      seen[axis.value] = true;
      shape.push_back(source.shape()[axis.value]);
    }
  }
  if (!complete) {
    return Fail(DiagnosticCode::kBadPermutation,
                "permutation (" + listed + ") does not name each of the " +
                    Quantity(seen.size(), "axis") + " of " + Text(source) + " once");
  }
  if (deferred) return declared();
  return Type::Tensor(source.dtype(), std::move(shape));
}

std::optional<Type> Inference::Broadcast() {
  if (!CheckElementwise(0)) return std::nullopt;
  const Type& source = operand(0);
  if (!declared().IsTensor() || declared().dtype() != source.dtype()) {
    return Fail(DiagnosticCode::kDeclaredType, "broadcast gives a tensor of " +
                                                   std::string(DTypeName(source.dtype())) +
                                                   ", not " + Text(declared()));
  }
  if (!CheckExtents(declared().shape())) return std::nullopt;
  if (!BroadcastsTo(source.shape(), declared().shape())) {
    return Fail(DiagnosticCode::kShapeMismatch,
                "shape " + Text(source.shape()) + " does not broadcast to " +
                    Text(declared().shape()) +
                    ": from the right, extents are equal or a literal 1");
  }
  return declared();
}

std::optional<Type> Inference::Full() {
  if (!CheckElementwise(0)) return std::nullopt;
  if (!operand(0).IsScalar()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "the fill of full is a scalar, not " + Text(operand(0)));
  }
  if (!declared().IsTensor() || declared().dtype() != operand(0).dtype()) {
    return Fail(DiagnosticCode::kDeclaredType, "full gives a tensor of its fill's dtype " +
                                                   std::string(DTypeName(operand(0).dtype())) +
                                                   ", not " + Text(declared()));
  }
  if (!CheckExtents(declared().shape())) return std::nullopt;
  return declared();
}

std::optional<Type> Inference::Join() {
  if (!CheckTensor(0) || !CheckTensor(1) || !CheckSameDType(0, 1) || !CheckSameShape(0, 1)) {
    return std::nullopt;
  }
  std::vector<Extent> shape = operand(0).shape();
  shape.push_back(2);
  return Type::Tensor(operand(0).dtype(), std::move(shape));
}

namespace {

bool IsField(const Type& type) { return type.IsElementwise() || type.IsProduct(); }

}  // namespace

std::optional<Type> Inference::MakeTuple() {
  std::vector<Type> fields = OperandTypes(0);
  for (const Type& field : fields) {
    if (field.IsBuffer()) {
      return Fail(DiagnosticCode::kBufferEscapes, "a buffer cannot be part of a tuple");
    }
    if (!IsField(field)) {
      return Fail(DiagnosticCode::kTypeMismatch,
                  "a component of a tuple is a scalar, tensor or product, not " + Text(field));
    }
  }
  return Type::Tuple(std::move(fields));
}

std::optional<Type> Inference::MakeRecord() {
  const Type& record = declared();
  if (record.kind() != TypeKind::kRecord || record.names().size() != op_.operands.size()) {
    return Fail(DiagnosticCode::kDeclaredType, "make_record of " +
                                                   Quantity(op_.operands.size(), "component") +
                                                   " cannot give " + Text(record));
  }
  std::set<std::string> unique;
  for (const std::string& name : record.names()) {
    if (name.empty() || !unique.insert(name).second) {
      return Fail(DiagnosticCode::kBadStructure, "the field names of a record are unique");
    }
  }
  std::vector<Type> fields = OperandTypes(0);
  for (const Type& field : fields) {
    if (field.IsBuffer()) {
      return Fail(DiagnosticCode::kBufferEscapes, "a buffer cannot be part of a record");
    }
    if (!IsField(field)) {
      return Fail(DiagnosticCode::kTypeMismatch,
                  "a component of a record is a scalar, tensor or product, not " + Text(field));
    }
  }
  return Type::Record(record.names(), std::move(fields));
}

std::optional<Type> Inference::Extract() {
  const Type& product = operand(0);
  if (!product.IsProduct()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "extract takes a tuple or record, not " + Text(product));
  }
  const StaticInt& position = op_.attr<AxisAttr>().axis;
  if (!CheckStatic(position, ConstexprKind::kInt, "a position")) return std::nullopt;
  if (!position.resolved()) return declared();
  if (position.value < 0 || position.value >= static_cast<int64_t>(product.fields().size())) {
    return Fail(DiagnosticCode::kOutOfRange, "position " + std::to_string(position.value) +
                                                 " is out of range of " + Text(product));
  }
  return product.fields()[position.value];
}

std::vector<Type> Inference::OperandTypes(size_t from) const {
  std::vector<Type> types;
  for (size_t i = from; i < op_.operands.size(); ++i) types.push_back(operand(i));
  return types;
}

}  // namespace intent::infer
