// Loads, stores, scatters, buffers, atomics and random bits.

#include "compiler/ir/index_operands.h"
#include "compiler/verify/infer_internal.h"

namespace intent::infer {
namespace {

bool IsWritable(const Type& type) {
  return type.IsBuffer() || (type.IsView() && type.access() != Access::kIn);
}

// The dtypes of language.md 16 that atomics act on.
bool AtomicDType(OpKind kind, RmwKind rmw, DType dtype) {
  switch (dtype) {
    case DType::kI32:
    case DType::kI64:
    case DType::kU32:
    case DType::kU64:
    case DType::kIndex:
      return true;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      if (kind != OpKind::kAtomicRmw) return true;
      return rmw == RmwKind::kExchange || rmw == RmwKind::kAdd || rmw == RmwKind::kMax ||
             rmw == RmwKind::kMin;
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kU8:
    case DType::kU16:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kI4:
    case DType::kI128:
    case DType::kU128:
    case DType::kF8E4M3:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E4M3B11FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
    case DType::kF4E2M1FN:
      return false;
  }
  return false;
}

}  // namespace

std::optional<Type> Inference::Load() {
  const IndexAttr& attr = op_.attr<IndexAttr>();
  const Type& source = operand(0);
  const bool right = op_.kind == OpKind::kViewLoad     ? source.IsView()
                     : op_.kind == OpKind::kBufferLoad ? source.IsBuffer()
                                                       : source.IsTensor();
  if (!right) {
    return Fail(DiagnosticCode::kTypeMismatch, Name() + " does not read " + Text(source));
  }
  const size_t indices = IndexOperands(attr.terms);
  if (op_.operands.size() != 1 + indices + attr.has_valid + attr.has_fill) {
    return Fail(DiagnosticCode::kBadStructure, Name() + " has other operands than it announces");
  }
  const auto relation =
      InferIndex(context_, source, attr.terms, std::span(op_.operands).subspan(1, indices));
  if (!relation) return std::nullopt;
  const Type result = relation->ResultType(source.dtype());
  if (attr.has_valid) {
    const Type& valid = operand(1 + indices);
    if (valid != result.WithDType(DType::kBool)) {
      return Fail(DiagnosticCode::kTypeMismatch, "the valid operand of a load is " +
                                                     Text(result.WithDType(DType::kBool)) +
                                                     ", not " + Text(valid));
    }
  }
  if (attr.has_fill) {
    const Type& fill = operand(op_.operands.size() - 1);
    if (!fill.IsScalar(source.dtype()) && fill != result) {
      return Fail(
          DiagnosticCode::kTypeMismatch,
          "the fill of a load is " + Text(result) + " or a scalar of its dtype, not " + Text(fill));
    }
  }
  return result;
}

std::optional<Type> Inference::Store() {
  const IndexAttr& attr = op_.attr<IndexAttr>();
  const Type &target = operand(0), &value = operand(1);
  if (op_.kind == OpKind::kViewStore ? !target.IsView() : !target.IsBuffer()) {
    return Fail(DiagnosticCode::kTypeMismatch, Name() + " does not write " + Text(target));
  }
  if (!IsWritable(target)) {
    return Fail(DiagnosticCode::kReadOnly, "an In view is read-only and cannot be written");
  }
  if (attr.has_valid || attr.has_fill) {
    return Fail(DiagnosticCode::kBadStructure, "a store takes no valid or fill operand");
  }
  const size_t indices = IndexOperands(attr.terms);
  if (op_.operands.size() != 2 + indices) {
    return Fail(DiagnosticCode::kBadStructure, Name() + " has other operands than it announces");
  }
  if (!CheckElementwise(1)) return std::nullopt;
  if (!CheckSameDType(1, 0)) return std::nullopt;
  const auto relation =
      InferIndex(context_, target, attr.terms, std::span(op_.operands).subspan(2));
  if (!relation) return std::nullopt;
  if (value.shape() != relation->shape) {
    return Fail(DiagnosticCode::kShapeMismatch, "a value of shape " + Text(value.shape()) +
                                                    " is stored to an index of shape " +
                                                    Text(relation->shape));
  }
  return Type::None();
}

std::optional<Type> Inference::ScatterUnique() {
  const IndexAttr& attr = op_.attr<IndexAttr>();
  const Type &target = operand(0), &value = operand(1);
  if (!target.IsResource()) {
    return Fail(DiagnosticCode::kTypeMismatch, "scatter_unique does not write " + Text(target));
  }
  if (!IsWritable(target)) {
    return Fail(DiagnosticCode::kReadOnly, "an In view is read-only and cannot be written");
  }
  if (attr.has_fill) {
    return Fail(DiagnosticCode::kBadStructure, "a scatter takes no fill operand");
  }
  const size_t indices = IndexOperands(attr.terms);
  if (op_.operands.size() != 2 + indices + attr.has_valid) {
    return Fail(DiagnosticCode::kBadStructure, Name() + " has other operands than it announces");
  }
  if (!CheckElementwise(1) || !CheckSameDType(1, 0)) return std::nullopt;
  const auto relation =
      InferIndex(context_, target, attr.terms, std::span(op_.operands).subspan(2, indices));
  if (!relation) return std::nullopt;
  if (value.shape() != relation->shape) {
    return Fail(DiagnosticCode::kShapeMismatch, "a value of shape " + Text(value.shape()) +
                                                    " is scattered to an index of shape " +
                                                    Text(relation->shape));
  }
  if (attr.has_valid && operand(2 + indices) != value.WithDType(DType::kBool)) {
    return Fail(DiagnosticCode::kTypeMismatch, "the active operand of a scatter is " +
                                                   Text(value.WithDType(DType::kBool)) + ", not " +
                                                   Text(operand(2 + indices)));
  }
  return Type::None();
}

std::optional<Type> Inference::ScatterReduce() {
  const ScatterReduceAttr& attr = op_.attr<ScatterReduceAttr>();
  const Type &target = operand(0), &value = operand(1);
  if (!target.IsView()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "the destination of scatter_reduce is a view, not " + Text(target));
  }
  if (!IsWritable(target)) {
    return Fail(DiagnosticCode::kReadOnly, "an In view is read-only and cannot be written");
  }
  if (attr.index.has_valid || attr.index.has_fill) {
    return Fail(DiagnosticCode::kBadStructure, "scatter_reduce takes no valid or fill operand");
  }
  const size_t indices = IndexOperands(attr.index.terms);
  if (op_.operands.size() < 2 + indices) {
    return Fail(DiagnosticCode::kBadStructure, Name() + " has fewer operands than it announces");
  }
  if (!CheckElementwise(1) || !CheckSameDType(1, 0)) return std::nullopt;
  const auto relation =
      InferIndex(context_, target, attr.index.terms, std::span(op_.operands).subspan(2, indices));
  if (!relation) return std::nullopt;
  if (value.shape() != relation->shape) {
    return Fail(DiagnosticCode::kShapeMismatch, "a value of shape " + Text(value.shape()) +
                                                    " is scattered to an index of shape " +
                                                    Text(relation->shape));
  }
  if (!CheckCombine(attr.combine, Type::Scalar(target.dtype()), 2 + indices)) return std::nullopt;
  return Type::None();
}

std::optional<Type> Inference::Buffer() {
  const Type& buffer = declared();
  if (!buffer.IsBuffer()) {
    return Fail(DiagnosticCode::kDeclaredType, "buffer gives a buffer, not " + Text(buffer));
  }
  if (!IsAddressable(buffer.dtype())) {
    return Fail(DiagnosticCode::kNotAddressable,
                std::string(DTypeName(buffer.dtype())) + " cannot be an element of a buffer");
  }
  if (!CheckExtents(buffer.shape())) return std::nullopt;
  if (op_.operands.empty()) return buffer;
  if (!CheckElementwise(0)) return std::nullopt;
  const Type& init = operand(0);
  if (init.dtype() != buffer.dtype()) {
    return Fail(DiagnosticCode::kDtypeMismatch,
                std::string(DTypeName(init.dtype())) + " cannot initialise a buffer of " +
                    std::string(DTypeName(buffer.dtype())) + "; cast it");
  }
  if (init.IsTensor() && init.shape() != buffer.shape()) {
    return Fail(DiagnosticCode::kShapeMismatch, "a buffer of shape " + Text(buffer.shape()) +
                                                    " is initialised with shape " +
                                                    Text(init.shape()));
  }
  return buffer;
}

std::optional<Type> Inference::Atomic() {
  const AtomicAttr& attr = op_.attr<AtomicAttr>();
  const Type& target = operand(0);
  if (!target.IsResource()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                Name() + " acts on a view or buffer, not " + Text(target));
  }
  const bool load = op_.kind == OpKind::kAtomicLoad;
  if (!load && !IsWritable(target)) {
    return Fail(DiagnosticCode::kReadOnly, "an In view is read-only and cannot be written");
  }
  if ((load && attr.order != MemoryOrder::kRelaxed && attr.order != MemoryOrder::kAcquire) ||
      (op_.kind == OpKind::kAtomicStore && attr.order != MemoryOrder::kRelaxed &&
       attr.order != MemoryOrder::kRelease)) {
    return Fail(DiagnosticCode::kAtomicOrder,
                "order " + std::string(NameOf(attr.order)) + " is not allowed for " + Name() +
                    ", which is relaxed or " + (load ? "acquire" : "release"));
  }
  if (!AtomicDType(op_.kind, attr.rmw, target.dtype())) {
    const std::string what =
        op_.kind == OpKind::kAtomicRmw ? "atomic " + std::string(NameOf(attr.rmw)) : Name();
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                what + " is not defined for " + std::string(DTypeName(target.dtype())) +
                    "; integers of 32 and 64 bits have every atomic operation, floats exchange, "
                    "add, max and min");
  }
  if (attr.index.has_valid || attr.index.has_fill) {
    return Fail(DiagnosticCode::kBadStructure, Name() + " takes no valid or fill operand");
  }
  const size_t values = load ? 0 : op_.kind == OpKind::kAtomicCas ? 2 : 1;
  const size_t indices = IndexOperands(attr.index.terms);
  if (op_.operands.size() != 1 + values + indices) {
    return Fail(DiagnosticCode::kBadStructure, Name() + " has other operands than it announces");
  }
  const auto relation =
      InferIndex(context_, target, attr.index.terms, std::span(op_.operands).subspan(1 + values));
  if (!relation) return std::nullopt;
  if (!relation->ResultType(target.dtype()).IsScalar()) {
    return Fail(DiagnosticCode::kBadIndex,
                Name() + " acts on one element, not on shape " + Text(relation->shape));
  }
  for (size_t i = 1; i <= values; ++i) {
    if (!CheckElementwise(i) || !CheckSameDType(i, 0)) return std::nullopt;
    if (!operand(i).IsScalar()) {
      return Fail(DiagnosticCode::kTypeMismatch,
                  "the value of an atomic is a scalar, not " + Text(operand(i)));
    }
  }
  const Type element = Type::Scalar(target.dtype());
  if (op_.kind == OpKind::kAtomicStore) return Type::None();
  if (op_.kind != OpKind::kAtomicCas) return element;
  return Type::Record({"old_value", "success"}, {element, Type::Scalar(DType::kBool)});
}

std::optional<Type> Inference::RandomBits() {
  if (!operand(0).IsScalar(DType::kU64)) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "the seed of random bits is a u64 scalar, not " + Text(operand(0)));
  }
  if (!CheckElementwise(1)) return std::nullopt;
  if (operand(1).dtype() != DType::kU64 && operand(1).dtype() != DType::kIndex) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                "the counter of random bits is u64 or index, not " + Text(operand(1)));
  }
  return operand(1).WithDType(DType::kU32);
}

}  // namespace intent::infer
