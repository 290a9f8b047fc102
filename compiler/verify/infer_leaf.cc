// Constants, constexprs, dims and domains.

#include "compiler/verify/infer_internal.h"

namespace intent::infer {

std::optional<Type> Inference::Constant() {
  const ScalarValue& value = op_.attr<ConstantAttr>().value;
  const int bits = BitWidth(value.dtype);
  if (bits < 128 && (value.bits >> bits) != 0) {
    return Fail(DiagnosticCode::kLiteralRange,
                "a constant has bits beyond the width of " + std::string(DTypeName(value.dtype)));
  }
  return Type::Scalar(value.dtype);
}

std::optional<Type> Inference::Constexpr() {
  const ConstexprId id = op_.attr<ConstexprAttr>().expr;
  if (id >= context_.module.constexpr_nodes.size()) {
    return Fail(DiagnosticCode::kBadReference, "constexpr refers to no expression");
  }
  if (context_.specialized) {
    return Fail(DiagnosticCode::kUnboundConstexpr, "a constexpr is left after specialisation");
  }
  if (!declared().IsScalar()) {
    return Fail(DiagnosticCode::kDeclaredType,
                "a constexpr gives a scalar, not " + Text(declared()));
  }
  const DType dtype = declared().dtype();
  bool fits = false;
  const char* kind = "";
  switch (context_.module.constexpr_nodes[id].kind) {
    case ConstexprKind::kInt:
      kind = "int";
      fits = IsInteger(dtype) || IsFloat(dtype);
      break;
    case ConstexprKind::kFloat:
      kind = "float";
      fits = IsFloat(dtype);
      break;
    case ConstexprKind::kBool:
      kind = "bool";
      fits = dtype == DType::kBool;
      break;
    case ConstexprKind::kEnum:
      return Fail(DiagnosticCode::kDtypeNotAllowed, "an enum has no value at run time");
  }
  if (!fits) {
    return Fail(DiagnosticCode::kLiteralRange, std::string("a constexpr ") + kind +
                                                   " is not representable in " +
                                                   std::string(DTypeName(dtype)));
  }
  return declared();
}

std::optional<Type> Inference::Dim() {
  const Type& source = operand(0);
  if (!source.IsResource() && !source.IsTensor() && !source.IsDomain()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "dim takes a view, buffer, tensor or domain, not " + Text(source));
  }
  if (!CheckAxis(op_.attr<AxisAttr>().axis, source.rank())) return std::nullopt;
  return Type::Scalar(DType::kIndex);
}

std::optional<Type> Inference::Domain() {
  if (!CheckIndexScalar(0, "the begin of a domain") ||
      !CheckIndexScalar(1, "the end of a domain") || !CheckIndexScalar(2, "the step of a domain")) {
    return std::nullopt;
  }
  const Extent step = context_.extents.Of(op_.operands[2]);
  if ((Extent(0) - step).ProvablyNonNegative()) {
    return Fail(DiagnosticCode::kBadExtent, "the step of a domain is positive, not " + Text(step) +
                                                "; run forwards and reverse the coordinate");
  }
  const Extent begin = context_.extents.Of(op_.operands[0]);
  const Extent end = context_.extents.Of(op_.operands[1]);
  // An extent of something that exists is not negative, even where its expression could be.
  const Op* measured = context_.function.value(op_.operands[1]).op;
  const bool whole_axis = measured != nullptr && measured->kind == OpKind::kDim &&
                          begin.IsConstant(0) && step.IsConstant(1);
  const Extent extent = whole_axis ? end : DomainExtent(begin, end, step);
  if (!CheckExtents({extent})) return std::nullopt;
  return Type::Domain({extent});
}

std::optional<Type> Inference::DomainProduct() {
  std::vector<Extent> shape;
  for (size_t i = 0; i < op_.operands.size(); ++i) {
    if (!CheckDomain(i)) return std::nullopt;
    shape.push_back(operand(i).shape()[0]);
  }
  return Type::Domain(std::move(shape));
}

std::optional<Type> Inference::Subregion() {
  const SubregionAttr& attr = op_.attr<SubregionAttr>();
  if (op_.operands.size() != 1u + attr.has_start + attr.has_stop) {
    return Fail(DiagnosticCode::kBadStructure, "subregion has other bounds than it announces");
  }
  if (!CheckDomain(0)) return std::nullopt;
  if (attr.has_start && !CheckIndexScalar(1, "the start of a subregion")) return std::nullopt;
  if (attr.has_stop && !CheckIndexScalar(1 + attr.has_start, "the stop of a subregion")) {
    return std::nullopt;
  }
  if (!attr.has_start && !attr.has_stop) return operand(0);
  const auto source = context_.extents.BoundsOf(op_.operands[0]);
  if (!source && !(attr.has_start && attr.has_stop)) {
    return Fail(DiagnosticCode::kBadExtent,
                "a subregion of a domain with unknown bounds needs both start and stop");
  }
  if (source && !source->step.IsConstant(1)) {
    return Fail(DiagnosticCode::kBadExtent,
                "a subregion is cut from a domain of step 1, not " + Text(source->step));
  }
  const Extent start = attr.has_start ? context_.extents.Of(op_.operands[1]) : source->begin;
  const Extent stop = attr.has_stop ? context_.extents.Of(op_.operands.back()) : source->end;
  const Extent extent = stop - start;
  if ((Extent(-1) - extent).ProvablyNonNegative()) {
    return Fail(DiagnosticCode::kOutOfRange,
                "a subregion ends at " + Text(stop) + " before it starts at " + Text(start));
  }
  if (source && (source->begin - start - 1).ProvablyNonNegative()) {
    return Fail(DiagnosticCode::kOutOfRange, "a subregion starts at " + Text(start) +
                                                 ", before its domain's begin " +
                                                 Text(source->begin));
  }
  if (source && (stop - source->end - 1).ProvablyNonNegative()) {
    return Fail(DiagnosticCode::kOutOfRange, "a subregion stops at " + Text(stop) +
                                                 ", after its domain's end " + Text(source->end));
  }
  if (!CheckExtents({extent})) return std::nullopt;
  return Type::Domain({extent});
}

std::optional<Type> Inference::Indices() {
  if (!CheckDomain(0)) return std::nullopt;
  return Type::Tensor(DType::kIndex, operand(0).shape());
}

std::optional<Type> Inference::RegionEnd() {
  if (!CheckDomain(0)) return std::nullopt;
  return Type::Scalar(DType::kIndex);
}

std::optional<Type> Inference::AssumeInBounds() {
  if (!CheckElementwise(0)) return std::nullopt;
  if (!IsInteger(operand(0).dtype()) || !IsAddressable(operand(0).dtype())) {
    return Fail(DiagnosticCode::kBadIndex,
                "an index is of an integer dtype, not " + Text(operand(0)));
  }
  if (!operand(1).IsResource()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "assume_in_bounds takes a view or buffer, not " + Text(operand(1)));
  }
  if (!CheckAxis(op_.attr<AxisAttr>().axis, operand(1).rank())) return std::nullopt;
  return Type::None();
}

}  // namespace intent::infer
