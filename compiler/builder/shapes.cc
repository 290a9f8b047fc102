// Shapes, products.

#include <algorithm>
#include <set>

#include "compiler/builder/state.h"

namespace intent {

std::optional<int64_t> KernelBuilder::State::Axis(int64_t axis, int rank) {
  const int64_t position = axis < 0 ? axis + rank : axis;
  if (position >= 0 && position < rank) return position;
  Fail(DiagnosticCode::kBadAxis, "axis " + std::to_string(axis) + " is out of range of " +
                                     std::to_string(rank) + (rank == 1 ? " axis" : " axes"));
  return std::nullopt;
}

std::optional<std::vector<int64_t>> KernelBuilder::State::Axes(std::span<const int64_t> axes,
                                                               int rank) {
  std::vector<int64_t> positions;
  for (const int64_t axis : axes) {
    const auto position = Axis(axis, rank);
    if (!position) return std::nullopt;
    positions.push_back(*position);
  }
  std::sort(positions.begin(), positions.end());
  if (positions.empty() ||
      std::adjacent_find(positions.begin(), positions.end()) != positions.end()) {
    Fail(DiagnosticCode::kBadAxis,
         positions.empty() ? "at least one axis is needed" : "an axis is named more than once");
    return std::nullopt;
  }
  return positions;
}

Operand KernelBuilder::Full(std::span<const Operand> shape, const Operand& fill, DType dtype) {
  State& s = *state_;
  if (!s.Usable(shape) || !s.Usable(fill)) return {};
  const auto extents = s.Shape(shape);
  if (!extents) return {};
  Operand value = s.Instantiate(fill, dtype);
  if (!value.IsValue()) return {};
  if (s.TypeOf(value.value()).IsTensor()) {
    if (s.TypeOf(value.value()).rank() != 0) {
      return s.Fail(DiagnosticCode::kTypeMismatch,
                    "the fill of full is a scalar, not " + s.Describe(value));
    }
    value = s.BroadcastTo(value, {}, false);
  }
  return s.Emit(OpKind::kFull, Type::Tensor(dtype, *extents), {value.value()});
}

Operand KernelBuilder::Reshape(const Operand& x, std::span<const Operand> shape) {
  State& s = *state_;
  if (!s.Usable(x) || !s.Usable(shape) || !s.CheckElementwise(x, "the operand of a reshape")) {
    return {};
  }
  const Operand value = s.Materialize(x);
  if (!value.IsValue()) return {};
  const Type source = s.TypeOf(value.value());
  std::vector<Operand> entries(shape.begin(), shape.end());
  std::optional<size_t> inferred;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto literal = s.LiteralOf(entries[i]);
    if (!literal || literal->kind != Literal::Kind::kInt || literal->int_value != -1) continue;
    if (inferred) {
      return s.Fail(DiagnosticCode::kElementCount, "a reshape infers at most one extent");
    }
    inferred = i;
    entries[i] = IntLiteral(1);
  }
  auto extents = s.Shape(entries);
  if (!extents) return {};
  if (inferred) {
    const Extent count = ElementCount(source.shape()), rest = ElementCount(*extents);
    const Extent missing = Extent::FloorDiv(count, rest);
    if (!missing.valid() ||
        (count.IsConstant() && rest.IsConstant() && count.constant() % rest.constant() != 0)) {
      return s.Fail(DiagnosticCode::kElementCount,
                    "no extent fits: " + s.Describe(source) + " has " + count.ToString(s.namer) +
                        " elements, the other extents give " + rest.ToString(s.namer));
    }
    (*extents)[*inferred] = missing;
  }
  if (source.IsTensor() && source.shape() == *extents) return value;
  return s.Emit(OpKind::kReshape, Type::Tensor(source.dtype(), std::move(*extents)),
                {value.value()});
}

Operand KernelBuilder::Transpose(const Operand& x,
                                 std::optional<std::vector<int64_t>> permutation) {
  State& s = *state_;
  if (!s.Usable(x) || !s.CheckElementwise(x, "the operand of a transpose")) return {};
  const Operand value = s.Materialize(x);
  if (!value.IsValue()) return {};
  const int rank = s.TypeOf(value.value()).rank();
  AxesAttr attr;
  if (permutation) {
    for (const int64_t axis : *permutation) attr.axes.push_back(axis < 0 ? axis + rank : axis);
  } else {
    for (int i = rank; i-- > 0;) attr.axes.push_back(i);
  }
  return s.Emit(OpKind::kTranspose, Type::None(), {value.value()}, std::move(attr));
}

Operand KernelBuilder::Broadcast(const Operand& x, std::span<const Operand> shape) {
  State& s = *state_;
  if (!s.Usable(x) || !s.Usable(shape) || !s.CheckElementwise(x, "the operand of a broadcast")) {
    return {};
  }
  const auto extents = s.Shape(shape);
  const Operand value = s.Materialize(x);
  if (!extents || !value.IsValue()) return {};
  return s.BroadcastTo(value, *extents, true);
}

Operand KernelBuilder::Join(const Operand& a, const Operand& b) {
  State& s = *state_;
  if (!s.Usable(a) || !s.Usable(b)) return {};
  const auto met = s.Meet(a, b, "the operand of a join");
  if (!met) return {};
  return s.Emit(OpKind::kJoin, Type::None(), {(*met)[0].value(), (*met)[1].value()});
}

std::optional<std::vector<ValueId>> KernelBuilder::State::Fields(std::span<const Operand> fields) {
  if (!Usable(fields)) return std::nullopt;
  std::vector<ValueId> values;
  for (const Operand& field : fields) {
    const Operand value = Materialize(field);
    if (!value.IsValue()) return std::nullopt;
    values.push_back(value.value());
  }
  return values;
}

Operand KernelBuilder::MakeTuple(std::span<const Operand> fields) {
  auto values = state_->Fields(fields);
  if (!values) return {};
  return state_->Emit(OpKind::kMakeTuple, Type::None(), std::move(*values));
}

Operand KernelBuilder::MakeRecord(std::span<const std::string> names,
                                  std::span<const Operand> fields) {
  State& s = *state_;
  auto values = s.Fields(fields);
  if (!values) return {};
  std::vector<std::string> unique(names.begin(), names.end());
  if (unique.empty() || unique.size() != values->size() ||
      std::set<std::string>(unique.begin(), unique.end()).size() != unique.size()) {
    return s.Fail(DiagnosticCode::kBadArguments,
                  "a record has at least one component, each with a name of its own");
  }
  std::vector<Type> types;
  for (const ValueId value : *values) types.push_back(s.TypeOf(value));
  return s.Emit(OpKind::kMakeRecord, Type::Record(std::move(unique), std::move(types)),
                std::move(*values));
}

Operand KernelBuilder::Extract(const Operand& product, int64_t position) {
  State& s = *state_;
  if (!s.Usable(product)) return {};
  if (!product.IsValue() || !s.TypeOf(product.value()).IsProduct()) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "only tuples and records have components, not " + s.Describe(product));
  }
  const auto count = static_cast<int64_t>(s.TypeOf(product.value()).fields().size());
  const int64_t at = position < 0 ? position + count : position;
  if (at < 0 || at >= count) {
    return s.Fail(DiagnosticCode::kOutOfRange, "position " + std::to_string(position) +
                                                   " is out of range of " + s.Describe(product));
  }
  const Op* op = s.function->value(product.value()).op;
  if (op != nullptr && (op->kind == OpKind::kMakeTuple || op->kind == OpKind::kMakeRecord)) {
    return Operand::OfValue(op->operands[at]);
  }
  return s.Emit(OpKind::kExtract, Type::None(), {product.value()}, AxisAttr{at});
}

Operand KernelBuilder::Field(const Operand& record, const std::string& name) {
  State& s = *state_;
  if (!s.Usable(record)) return {};
  if (record.IsValue() && s.TypeOf(record.value()).kind() == TypeKind::kRecord) {
    const std::vector<std::string>& names = s.TypeOf(record.value()).names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return Extract(record, found - names.begin());
  }
  return s.Fail(DiagnosticCode::kUnknownName, s.Describe(record) + " has no field " + name);
}

}  // namespace intent
