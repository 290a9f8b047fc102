// Stores and scatters whose elements go to addresses of their own (seed 000 chapter 10).

#include "compiler/diag/check.h"
#include "compiler/lower/access.h"

namespace intent::lower {
namespace {

std::optional<RmwKind> RmwOf(CombineKind kind) {
  switch (kind) {
    case CombineKind::kAdd:
      return RmwKind::kAdd;
    case CombineKind::kMaximum:
      return RmwKind::kMax;
    case CombineKind::kMinimum:
      return RmwKind::kMin;
    case CombineKind::kAnd:
      return RmwKind::kAnd;
    case CombineKind::kOr:
      return RmwKind::kOr;
    case CombineKind::kRegion:
    case CombineKind::kArgMax:
      break;
  }
  return std::nullopt;
}

}  // namespace

void Lowerer::ScatterElements(const Relation& bound, const std::vector<ValueId>& captures,
                              bool parallel, const std::function<void(Id, Id)>& put) {
  Relation access = bound;
  const Op& op = *access.op;
  const Resource& resource = *access.source.resource;
  const Type& type = TypeOf(op.operands[1]);
  // Everything is read before anything is written.
  const auto prepare = [&](ValueId id) {
    std::vector<Binding> leaves;
    Of(id).Leaves(&leaves);
    for (const Binding& leaf : leaves) {
      if (leaf.kind != Binding::Kind::kTensor) continue;
      Tensor everything;
      everything.strided = true;
      everything.origin = resource.origin;
      everything.extents = leaf.tensor->extents;
      PrepareStage(leaf, everything);
    }
  };
  prepare(op.operands[1]);
  for (const auto& values : access.values) {
    for (ValueId value : values) prepare(value);
  }
  for (ValueId capture : captures) prepare(capture);
  if (access.valid != kNoValue) prepare(access.valid);
  GuardWindows(access);
  const Binding value = Of(op.operands[1]);
  const std::vector<Id> extents = ExtentIds(type.shape());
  const auto put_point = [&](const std::vector<Coord>& coords, const Context& context) {
    // The value is a value at inactive places too, and may fail there.
    const Id element = Eval(value, coords, context);
    Context inner = context;
    Id active = b().Bool(true);
    if (access.valid != kNoValue) {
      active = Eval(Of(access.valid), coords, context);
      access.outer_mask_known = true;
      inner.mask = active;
      inner.guarded = true;
    }
    const std::vector<Coord> place = SourceCoords(access, coords, inner);
    Id offset = b().Index(0);
    for (size_t axis = 0; axis < place.size(); ++axis) {
      offset = b().Add(offset, b().Mul(CoordTile(place[axis], 1), resource.strides[axis]));
    }
    b().If(active, [&] { put(offset, element); });
  };
  Fence();
  if (parallel) {
    EachElement(extents, {}, true, put_point);
  } else {
    Alone([&] { EachElement(extents, {}, false, put_point); });
  }
  Fence();
}

void Lowerer::LowerScatterUnique(const Op& op) {
  const IndexAttr& attr = op.attr<IndexAttr>();
  if (!attr.has_valid) {
    bool windows = true;
    for (size_t i = 2; i < op.operands.size(); ++i) windows &= !TypeOf(op.operands[i]).IsTensor();
    if (windows) return LowerStore(op, attr);
  }
  const Relation access = BindAccess(op, attr, 2);
  const Id base = access.source.resource->base;
  ScatterElements(access, {}, true,
                  [&](Id offset, Id element) { b().Store(base, offset, element, b().Index(0)); });
  Report(op, "one element at a time" + Tasks());
}

// Updates of one place may come from several tasks, and none is lost: there they are atomic.
void Lowerer::LowerScatterReduce(const Op& op) {
  const ScatterReduceAttr& attr = op.attr<ScatterReduceAttr>();
  const Relation access = BindAccess(op, attr.index, 2);
  const Id base = access.source.resource->base;
  const DType dtype = access.source.resource->dtype;
  size_t first = 2;
  for (const auto& values : access.values) first += values.size();
  const Combine combine = MakeCombine(op, attr.combine, first, {dtype});
  const std::vector<ValueId> captures(op.operands.begin() + static_cast<ptrdiff_t>(first),
                                      op.operands.end());
  const auto combined = [&](Id old, Id update) {
    if (attr.combine == CombineKind::kAdd && IsFloat(dtype)) {
      return b().Rounded(BinaryKind::kAdd, old, update);
    }
    return CombineLeaves(combine, {old}, {update})[0];
  };
  const bool shared = in_parallel_ || OnUnits();
  const std::optional<RmwKind> rmw = IsInteger(dtype) ? RmwOf(attr.combine) : std::nullopt;
  ScatterElements(access, captures, OnUnits(), [&](Id offset, Id update) {
    if (!shared) {
      const Id old = b().Load(base, offset, 1, b().Index(0));
      b().Store(base, offset, combined(old, update), b().Index(0));
    } else if (rmw) {
      b().AtomicRmw(*rmw, base, offset, update, MemoryOrder::kRelaxed);
    } else {
      AtomicUpdate(base, offset, MemoryOrder::kRelaxed,
                   [&](Id old) { return combined(old, update); });
    }
  });
  Report(op, !shared ? "one update after another"
             : rmw   ? "atomic updates"
                     : "updates by compare and exchange");
}

}  // namespace intent::lower
