// Index relations as authors write them: ellipsis, missing axes, negative positions, open slices.

#include "compiler/builder/state.h"

namespace intent {

bool KernelBuilder::State::StaticTerm(const Type& source, size_t axis, const Operand& position,
                                      Relation* relation) {
  const auto refuse = [&] {
    std::string message = "an index is of an integer dtype, not " + Describe(position);
    const auto literal = LiteralOf(position);
    if (literal && literal->kind == Literal::Kind::kBool) message += "; a bool is a mask";
    Fail(DiagnosticCode::kBadIndex, std::move(message));
    return false;
  };
  IndexTerm term{.kind = IndexTermKind::kStatic};
  if (const auto literal = LiteralOf(position)) {
    if (literal->kind != Literal::Kind::kInt) return refuse();
    __int128 value = literal->int_value;
    const Extent& extent = source.shape()[axis];
    if (value < 0 && !extent.IsConstant()) {
      Fail(DiagnosticCode::kBadIndex, "a negative index needs a static extent, but axis " +
                                          std::to_string(axis) + " of " + Describe(source) +
                                          " has extent " + extent.ToString(namer) +
                                          "; subtract from the shape instead");
      return false;
    }
    if (value < 0) value += extent.constant();
    if (value < 0 || value > INT64_MAX) {
      Fail(DiagnosticCode::kOutOfRange, "index " + LiteralText(*literal) +
                                            " is out of range of axis " + std::to_string(axis) +
                                            " with extent " + extent.ToString(namer));
      return false;
    }
    term.position = static_cast<int64_t>(value);
  } else {
    if (module->constexpr_nodes[position.constexpr_id()].kind != ConstexprKind::kInt) {
      return refuse();
    }
    term.position = StaticInt::Ref(position.constexpr_id());
  }
  relation->terms.push_back(term);
  return true;
}

std::optional<ValueId> KernelBuilder::State::SliceBound(const Type& source, size_t axis,
                                                        const std::optional<Operand>& bound,
                                                        bool is_stop, ValueId source_value) {
  Operand value;
  if (!bound) {
    value = is_stop ? Emit(OpKind::kDim, Type::None(), {source_value},
                           AxisAttr{static_cast<int64_t>(axis)})
                    : IndexConstant(0);
  } else {
    value = *bound;
    const auto literal = LiteralOf(value);
    if (literal && literal->kind == Literal::Kind::kInt && literal->int_value < 0) {
      const Extent& extent = source.shape()[axis];
      if (!extent.IsConstant()) {
        Fail(DiagnosticCode::kBadIndex, "a negative bound needs a static extent, but axis " +
                                            std::to_string(axis) + " of " + Describe(source) +
                                            " has extent " + extent.ToString(namer));
        return std::nullopt;
      }
      value = IntLiteral(literal->int_value + extent.constant());
    }
    value = IndexScalar(value, "the bound of a slice");
  }
  if (!value.IsValue()) return std::nullopt;
  return value.value();
}

bool KernelBuilder::State::IndexItemTerm(const Type& source, ValueId source_value, size_t axis,
                                         const IndexItem& item, Relation* relation) {
  switch (item.kind) {
    case IndexItem::Kind::kFull:
      relation->terms.push_back({.kind = IndexTermKind::kFull});
      return true;
    case IndexItem::Kind::kSlice: {
      if (!item.start && !item.stop) {
        relation->terms.push_back({.kind = IndexTermKind::kFull});
        return true;
      }
      const auto start = SliceBound(source, axis, item.start, false, source_value);
      const auto stop = SliceBound(source, axis, item.stop, true, source_value);
      if (!start || !stop) return false;
      relation->terms.push_back({.kind = IndexTermKind::kSlice});
      relation->operands.push_back(*start);
      relation->operands.push_back(*stop);
      return true;
    }
    case IndexItem::Kind::kOperand:
      if (IsCompileTime(item.operand)) return StaticTerm(source, axis, item.operand, relation);
      relation->terms.push_back({.kind = TypeOf(item.operand.value()).IsDomain()
                                             ? IndexTermKind::kRegion
                                             : IndexTermKind::kValue});
      relation->operands.push_back(item.operand.value());
      return true;
    case IndexItem::Kind::kNewAxis:
    case IndexItem::Kind::kEllipsis:
      break;
  }
  return false;
}

std::optional<KernelBuilder::State::Relation> KernelBuilder::State::Index(
    const Type& source, ValueId source_value, std::span<const IndexItem> items) {
  size_t axes = 0, ellipses = 0;
  for (const IndexItem& item : items) {
    if (item.kind == IndexItem::Kind::kEllipsis) {
      ++ellipses;
    } else if (item.kind != IndexItem::Kind::kNewAxis) {
      ++axes;
    }
    bool usable = item.kind != IndexItem::Kind::kOperand || Usable(item.operand);
    if (item.start) usable = Usable(*item.start) && usable;
    if (item.stop) usable = Usable(*item.stop) && usable;
    if (!usable) return std::nullopt;
  }
  const size_t rank = source.shape().size();
  if (axes > rank) {
    Fail(DiagnosticCode::kRankMismatch,
         std::to_string(axes) + (axes == 1 ? " index" : " indices") + " for the " +
             std::to_string(rank) + (rank == 1 ? " axis of " : " axes of ") + Describe(source) +
             (rank == 0 ? "; rank 0 is read and written as [()]"
                        : "; a slice stands for an existing axis, None makes a new one"));
    return std::nullopt;
  }
  if (ellipses > 1) {
    Fail(DiagnosticCode::kRankMismatch, "an index has at most one ellipsis");
    return std::nullopt;
  }
  Relation relation;
  size_t axis = 0;
  const auto skip = [&] {
    for (size_t i = axes; i < rank; ++i, ++axis) {
      relation.terms.push_back({.kind = IndexTermKind::kFull});
    }
  };
  for (const IndexItem& item : items) {
    if (item.kind == IndexItem::Kind::kNewAxis) {
      relation.terms.push_back({.kind = IndexTermKind::kNewAxis});
    } else if (item.kind == IndexItem::Kind::kEllipsis) {
      skip();
    } else {
      if (!IndexItemTerm(source, source_value, axis, item, &relation)) return std::nullopt;
      ++axis;
    }
  }
  if (ellipses == 0) skip();
  auto result = InferIndex(Context(), source, relation.terms, relation.operands);
  if (!result) return std::nullopt;
  relation.result = std::move(*result);
  return relation;
}

}  // namespace intent
