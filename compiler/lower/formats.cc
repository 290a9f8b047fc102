// Scaled and sparse contractions (seed 000 chapter 7): operands decoded where the contraction asks
// for an element.

#include "compiler/driver/intent_call.h"
#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

bool IsPacked(ScaledFormat format) {
  return format == ScaledFormat::kE2M1E8M0 || format == ScaledFormat::kE2M1E4M3;
}
bool HasExponentScale(ScaledFormat format) {
  return format == ScaledFormat::kE2M1E8M0 || format == ScaledFormat::kE4M3E8M0;
}

}  // namespace

// The four bits of each code as f64.
Id Lowerer::DecodeE2M1(Id code) {
  const auto word = [&](uint64_t value) { return b().Const({DType::kU32, value}); };
  // Twice each magnitude, 0 1 2 3 4 6 8 12, in four bits.
  const Id place = b().Mul(b().Binary(BinaryKind::kAnd, code, word(7)), word(4));
  const Id twice =
      b().Binary(BinaryKind::kAnd, b().Binary(BinaryKind::kShr, word(0xC8643210), place), word(15));
  const Id half = b().Const({DType::kF64, 0x3fe0000000000000});
  const Id magnitude = b().Mul(b().Cast(twice, DType::kF64), half);
  const Id negative =
      b().Compare(CompareKind::kNe, b().Binary(BinaryKind::kAnd, code, word(8)), word(0));
  return b().Select(negative, b().Unary(UnaryKind::kNegate, magnitude), magnitude);
}

// 2^(code - 127) as f64; 255 is NaN.
Id Lowerer::DecodeE8M0(Id code) {
  const auto word = [&](uint64_t value) { return b().Const({DType::kU64, value}); };
  const Id wide = b().Cast(code, DType::kU64);
  const Id bits = b().Binary(BinaryKind::kShl, b().Add(wide, word(1023 - 127)), word(52));
  const Id power = b().Bitcast(bits, DType::kF64);
  return b().Select(b().Equal(wide, word(255)), b().Const({DType::kF64, 0x7ff8000000000000}),
                    power);
}

// carriers[.., carrier, ..] times scales[free, group] as [.., element, ..], exactly, in f64.
TensorPtr Lowerer::DecodeScaled(const Binding& carriers, const Binding& scales, ScaledFormat format,
                                int free_axis, int group_axis, int element_axis, int64_t size) {
  std::vector<Id> extents = carriers.tensor->extents;
  extents[element_axis] = b().Index(size);
  const auto rule = [=, this](const std::vector<Coord>& coords, const Context& context) {
    std::vector<Coord> at = coords;
    const Coord& element = coords[element_axis];
    const int32_t lanes = element.uniform() ? 1 : context.lanes;
    const Id position = CoordTile(element, lanes);
    if (IsPacked(format)) at[element_axis] = CoordOf(b().FloorDiv(position, b().Index(2)));
    const Id carrier = Eval(carriers, at, context);
    Id value;
    if (IsPacked(format)) {
      const Id odd = b().Binary(BinaryKind::kAnd, b().Cast(position, DType::kU32),
                                b().Const({DType::kU32, 1}));
      const Id shift = b().Mul(odd, b().Const({DType::kU32, 4}));
      value = DecodeE2M1(b().Binary(BinaryKind::kShr, b().Cast(carrier, DType::kU32), shift));
    } else {
      value = b().Cast(carrier, DType::kF64);
    }
    const Id code = Eval(scales, {coords[free_axis], coords[group_axis]}, context);
    return b().Mul(HasExponentScale(format) ? DecodeE8M0(code) : b().Cast(code, DType::kF64),
                   value);
  };
  std::vector<int> follows{0, 1, 2};
  if (IsPacked(format)) follows[element_axis] = -1;
  return NewComputed(DType::kF64, extents, {carriers, scales}, {follows, {free_axis, group_axis}},
                     rule);
}

// Products of decoded values leave the range of f32 where their sums need not: f64 holds them all.
void Lowerer::LowerScaledContract(const Op& op) {
  const ScaledAttr& attr = op.attr<ScaledAttr>();
  const Type& result = ResultType(op);
  const int64_t size = attr.group_size.value;
  const TensorPtr lhs =
      DecodeScaled(Of(op.operands[0]), Of(op.operands[1]), attr.lhs, 0, 1, 2, size);
  const TensorPtr rhs =
      DecodeScaled(Of(op.operands[2]), Of(op.operands[3]), attr.rhs, 2, 0, 1, size);
  const DType dtype = result.dtype();
  const TensorPtr sums =
      AllocateDense(IsFloat(dtype) ? DType::kF64 : DType::kI64, ExtentIds(result.shape()));
  Contract(op, Binding::OfTensor(lhs), Binding::OfTensor(rhs), {.reduce = {{1, 0}, {2, 1}}}, sums);
  const auto round = [this, sums, dtype](const std::vector<Coord>& coords, const Context& context) {
    return b().Cast(EvalTensor(*sums, coords, context), dtype);
  };
  Bind(op.result, Binding::OfTensor(sums->dtype == dtype
                                        ? sums
                                        : NewComputed(dtype, sums->extents,
                                                      {Binding::OfTensor(sums)}, {{0, 1}}, round)));
}

// Metadata only ever meets the position in its group by comparison; still, what names no increasing
// position is an error of the call.
void Lowerer::LowerSparseContract(const Op& op) {
  const SparseAttr& attr = op.attr<SparseAttr>();
  const Binding compressed = Of(op.operands[0]), dense = Of(op.operands[2]);
  std::vector<Binding> metadata;
  Of(op.operands[1]).Leaves(&metadata);
  const int axis = static_cast<int>(attr.compression_axis.value);
  const int64_t kept = static_cast<int64_t>(metadata.size()), group = 2 * kept;
  int64_t paired = 0;
  for (const AxisPair& pair : attr.contract.reduce) {
    if (pair.lhs.value == axis) paired = pair.rhs.value;
  }
  const Id logical = dense.tensor->extents[paired];
  const Id groups = b().FloorDiv(logical, b().Index(group));
  const auto agree = [&](Id have, Id want) {
    if (have == want) return;
    b().Guard(b().Equal(have, want), have, want, INTENT_BAD_SHAPE, -1, -1);
  };
  agree(b().Mul(groups, b().Index(group)), logical);
  agree(compressed.tensor->extents[axis], b().Mul(groups, b().Index(kept)));
  const std::vector<Id> places = metadata[0].tensor->extents;
  agree(places[axis], groups);
  if (options_.bounds == Bounds::kGuard) {
    const auto check = [&](const Window& window) {
      ForEachPoint(
          places, -1, 1, {}, window, [&](const std::vector<Coord>& coords, const Context& context) {
            Id previous = b().Index(-1);
            for (const Binding& part : metadata) {
              const Id position = Eval(part, coords, context);
              b().Guard(b().And(b().Less(previous, position), b().Less(position, b().Index(group))),
                        position, b().Index(group), INTENT_BAD_VALUE, -1, -1);
              previous = position;
            }
          });
    };
    InParallel(places[0], Product({places.begin() + 1, places.end()}), check);
  }

  const DType dtype = compressed.tensor->dtype;
  std::vector<Id> extents = compressed.tensor->extents;
  extents[axis] = logical;
  const auto spread = [=, this](const std::vector<Coord>& coords, const Context& context) {
    const int32_t lanes = coords[axis].uniform() ? 1 : context.lanes;
    const Id k = CoordTile(coords[axis], lanes);
    const Id at_group = b().FloorDiv(k, b().Index(group));
    const Id position = b().Mod(k, b().Index(group));
    std::vector<Coord> at = coords;
    at[axis] = CoordOf(at_group);
    const Id first = b().Equal(Eval(metadata[0], at, context), position);
    Id stored = first;
    if (kept == 2) {
      const Id second = b().Equal(Eval(metadata[1], at, context), position);
      stored = b().Or(first, second);
      const Id place = b().Select(second, b().Index(1), b().Index(0));
      at[axis] = CoordOf(b().Add(b().Mul(at_group, b().Index(2)), place));
    }
    return b().Select(stored, Eval(compressed, at, context), ZeroOf(dtype));
  };
  std::vector<int> follows;
  for (int i = 0; i < compressed.tensor->rank(); ++i) follows.push_back(i == axis ? -1 : i);
  std::vector<Binding> operands{compressed};
  operands.insert(operands.end(), metadata.begin(), metadata.end());
  const TensorPtr lhs = NewComputed(
      dtype, extents, operands, std::vector<std::vector<int>>(operands.size(), follows), spread);
  const Type& result = ResultType(op);
  const TensorPtr output = AllocateDense(result.dtype(), ExtentIds(result.shape()));
  Bind(op.result, Binding::OfTensor(output));
  Contract(op, Binding::OfTensor(lhs), dense, attr.contract, output);
}

}  // namespace intent::lower
