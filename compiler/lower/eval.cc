// Elements of lazy tensors: every function here emits code for one point (or `lanes` points) of a
// stage.

#include <algorithm>

#include "compiler/diag/check.h"
#include "compiler/lower/lowerer.h"
#include "compiler/plan/reshape.h"

namespace intent::lower {

Id Lowerer::CoordTile(const Coord& coord, int32_t lanes) {
  if (coord.general != kNoId) return coord.general;
  if (coord.step == 0 || lanes == 1) return coord.base;
  const Id offsets = b().Mul(b().Iota(lanes), b().Splat(b().Index(coord.step), lanes));
  return b().Add(b().Splat(coord.base, lanes), coord.step == 1 ? b().Iota(lanes) : offsets);
}

Coord Lowerer::CoordOf(Id tile) {
  Coord coord;
  if (b().lanes(tile) == 1) {
    coord.base = tile;
  } else {
    coord.general = tile;
  }
  return coord;
}

Coord Lowerer::AddCoord(const Coord& a, Id scalar) {
  Coord sum = a;
  if (a.general != kNoId) {
    sum.general = b().Add(a.general, scalar);
  } else {
    sum.base = b().Add(a.base, scalar);
  }
  return sum;
}

Coord Lowerer::ScaleCoord(const Coord& a, Id scalar, int32_t lanes) {
  const ScalarValue* constant = b().ConstantOf(scalar);
  Coord scaled;
  if (a.uniform()) {
    scaled.base = b().Mul(a.base, scalar);
  } else if (a.general == kNoId && constant != nullptr &&
             !__builtin_mul_overflow(a.step, static_cast<int64_t>(constant->bits), &scaled.step)) {
    scaled.base = b().Mul(a.base, scalar);
  } else {
    scaled = CoordOf(b().Mul(CoordTile(a, lanes), scalar));
  }
  return scaled;
}

Coord Lowerer::SumCoords(const Coord& a, const Coord& c, int32_t lanes) {
  if (a.general == kNoId && c.general == kNoId) {
    Coord sum;
    sum.base = b().Add(a.base, c.base);
    sum.step = a.step + c.step;
    return sum;
  }
  return CoordOf(b().Add(CoordTile(a, lanes), CoordTile(c, lanes)));
}

Id Lowerer::Eval(const Binding& binding, const std::vector<Coord>& coords, const Context& context) {
  if (binding.kind == Binding::Kind::kScalar) return binding.scalar;
  INTENT_CHECK(binding.kind == Binding::Kind::kTensor) << "only scalars and tensors have elements";
  return EvalTensor(*binding.tensor, coords, context);
}

Id Lowerer::EvalTensor(const Tensor& tensor, const std::vector<Coord>& coords,
                       const Context& context) {
  if (const Id result = RecallResult(tensor, coords); result != kNoId) return result;
  // One value of one tensor at one point is computed once in a block.
  std::string key = "t" + std::to_string(tensor.serial) + (context.unit != nullptr ? "u" : "g") +
                    std::to_string(context.lanes) + "m" + std::to_string(context.mask);
  for (const Coord& coord : coords) {
    key += "," + std::to_string(coord.base) + "+" + std::to_string(coord.step) + ":" +
           std::to_string(coord.general);
  }
  if (const Id known = b().Recall(key); known != kNoId) return known;
  const Id value = tensor.strided               ? EvalStrided(tensor, coords, context)
                   : tensor.computed != nullptr ? tensor.computed->element(coords, context)
                                                : EvalLazy(tensor, coords, context);
  b().Remember(key, value);
  return value;
}

Id Lowerer::EvalStrided(const Tensor& tensor, const std::vector<Coord>& coords,
                        const Context& context) {
  Id offset = b().Index(0);
  Id lane_stride = b().Index(0);
  Id varying = kNoId;  // offsets of coordinates that follow no line
  bool uniform = true;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const Coord& coord = coords[axis];
    const Id stride = tensor.strides[axis];
    if (coord.general != kNoId) {
      const Id part = b().Mul(coord.general, stride);
      varying = varying == kNoId ? part : b().Add(varying, part);
      uniform = false;
      continue;
    }
    offset = b().Add(offset, b().Mul(coord.base, stride));
    if (coord.step != 0 && context.lanes > 1) {
      uniform = false;
      const bool unit =
          context.unit != nullptr && coord.step == 1 &&
          std::find(context.unit->begin(), context.unit->end(), stride) != context.unit->end();
      lane_stride =
          b().Add(lane_stride, unit ? b().Index(1) : b().Mul(b().Index(coord.step), stride));
    }
  }
  if (uniform) {
    const Id mask = context.guarded ? b().ReduceLanes(CombineKind::kOr, context.mask) : kNoId;
    return b().Load(tensor.base, offset, 1, b().Index(0), mask);
  }
  if (varying == kNoId) {
    return b().Load(tensor.base, offset, context.lanes, lane_stride, context.mask);
  }
  if (!b().IsIndex(lane_stride, 0)) {
    varying = b().Add(varying, b().Mul(b().Iota(context.lanes), lane_stride));
  }
  return b().Gather(tensor.base, b().Add(varying, offset), context.mask);
}

Id Lowerer::EvalLazy(const Tensor& tensor, const std::vector<Coord>& coords,
                     const Context& context) {
  const std::vector<Binding>& operands = tensor.operands;
  if (tensor.op == nullptr) {
    std::vector<Coord> source;
    for (const WindowAxis& at : tensor.window) {
      source.push_back(at.axis < 0 ? CoordOf(at.begin) : AddCoord(coords[at.axis], at.begin));
    }
    return Eval(operands[0], source, context);
  }
  const Op& op = *tensor.op;
  switch (op.kind) {
    case OpKind::kIndices: {
      const DomainAxis& axis = operands[0].domain[0];
      if (context.lanes == 1 || coords[0].uniform()) {
        return b().Add(axis.begin, b().Mul(CoordTile(coords[0], 1), axis.step));
      }
      return b().Add(b().Mul(CoordTile(coords[0], context.lanes), axis.step), axis.begin);
    }
    case OpKind::kReshape:
      return Eval(operands[0],
                  ReshapeCoords(tensor, TypeOf(op.operands[0]).shape(), ResultType(op).shape(),
                                coords, context.lanes),
                  context);
    case OpKind::kTranspose: {
      const auto& axes = op.attr<AxesAttr>().axes;
      std::vector<Coord> source(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) source[axes[i].value] = coords[i];
      return Eval(operands[0], source, context);
    }
    case OpKind::kBroadcast:
      return Eval(operands[0], BroadcastCoords(TypeOf(op.operands[0]), ResultType(op), coords),
                  context);
    case OpKind::kFull:
      return Eval(operands[0], {}, context);
    case OpKind::kJoin: {
      std::vector<Coord> source(coords.begin(), coords.end() - 1);
      const Id first = b().Equal(CoordTile(coords.back(), context.lanes), b().Index(0));
      const Id lhs = Eval(operands[0], source, context);
      const Id rhs = Eval(operands[1], source, context);
      return b().Select(first, lhs, rhs);
    }
    case OpKind::kGather:
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad:
      return EvalIndexed(tensor, coords, context);
    default: {
      std::vector<Id> ids;
      for (const Binding& operand : operands) ids.push_back(Eval(operand, coords, context));
      return EvalPointwise(op, ids);
    }
  }
}

Id Lowerer::EvalPointwise(const Op& op, const std::vector<Id>& x) {
  switch (op.kind) {
    case OpKind::kUnary: {
      const UnaryAttr& attr = op.attr<UnaryAttr>();
      return b().Unary(attr.kind, x[0], attr.approximate.value != 0, attr.flush_to_zero.value != 0);
    }
    case OpKind::kBinary: {
      const BinaryAttr& attr = op.attr<BinaryAttr>();
      return b().Binary(attr.kind, x[0], x[1], attr.approximate.value != 0,
                        attr.flush_to_zero.value != 0);
    }
    case OpKind::kCompare:
      return b().Compare(op.attr<CompareAttr>().kind, x[0], x[1]);
    case OpKind::kSelect:
      return b().Select(x[0], x[1], x[2]);
    case OpKind::kMask:
      return b().Select(x[1], x[0], x[2]);
    case OpKind::kCast:
      return b().Cast(x[0], ResultType(op).dtype());
    case OpKind::kSaturatingCast:
      return b().SaturatingCast(x[0], ResultType(op).dtype());
    case OpKind::kBitcast:
      return b().Bitcast(x[0], ResultType(op).dtype());
    case OpKind::kRandomBits:
      return PhiloxBits(x[0], x[1]);
    case OpKind::kConstant:
      return b().Const(op.attr<ConstantAttr>().value);
    case OpKind::kFull:
    case OpKind::kBroadcast:
    case OpKind::kReshape:
      return x[0];
    default:
      INTENT_UNREACHABLE() << InfoOf(op.kind).name << " is not pointwise";
      return kNoId;
  }
}

std::vector<Coord> Lowerer::BroadcastCoords(const Type& from, const Type& to,
                                            const std::vector<Coord>& coords) {
  std::vector<Coord> source;
  if (!from.IsTensor()) return source;
  const int lead = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool spread = from.shape()[axis].IsConstant(1) && !to.shape()[axis + lead].IsConstant(1);
    source.push_back(spread ? CoordOf(b().Index(0)) : coords[axis + lead]);
  }
  return source;
}

std::vector<Coord> Lowerer::ReshapeCoords(const Tensor& tensor, const std::vector<Extent>& from,
                                          const std::vector<Extent>& to,
                                          const std::vector<Coord>& coords, int32_t lanes) {
  std::vector<Coord> source(from.size(), CoordOf(b().Index(0)));
  for (const plan::AxisRun& run : plan::MatchRuns(from, to)) {
    // All of the run's coordinate goes to its one axis that is not of extent 1.
    int target = -1;
    for (int i = run.from_begin; i < run.from_end; ++i) {
      if (!from[i].IsConstant(1) || target < 0) target = i;
    }
    if (target < 0) continue;
    Coord linear = CoordOf(b().Index(0));
    bool first = true;
    for (int j = run.to_begin; j < run.to_end; ++j) {
      if (to[j].IsConstant(1)) continue;
      if (first) {
        linear = coords[j];
        first = false;
        continue;
      }
      const Id extent = tensor.extents[j];
      linear = SumCoords(ScaleCoord(linear, extent, lanes), coords[j], lanes);
    }
    source[target] = linear;
  }
  return source;
}

}  // namespace intent::lower
