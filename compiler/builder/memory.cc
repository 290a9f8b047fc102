// Loads, gathers, stores, scatters, buffers.

#include "compiler/builder/state.h"

namespace intent {

Operand KernelBuilder::State::LoadElements(ValueId source, const Relation& relation,
                                           std::optional<ValueId> valid,
                                           std::optional<ValueId> fill) {
  const Type& type = TypeOf(source);
  const OpKind kind = type.IsView()     ? OpKind::kViewLoad
                      : type.IsBuffer() ? OpKind::kBufferLoad
                                        : OpKind::kGather;
  std::vector<ValueId> operands = {source};
  operands.insert(operands.end(), relation.operands.begin(), relation.operands.end());
  if (valid) operands.push_back(*valid);
  if (fill) operands.push_back(*fill);
  return Emit(kind, Type::None(), std::move(operands),
              IndexAttr{relation.terms, valid.has_value(), fill.has_value()});
}

Operand KernelBuilder::Load(const Operand& source, std::span<const IndexItem> index) {
  return Gather(source, index, std::nullopt, std::nullopt);
}

Operand KernelBuilder::Gather(const Operand& source, std::span<const IndexItem> index,
                              std::optional<Operand> valid, std::optional<Operand> fill) {
  State& s = *state_;
  if (!s.Usable(source) || (valid && !s.Usable(*valid)) || (fill && !s.Usable(*fill))) return {};
  if (!source.IsValue() ||
      !(s.TypeOf(source.value()).IsResource() || s.TypeOf(source.value()).IsTensor())) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "only views, buffers and tensors are indexed, not " + s.Describe(source));
  }
  const Type type = s.TypeOf(source.value());
  const auto relation = s.Index(type, source.value(), index);
  if (!relation) return {};
  const Type result = relation->result.ResultType(type.dtype());
  std::optional<ValueId> valid_value, fill_value;
  if (valid) {
    Operand tests = s.Materialize(*valid);
    if (!tests.IsValue() || !s.CheckElementwise(tests, "the valid operand of a gather")) return {};
    if (s.TypeOf(tests.value()).dtype() != DType::kBool) {
      return s.Fail(DiagnosticCode::kTypeMismatch,
                    "the valid operand of a gather is bool, not " + s.Describe(tests));
    }
    tests = s.BroadcastTo(tests, result.shape(), result.IsTensor());
    if (!tests.IsValue()) return {};
    valid_value = tests.value();
  }
  if (fill) {
    Operand value = s.Instantiate(*fill, type.dtype());
    if (!value.IsValue()) return {};
    if (s.TypeOf(value.value()).IsTensor()) {
      value = s.BroadcastTo(value, result.shape(), result.IsTensor());
    }
    if (!value.IsValue()) return {};
    fill_value = value.value();
  }
  return s.LoadElements(source.value(), *relation, valid_value, fill_value);
}

// --- Writes.

bool KernelBuilder::State::CheckWritable(const Operand& resource, const char* what) {
  if (!resource.IsValue() || !TypeOf(resource.value()).IsResource()) {
    Fail(DiagnosticCode::kTypeMismatch,
         std::string(what) + " writes a view or buffer, not " + Describe(resource) +
             (resource.IsValue() && TypeOf(resource.value()).IsTensor()
                  ? "; a tensor is immutable: I.select makes a changed one, I.buffer(..., init=...) "
                    "holds one that changes"
                  : ""));
    return false;
  }
  const Type& type = TypeOf(resource.value());
  if (!type.IsView() || type.access() != Access::kIn) return true;
  Fail(DiagnosticCode::kReadOnly,
       "an In view is read-only and cannot be written: " + Describe(type) +
           "; declare it InOut, or write to an Out view");
  return false;
}

Operand KernelBuilder::State::StoredValue(const Type& target, const Relation& relation,
                                          const Operand& value) {
  if (value.IsPoison() || !CheckElementwise(value, "a stored value")) return {};
  const Type result = relation.result.ResultType(target.dtype());
  Operand stored = value;
  if (IsCompileTime(value)) {
    stored = Instantiate(value, target.dtype());
    if (!stored.IsValue()) return {};
  }
  const Type type = TypeOf(stored.value());
  if (type.dtype() != target.dtype()) {
    const std::string dtype(DTypeName(target.dtype()));
    return Fail(DiagnosticCode::kDtypeMismatch,
                "a value of dtype " + std::string(DTypeName(type.dtype())) + " is stored to " +
                    dtype + "; cast it to " + dtype);
  }
  // Element counts of rank 0 agree without an operation.
  if (type.shape() == result.shape()) return stored;
  if (BroadcastsTo(type.shape(), result.shape())) return BroadcastTo(stored, result.shape(), true);
  std::string message = "a value of shape " + ShapeToString(type.shape(), namer) +
                        " does not broadcast to the indexed shape " +
                        ShapeToString(result.shape(), namer);
  if (relation.result.has_region && relation.result.has_tensor) {
    message += "; a domain and a tensor index give independent axes, tensor indices pair up";
  } else if (type.rank() > result.rank()) {
    message += "; a store never reduces the rank";
  } else {
    message += ColumnHint(type.shape(), result.shape());
  }
  return Fail(
      type.rank() > result.rank() ? DiagnosticCode::kRankMismatch : DiagnosticCode::kShapeMismatch,
      std::move(message));
}

void KernelBuilder::Store(const Operand& resource, std::span<const IndexItem> index,
                          const Operand& value) {
  State& s = *state_;
  if (!s.Usable(resource) || !s.CheckWritable(resource, "an assignment")) return;
  const Type target = s.TypeOf(resource.value());
  const auto relation = s.Index(target, resource.value(), index);
  if (!relation || !s.Usable(value)) return;
  const Operand stored = s.StoredValue(target, *relation, value);
  if (!stored.IsValue()) return;
  std::vector<ValueId> operands = {resource.value(), stored.value()};
  operands.insert(operands.end(), relation->operands.begin(), relation->operands.end());
  s.Emit(target.IsView() ? OpKind::kViewStore : OpKind::kBufferStore, Type::None(),
         std::move(operands), IndexAttr{relation->terms});
}

void KernelBuilder::ScatterUnique(const Operand& view, std::span<const IndexItem> index,
                                  const Operand& value) {
  State& s = *state_;
  if (!s.Usable(view) || !s.CheckWritable(view, "scatter_unique")) return;
  const Type target = s.TypeOf(view.value());
  const auto relation = s.Index(target, view.value(), index);
  if (!relation || !s.Usable(value)) return;
  const Operand stored = s.StoredValue(target, *relation, value);
  if (!stored.IsValue()) return;
  std::vector<ValueId> operands = {view.value(), stored.value()};
  operands.insert(operands.end(), relation->operands.begin(), relation->operands.end());
  s.Emit(OpKind::kScatterUnique, Type::None(), std::move(operands), IndexAttr{relation->terms});
}

void KernelBuilder::ScatterReduce(const Operand& view, std::span<const IndexItem> index,
                                  const Operand& value, CombineKind kind, RegionPtr combine) {
  State& s = *state_;
  if (!s.Usable(view) || !s.CheckWritable(view, "scatter_reduce")) return;
  const Type target = s.TypeOf(view.value());
  const auto relation = s.Index(target, view.value(), index);
  if (!relation || !s.Usable(value)) return;
  const Operand stored = s.StoredValue(target, *relation, value);
  if (!stored.IsValue()) return;
  std::vector<RegionPtr> regions;
  if (kind == CombineKind::kRegion) {
    if (!s.Takes(combine)) return;
    regions.push_back(std::move(combine));
  }
  std::vector<ValueId> operands = {view.value(), stored.value()};
  operands.insert(operands.end(), relation->operands.begin(), relation->operands.end());
  s.Emit(OpKind::kScatterReduce, Type::None(), std::move(operands),
         ScatterReduceAttr{IndexAttr{relation->terms}, kind}, std::move(regions));
}

Operand KernelBuilder::Buffer(std::span<const Operand> shape, DType dtype,
                              std::optional<Operand> init) {
  State& s = *state_;
  if (!s.Usable(shape) || (init && !s.Usable(*init))) return {};
  const auto extents = s.Shape(shape);
  if (!extents) return {};
  std::vector<ValueId> operands;
  if (init) {
    Operand value = s.Instantiate(*init, dtype);
    if (!value.IsValue()) return {};
    if (s.TypeOf(value.value()).IsTensor()) value = s.BroadcastTo(value, *extents, true);
    if (!value.IsValue()) return {};
    operands.push_back(value.value());
  }
  return s.Emit(OpKind::kBuffer, Type::Buffer(dtype, *extents), std::move(operands));
}

}  // namespace intent
