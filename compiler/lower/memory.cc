// Views, buffers and indexed accesses. One relation serves reads, writes and gathers (language.md
// 4).

#include "compiler/diag/check.h"
#include "compiler/driver/intent_call.h"
#include "compiler/lower/access.h"

namespace intent::lower {

Lowerer::Relation Lowerer::BindAccess(const Op& op, const IndexAttr& attr, size_t first_operand) {
  Relation access;
  access.op = &op;
  access.attr = &attr;
  access.source = Of(op.operands[0]);
  access.source_value = op.operands[0];
  access.source_type = TypeOf(op.operands[0]);
  size_t next = first_operand;
  int joint_rank = -1;
  for (const IndexTerm& term : attr.terms) {
    std::vector<Binding> operands;
    std::vector<ValueId> values;
    const int count = term.kind == IndexTermKind::kSlice ? 2
                      : term.kind == IndexTermKind::kValue || term.kind == IndexTermKind::kRegion
                          ? 1
                          : 0;
    for (int i = 0; i < count; ++i) {
      values.push_back(op.operands[next]);
      operands.push_back(Of(op.operands[next++]));
    }
    if (term.kind == IndexTermKind::kValue && TypeOf(values[0]).IsTensor()) {
      joint_rank = std::max(joint_rank, TypeOf(values[0]).rank());
    }
    access.operands.push_back(std::move(operands));
    access.values.push_back(std::move(values));
  }
  access.joint_rank = joint_rank;
  if (attr.has_valid) access.valid = op.operands[next++];
  if (attr.has_fill) access.fill = op.operands[next++];
  if (access.source.kind == Binding::Kind::kResource) {
    const Resource& resource = *access.source.resource;
    access.parameter =
        resource.origin.kind == MemoryOrigin::Kind::kView ? resource.origin.view : -1;
  }
  return access;
}

namespace {

// What is built meanwhile is the access's own: its errors name the operation that reads or writes,
// not the stage that asked for the element.
class OrdinalScope {
 public:
  OrdinalScope(tile::TileBuilder* builder, uint32_t ordinal)
      : builder_(builder), outer_(builder->ordinal()) {
    builder_->SetOrdinal(ordinal);
  }
  ~OrdinalScope() { builder_->SetOrdinal(outer_); }
  OrdinalScope(const OrdinalScope&) = delete;

 private:
  tile::TileBuilder* builder_;
  uint32_t outer_;
};

}  // namespace

bool Lowerer::NeedsGuard(const Relation& access, int axis, Inside inside) {
  AccessBounds& known =
      access_bounds_.try_emplace({access.op->ordinal, axis}, access.op, inside).first->second;
  known.inside = std::max(known.inside, inside);
  return inside == Inside::kUnknown && options_.bounds == Bounds::kGuard;
}

// A region must lie inside its axis; an empty one touches nothing.
void Lowerer::GuardRegion(const Relation& access, size_t term, Id begin, Id step, Id count,
                          const Context& context) {
  const OrdinalScope scope(&b(), access.op->ordinal);
  const int axis = access.SourceAxis(term);
  const Extent& extent = access.source_type.shape()[axis];
  const ValueId domain = access.values[term][0];
  const Op* op = function_.value(domain).op;
  // A coordinate of the region is a value like a loop's: the range analysis knows domains by their
  // indices.
  Inside proof = tile_values_.contains(domain) ? Inside::kProven : Inside::kUnknown;
  if (op != nullptr && op->kind == OpKind::kDomain) {
    const Extent low = ranges_.ExtentOf(op->operands[0]);
    const Extent high = ranges_.ExtentOf(op->operands[1]);
    if (low.ProvablyNonNegative() && (extent - high).ProvablyNonNegative()) proof = Inside::kProven;
  }
  if (!NeedsGuard(access, axis, proof)) return;
  const Id limit = ExtentId(extent);
  const Id last = b().Add(begin, b().Mul(b().Sub(count, b().Index(1)), step));
  Id empty = b().LessEqual(count, b().Index(0));
  if (context.mask != kNoId) empty = b().Or(empty, b().Not(context.mask));
  const Id inside = b().And(b().LessEqual(b().Index(0), begin), b().Less(last, limit));
  const Id offending = b().Select(b().Less(begin, b().Index(0)), begin, last);
  b().Guard(b().Or(empty, inside), offending, limit, INTENT_OUT_OF_BOUNDS, access.parameter, axis);
}

void Lowerer::GuardWindows(const Relation& access) {
  for (size_t i = 0; i < access.attr->terms.size(); ++i) {
    const IndexTermKind kind = access.attr->terms[i].kind;
    if (kind == IndexTermKind::kRegion && access.valid == kNoValue) {
      const DomainAxis& domain = access.operands[i][0].domain[0];
      GuardRegion(access, i, domain.begin, domain.step, domain.extent, {});
      BoundExtent(TypeOf(access.values[i][0]).shape()[0], domain.extent,
                  ExtentId(access.source_type.shape()[access.SourceAxis(i)]));
    } else if (kind == IndexTermKind::kSlice && options_.bounds == Bounds::kGuard) {
      const OrdinalScope scope(&b(), access.op->ordinal);
      const Id start = Eval(access.operands[i][0], {}, {});
      const Id stop = Eval(access.operands[i][1], {}, {});
      b().Guard(b().LessEqual(start, stop), stop, start, INTENT_OUT_OF_BOUNDS, access.parameter,
                access.SourceAxis(i));
    }
  }
}

// An index value of one or more lanes must lie inside its axis where it is active.
void Lowerer::GuardIndex(const Relation& access, size_t term, Id index, const Context& context) {
  const OrdinalScope scope(&b(), access.op->ordinal);
  const int axis = access.SourceAxis(term);
  const Extent& extent = access.source_type.shape()[axis];
  const IndexTerm& kind = access.attr->terms[term];
  Inside proof = Inside::kUnknown;
  if (kind.kind == IndexTermKind::kValue) {
    const ValueId value = access.values[term][0];
    if (ranges_.Inside(value, extent)) {
      proof = Inside::kProven;
    } else if (assumed_.contains({value, access.source_value, axis})) {
      proof = Inside::kAssumed;
    }
  } else if (kind.kind == IndexTermKind::kStatic &&
             (extent - 1 - Extent(kind.position.value)).ProvablyNonNegative()) {
    proof = Inside::kProven;
  } else if (kind.kind == IndexTermKind::kRegion && tile_values_.contains(access.values[term][0])) {
    proof = Inside::kProven;
  }
  if (!NeedsGuard(access, axis, proof)) return;
  const Id limit = ExtentId(extent);
  Id inside = b().And(b().LessEqual(b().Index(0), index), b().Less(index, limit));
  const auto guard = [&](Id holds, Id offending) {
    b().Guard(holds, offending, limit, INTENT_OUT_OF_BOUNDS, access.parameter, axis);
  };
  // Which lane is wrong is asked where one is.
  const auto guard_lanes = [&] {
    if (context.mask != kNoId) inside = b().Or(inside, b().Not(context.mask));
    const Id all = b().ReduceLanes(CombineKind::kAnd, inside);
    b().If(b().Not(all), [&] {
      guard(all, b().ReduceLanes(CombineKind::kMaximum,
                                 b().Select(inside, b().Index(INT64_MIN), index)));
    });
  };
  const bool has_lanes = context.mask != kNoId && b().lanes(context.mask) > 1;
  if (b().lanes(inside) > 1) {
    guard_lanes();
  } else if (has_lanes) {
    b().If(b().Not(inside), guard_lanes);
  } else {
    if (context.mask != kNoId) inside = b().Or(inside, b().Not(context.mask));
    guard(inside, index);
  }
}

void Lowerer::ReportBounds() {
  int64_t counts[3] = {};
  for (const auto& [place, bounds] : access_bounds_) {
    ++counts[static_cast<size_t>(bounds.inside)];
    const std::string axis = "axis " + std::to_string(place.second);
    if (bounds.inside == Inside::kAssumed) {
      Report(*bounds.op, ReportTopic::kBounds, axis + " has no guard: assume_in_bounds");
    } else if (bounds.inside == Inside::kUnknown) {
      Report(*bounds.op, ReportTopic::kBounds,
             axis + (options_.bounds == Bounds::kGuard
                         ? " is guarded: its index is not proven to lie inside"
                         : " has no guard: bounds=trust"));
    }
  }
  if (access_bounds_.empty()) return;
  report_.push_back({ReportTopic::kBounds, kNoOrdinal,
                     std::to_string(access_bounds_.size()) +
                         " indexed axes: " + std::to_string(counts[0]) + " proven inside, " +
                         std::to_string(counts[1]) + " assumed, " + std::to_string(counts[2]) +
                         (options_.bounds == Bounds::kGuard ? " guarded" : " trusted")});
}

TensorPtr Lowerer::AffineWindow(const Relation& access) {
  if (access.joint_rank >= 0 || access.valid != kNoValue) return nullptr;
  Id base;
  std::vector<Id> source_strides, source_extents;
  MemoryOrigin origin;
  DType dtype;
  std::vector<int> separated;
  if (access.source.kind == Binding::Kind::kResource) {
    const Resource& resource = *access.source.resource;
    base = resource.base;
    source_strides = resource.strides;
    source_extents = resource.extents;
    origin = resource.origin;
    dtype = resource.dtype;
  } else {
    const Tensor& tensor = *access.source.tensor;
    if (!tensor.strided) return nullptr;
    base = tensor.base;
    source_strides = tensor.strides;
    source_extents = tensor.extents;
    origin = tensor.origin;
    dtype = tensor.dtype;
    separated = tensor.separated;
  }
  // An empty window reaches nothing, wherever it points.
  Id occupied = b().Bool(true);
  for (size_t i = 0, source_axis = 0; i < access.attr->terms.size(); ++i) {
    Id extent = kNoId;
    switch (access.attr->terms[i].kind) {
      case IndexTermKind::kNewAxis:
        continue;
      case IndexTermKind::kFull:
        extent = source_extents[source_axis];
        break;
      case IndexTermKind::kRegion:
        extent = access.operands[i][0].domain[0].extent;
        break;
      case IndexTermKind::kSlice:
        extent = b().Sub(Eval(access.operands[i][1], {}, {}), Eval(access.operands[i][0], {}, {}));
        break;
      case IndexTermKind::kStatic:
      case IndexTermKind::kValue:
        break;
    }
    if (extent != kNoId) occupied = b().And(occupied, b().Less(b().Index(0), extent));
    ++source_axis;
  }
  Context context;
  if (const ScalarValue* known = b().ConstantOf(occupied); known == nullptr || known->bits == 0) {
    context.mask = occupied;
  }
  Id offset = b().Index(0);
  std::vector<Id> extents, strides;
  size_t axis = 0;
  for (size_t i = 0; i < access.attr->terms.size(); ++i) {
    const IndexTerm& term = access.attr->terms[i];
    switch (term.kind) {
      case IndexTermKind::kFull:
        extents.push_back(source_extents[axis]);
        strides.push_back(source_strides[axis]);
        break;
      case IndexTermKind::kStatic: {
        const Id index = b().Index(term.position.value);
        GuardIndex(access, i, index, context);
        offset = b().Add(offset, b().Mul(index, source_strides[axis]));
        break;
      }
      case IndexTermKind::kValue: {
        const Id index = b().Cast(Eval(access.operands[i][0], {}, {}), DType::kIndex);
        GuardIndex(access, i, index, context);
        offset = b().Add(offset, b().Mul(index, source_strides[axis]));
        break;
      }
      case IndexTermKind::kRegion: {
        const DomainAxis& domain = access.operands[i][0].domain[0];
        GuardRegion(access, i, domain.begin, domain.step, domain.extent, context);
        offset = b().Add(offset, b().Mul(domain.begin, source_strides[axis]));
        extents.push_back(BoundExtent(TypeOf(access.values[i][0]).shape()[0], domain.extent,
                                      source_extents[axis]));
        strides.push_back(b().Mul(domain.step, source_strides[axis]));
        break;
      }
      case IndexTermKind::kSlice: {
        const Id start = Eval(access.operands[i][0], {}, {});
        const Id stop = Eval(access.operands[i][1], {}, {});
        const Id limit = source_extents[axis];
        const int place = static_cast<int>(axis);
        if (NeedsGuard(access, place, Inside::kUnknown)) {
          const Id empty = b().Not(occupied);
          b().Guard(b().LessEqual(start, stop), stop, start, INTENT_OUT_OF_BOUNDS, access.parameter,
                    place);
          b().Guard(b().Or(empty, b().LessEqual(b().Index(0), start)), start, limit,
                    INTENT_OUT_OF_BOUNDS, access.parameter, place);
          b().Guard(b().Or(empty, b().LessEqual(stop, limit)), stop, limit, INTENT_OUT_OF_BOUNDS,
                    access.parameter, place);
        }
        offset = b().Add(offset, b().Mul(start, source_strides[axis]));
        extents.push_back(BoundExtent(
            ranges_.ExtentOf(access.values[i][1]) - ranges_.ExtentOf(access.values[i][0]),
            b().Sub(stop, start), limit));
        strides.push_back(source_strides[axis]);
        break;
      }
      case IndexTermKind::kNewAxis:
        extents.push_back(b().Index(1));
        strides.push_back(b().Index(0));
        continue;
    }
    ++axis;
  }
  TensorPtr window = NewStrided(dtype, extents, b().MemOffset(base, offset), strides, origin);
  window->separated = std::move(separated);
  return window;
}

Binding Lowerer::LowerLoad(const Op& op, const IndexAttr& attr) {
  const Relation access = BindAccess(op, attr, 1);
  const Type& type = ResultType(op);
  TensorPtr tensor = AffineWindow(access);
  if (tensor == nullptr) {
    std::vector<Binding> operands;
    for (ValueId operand : op.operands) operands.push_back(Of(operand));
    GuardWindows(access);
    auto lazy = std::make_shared<Tensor>();
    lazy->serial = ++serials_;
    lazy->dtype = type.dtype();
    lazy->extents = ExtentIds(type.shape());
    lazy->op = &op;
    lazy->operands = std::move(operands);
    tensor = lazy;
  }
  if (type.IsScalar()) return Binding::Scalar(EvalTensor(*tensor, {}, {}));
  if (OriginOf(*tensor).kind != MemoryOrigin::Kind::kPrivate)
    pending_.emplace_back(op.result, tensor);
  return Binding::OfTensor(std::move(tensor));
}

std::vector<Coord> Lowerer::SourceCoords(const Relation& access, const std::vector<Coord>& coords,
                                         const Context& context) {
  std::vector<Coord> source;
  size_t result_axis = 0;
  int joint_begin = -1;
  // The first tensor index fixes where the merged axes stand.
  for (size_t i = 0; i < access.attr->terms.size(); ++i) {
    const IndexTerm& term = access.attr->terms[i];
    switch (term.kind) {
      case IndexTermKind::kFull:
        source.push_back(coords[result_axis++]);
        break;
      case IndexTermKind::kStatic: {
        const Id index = b().Index(term.position.value);
        GuardIndex(access, i, index, context);
        source.push_back(CoordOf(index));
        break;
      }
      case IndexTermKind::kValue: {
        const Type& type = TypeOf(access.values[i][0]);
        std::vector<Coord> inner;
        if (type.IsTensor()) {
          if (joint_begin < 0) {
            joint_begin = static_cast<int>(result_axis);
            result_axis += access.joint_rank;
          }
          // Right-aligned among the merged axes; extents of 1 spread.
          const int lead = access.joint_rank - type.rank();
          for (int axis = 0; axis < type.rank(); ++axis) {
            inner.push_back(type.shape()[axis].IsConstant(1) ? CoordOf(b().Index(0))
                                                             : coords[joint_begin + lead + axis]);
          }
        }
        // The index itself is read for every lane of the stage, active in this gather or not.
        Context plain = context;
        if (access.outer_mask_known) {
          plain.mask = access.outer_mask;
          plain.guarded = access.outer_guarded;
        }
        const Id index = b().Cast(Eval(access.operands[i][0], inner, plain), DType::kIndex);
        GuardIndex(access, i, index, context);
        source.push_back(CoordOf(index));
        break;
      }
      case IndexTermKind::kRegion: {
        const DomainAxis& domain = access.operands[i][0].domain[0];
        Coord coord = ScaleCoord(coords[result_axis++], domain.step, context.lanes);
        coord = AddCoord(coord, domain.begin);
        if (access.valid != kNoValue)
          GuardIndex(access, i, CoordTile(coord, context.lanes), context);
        source.push_back(coord);
        break;
      }
      case IndexTermKind::kSlice: {
        const Id start = Eval(access.operands[i][0], {}, {});
        Coord coord = AddCoord(coords[result_axis++], start);
        GuardIndex(access, i, CoordTile(coord, context.lanes), context);
        source.push_back(coord);
        break;
      }
      case IndexTermKind::kNewAxis:
        ++result_axis;
        break;
    }
  }
  return source;
}

Id Lowerer::EvalIndexed(const Tensor& tensor, const std::vector<Coord>& coords,
                        const Context& context) {
  const Op& op = *tensor.op;
  Relation access = BindAccess(op, op.attr<IndexAttr>(), 1);
  access.source = tensor.operands[0];
  Context inner = context;
  const Type& result = ResultType(op);
  Id valid = kNoId, fill = kNoId;
  const auto aligned = [&](ValueId value) {
    const Type& type = TypeOf(value);
    return type.IsTensor() ? BroadcastCoords(type, result, coords) : std::vector<Coord>{};
  };
  if (access.valid != kNoValue) {
    valid = Eval(Of(access.valid), aligned(access.valid), context);
    access.outer_mask_known = true;
    access.outer_mask = context.mask;
    access.outer_guarded = context.guarded;
    inner.mask = context.mask == kNoId ? valid : b().And(context.mask, valid);
    inner.guarded = true;
    fill = access.fill != kNoValue ? Eval(Of(access.fill), aligned(access.fill), context)
                                   : ZeroOf(result.dtype());
  }
  const std::vector<Coord> source = SourceCoords(access, coords, inner);
  Id value;
  if (access.source.kind == Binding::Kind::kResource) {
    const Resource& resource = *access.source.resource;
    Tensor memory;
    memory.dtype = resource.dtype;
    memory.extents = resource.extents;
    memory.strided = true;
    memory.base = resource.base;
    memory.strides = resource.strides;
    value = EvalStrided(memory, source, inner);
  } else {
    value = Eval(access.source, source, inner);
  }
  return valid == kNoId ? value : b().Select(valid, value, fill);
}

void Lowerer::LowerStore(const Op& op, const IndexAttr& attr) {
  const Relation access = BindAccess(op, attr, 2);
  const Binding value = Of(op.operands[1]);
  const TensorPtr target = AffineWindow(access);
  if (target != nullptr) {
    if (target->rank() == 0) {
      const Id element = Eval(value, {}, {});
      Fence();
      b().Store(target->base, b().Index(0), element, b().Index(0));
      Fence();
      return;
    }
    PrepareStage(value, *target);
    const int32_t lanes =
        StoreStage(value, target->extents, target->base, target->strides, {}, true, target->origin);
    Report(op, "one loop nest, " + std::to_string(lanes) + " lanes" + Tasks(/*divisible=*/true));
    return;
  }
  // Through index tensors.
  const Id base = access.source.resource->base;
  ScatterElements(access, {}, false,
                  [&](Id offset, Id element) { b().Store(base, offset, element, b().Index(0)); });
  Report(op, "one element at a time, on one thread: places may coincide");
}

}  // namespace intent::lower
