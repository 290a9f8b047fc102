// The one index relation of loads, stores, gathers, scatters and atomics (language.md 4).

#include "compiler/ir/index_operands.h"
#include "compiler/verify/infer_internal.h"

namespace intent {
namespace {

class RelationInference {
 public:
  RelationInference(const InferContext& context, const Type& source,
                    std::span<const ValueId> operands)
      : context_(context), source_(source), operands_(operands) {}

  std::optional<IndexRelation> Run(const std::vector<IndexTerm>& terms) {
    if (IndexOperands(terms) != operands_.size()) {
      return Fail(DiagnosticCode::kBadStructure,
                  "the index relation has other operands than terms");
    }
    size_t axes = 0;
    for (const IndexTerm& term : terms) axes += term.kind != IndexTermKind::kNewAxis;
    if (axes != source_.shape().size()) {
      return Fail(DiagnosticCode::kRankMismatch,
                  infer::Quantity(axes, "index term") + " for the " +
                      infer::Quantity(source_.shape().size(), "axis") + " of " + Text(source_));
    }
    for (const IndexTerm& term : terms) {
      if (!Add(term)) return std::nullopt;
    }
    if (relation_.has_tensor) {
      relation_.shape.insert(relation_.shape.begin() + static_cast<ptrdiff_t>(joint_at_),
                             joint_.begin(), joint_.end());
    }
    return std::move(relation_);
  }

 private:
  bool Add(const IndexTerm& term) {
    switch (term.kind) {
      case IndexTermKind::kNewAxis:
        relation_.shape.push_back(1);
        return true;
      case IndexTermKind::kFull:
        relation_.shape.push_back(Axis());
        ++axis_;
        return true;
      case IndexTermKind::kStatic:
        return Static(term) && Next();
      case IndexTermKind::kValue:
        return Value(Take()) && Next();
      case IndexTermKind::kRegion:
        return Region(Take()) && Next();
      case IndexTermKind::kSlice: {
        const ValueId start = Take(), stop = Take();
        return Slice(start, stop) && Next();
      }
    }
    return false;
  }

  bool Static(const IndexTerm& term) {
    if (!term.position.resolved()) {
      if (context_.specialized) {
        Fail(DiagnosticCode::kUnboundConstexpr, "an index is still a constexpr");
        return false;
      }
      if (term.position.expr >= context_.module.constexpr_nodes.size()) {
        Fail(DiagnosticCode::kBadReference, "an index refers to no constexpr");
        return false;
      }
      if (context_.module.constexpr_nodes[term.position.expr].kind != ConstexprKind::kInt) {
        Fail(DiagnosticCode::kBadIndex, "a constexpr index is an int");
        return false;
      }
      return InRange(context_.extents.OfConstexpr(term.position.expr));
    }
    return InRange(Extent(term.position.value));
  }

  bool Value(ValueId id) {
    const Type& type = context_.function.type(id);
    if (!type.IsElementwise() || !IsInteger(type.dtype()) || !IsAddressable(type.dtype())) {
      std::string message = "an index is of an integer dtype, not " + Text(type);
      if (type.IsElementwise() && type.dtype() == DType::kBool) {
        message +=
            "; a bool mask selects no elements: use select, a scalar if, or a domain of the "
            "participants";
      }
      Fail(DiagnosticCode::kBadIndex, std::move(message));
      return false;
    }
    if (type.IsScalar()) {
      return type.dtype() != DType::kIndex || InRange(context_.extents.Of(id));
    }
    if (!relation_.has_tensor) {
      relation_.has_tensor = true;
      joint_at_ = relation_.shape.size();
      joint_ = type.shape();
      return true;
    }
    auto joint = BroadcastShapes(joint_, type.shape());
    if (!joint) {
      Fail(DiagnosticCode::kShapeMismatch,
           "tensor indices broadcast jointly, but shapes " + ShapeToString(joint_, context_.namer) +
               " and " + ShapeToString(type.shape(), context_.namer) + " do not agree");
      return false;
    }
    joint_ = std::move(*joint);
    return true;
  }

  bool Region(ValueId id) {
    const Type& type = context_.function.type(id);
    if (!type.IsDomain() || type.rank() != 1) {
      Fail(DiagnosticCode::kBadIndex, "a region index is a domain of one axis, not " + Text(type));
      return false;
    }
    const Extent& count = type.shape()[0];
    relation_.has_region = true;
    relation_.shape.push_back(count);
    const auto bounds = context_.extents.BoundsOf(id);
    if (!bounds || !(count - 1).ProvablyNonNegative()) return true;
    const Extent last = bounds->begin + (count - 1) * bounds->step;
    if ((Extent(-1) - bounds->begin).ProvablyNonNegative() ||
        (last - Axis()).ProvablyNonNegative()) {
      Fail(DiagnosticCode::kOutOfRange, "a domain from " + Text(bounds->begin) + " to " +
                                            Text(bounds->end) + " is out of range of axis " +
                                            std::to_string(axis_) + " with extent " + Text(Axis()));
      return false;
    }
    return true;
  }

  bool Slice(ValueId start, ValueId stop) {
    for (const ValueId bound : {start, stop}) {
      if (context_.function.type(bound).IsScalar(DType::kIndex)) continue;
      Fail(DiagnosticCode::kBadIndex,
           "the bound of a slice is an index scalar, not " + Text(context_.function.type(bound)));
      return false;
    }
    const Extent from = context_.extents.Of(start), to = context_.extents.Of(stop);
    const Extent count = to - from;
    if (!count.valid()) {
      Fail(DiagnosticCode::kBadExtent, "the extent of a slice overflows or is too complex");
      return false;
    }
    if ((Extent(-1) - from).ProvablyNonNegative() || (Extent(-1) - count).ProvablyNonNegative() ||
        (to - Axis() - 1).ProvablyNonNegative()) {
      Fail(DiagnosticCode::kOutOfRange, "slice " + Text(from) + ":" + Text(to) +
                                            " is out of range of axis " + std::to_string(axis_) +
                                            " with extent " + Text(Axis()));
      return false;
    }
    relation_.shape.push_back(count);
    return true;
  }

  bool InRange(const Extent& position) {
    if (!(Extent(-1) - position).ProvablyNonNegative() &&
        !(position - Axis()).ProvablyNonNegative()) {
      return true;
    }
    Fail(DiagnosticCode::kOutOfRange, "index " + Text(position) + " is out of range of axis " +
                                          std::to_string(axis_) + " with extent " + Text(Axis()));
    return false;
  }

  const Extent& Axis() const { return source_.shape()[axis_]; }
  bool Next() {
    ++axis_;
    return true;
  }
  ValueId Take() { return operands_[next_operand_++]; }
  std::string Text(const Type& type) const { return type.ToString(context_.namer); }
  std::string Text(const Extent& extent) const { return extent.ToString(context_.namer); }
  std::nullopt_t Fail(DiagnosticCode code, std::string message) const {
    context_.report(code, std::move(message));
    return std::nullopt;
  }

  const InferContext& context_;
  const Type& source_;
  const std::span<const ValueId> operands_;
  IndexRelation relation_;
  std::vector<Extent> joint_;
  size_t joint_at_ = 0;
  size_t axis_ = 0;
  size_t next_operand_ = 0;
};

}  // namespace

Type IndexRelation::ResultType(DType dtype) const {
  if (shape.empty() && !has_tensor) return Type::Scalar(dtype);
  return Type::Tensor(dtype, shape);
}

std::optional<IndexRelation> InferIndex(const InferContext& context, const Type& source,
                                        const std::vector<IndexTerm>& terms,
                                        std::span<const ValueId> operands) {
  return RelationInference(context, source, operands).Run(terms);
}

}  // namespace intent
