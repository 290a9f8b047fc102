#include "compiler/lower/range.h"

namespace intent::lower {
namespace {

constexpr int kMaxDepth = 48;

}  // namespace

RangeAnalysis::RangeAnalysis(const Module& module, const Function& function)
    : function_(function), extents_(module, function) {
  ForEachOp(function.body, [&](const Op& op) {
    for (const auto& region : op.regions) owners_[region.get()] = &op;
  });
}

std::optional<Range> RangeAnalysis::Of(ValueId id, int depth) const {
  if (depth > kMaxDepth) return std::nullopt;
  const Value& value = function_.value(id);
  const Type& type = value.type;
  if (type.IsScalar(DType::kIndex)) {
    // Dims, constants and polynomials of them are known exactly, unless loop variables are inside.
    const Extent exact = ExtentOf(id);
    bool opaque = false;
    exact.ForEachLeaf([&](AtomKind kind, uint32_t) { opaque |= kind == AtomKind::kValue; });
    if (!opaque) return Range{exact, exact};
  }
  if (value.op == nullptr) return OfArgument(value);
  return OfOp(*value.op, depth + 1);
}

// A loop's coordinate lies in its domain.
std::optional<Range> RangeAnalysis::OfArgument(const Value& value) const {
  const auto owner = owners_.find(value.block);
  if (owner == owners_.end()) return std::nullopt;
  const OpKind kind = owner->second->kind;
  if (kind != OpKind::kFor && kind != OpKind::kParallel) return std::nullopt;
  return OfDomain(owner->second->operands[0], value.position);
}

std::optional<Range> RangeAnalysis::OfDomain(ValueId id, uint32_t axis) const {
  const Op* op = function_.value(id).op;
  if (op == nullptr) return std::nullopt;
  switch (op->kind) {
    case OpKind::kDomain:
      if (axis != 0) return std::nullopt;
      return Range{LowOf(op->operands[0]), HighOf(op->operands[1]) - 1};
    case OpKind::kSubregion: {
      // A subregion lies inside its source; its own bounds may be tighter but are data.
      std::optional<Range> range = OfDomain(op->operands[0], 0);
      const SubregionAttr& attr = op->attr<SubregionAttr>();
      if (axis != 0 || !range) return std::nullopt;
      size_t next = 1;
      if (attr.has_start) {
        const Extent start = ExtentOf(op->operands[next++]);
        if ((start - range->low).ProvablyNonNegative()) range->low = start;
      }
      if (attr.has_stop) {
        const Extent stop = ExtentOf(op->operands[next]) - 1;
        if ((range->high - stop).ProvablyNonNegative()) range->high = stop;
      }
      return range;
    }
    case OpKind::kDomainProduct:
      if (axis >= op->operands.size()) return std::nullopt;
      return OfDomain(op->operands[axis], 0);
    default:
      return std::nullopt;
  }
}

// A bound that is itself a loop variable is replaced by the far end of its range.
Extent RangeAnalysis::LowOf(ValueId id) const {
  const std::optional<Range> range = Of(id, kMaxDepth / 2);
  return range ? range->low : ExtentOf(id);
}
Extent RangeAnalysis::HighOf(ValueId id) const {
  const std::optional<Range> range = Of(id, kMaxDepth / 2);
  return range ? range->high : ExtentOf(id);
}

std::optional<Range> RangeAnalysis::OfOp(const Op& op, int depth) const {
  const auto operand = [&](size_t i) { return Of(op.operands[i], depth); };
  switch (op.kind) {
    case OpKind::kConstant: {
      const ScalarValue& value = op.attr<ConstantAttr>().value;
      if (!IsInteger(value.dtype) || BitWidth(value.dtype) > 64) return std::nullopt;
      const int shift = 64 - BitWidth(value.dtype);
      const int64_t wide = static_cast<int64_t>(static_cast<uint64_t>(value.bits) << shift);
      if (IsUnsignedInteger(value.dtype) && wide < 0 && shift == 0) return std::nullopt;
      const int64_t number = IsSignedInteger(value.dtype)
                                 ? wide >> shift
                                 : static_cast<int64_t>(static_cast<uint64_t>(wide) >> shift);
      return Range{Extent(number), Extent(number)};
    }
    case OpKind::kIndices:
      return OfDomain(op.operands[0], 0);
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kBroadcast:
    case OpKind::kFull:
      return operand(0);
    case OpKind::kGather:
      return op.attr<IndexAttr>().has_valid ? std::nullopt : operand(0);
    case OpKind::kCast: {
      // Widening to a signed 64-bit type keeps values; others may wrap.
      const Type& from = function_.type(op.operands[0]);
      const DType to = function_.type(op.result).dtype();
      if (to != DType::kIndex && to != DType::kI64) return std::nullopt;
      if (IsUnsignedInteger(from.dtype()) && BitWidth(from.dtype()) < 64) {
        const std::optional<Range> inner = operand(0);
        if (inner) return inner;
        return Range{Extent(0), Extent((int64_t{1} << BitWidth(from.dtype())) - 1)};
      }
      return IsSignedInteger(from.dtype()) ? operand(0) : std::nullopt;
    }
    case OpKind::kSelect: {
      const auto a = operand(1), b = operand(2);
      if (!a || !b) return std::nullopt;
      return Range{Extent::Min(a->low, b->low), Extent::Max(a->high, b->high)};
    }
    case OpKind::kBinary:
      return OfBinary(op, depth);
    default:
      return std::nullopt;
  }
}

std::optional<Range> RangeAnalysis::OfBinary(const Op& op, int depth) const {
  const DType dtype = function_.type(op.result).dtype();
  if (dtype != DType::kIndex && dtype != DType::kI64) return std::nullopt;
  const auto a = Of(op.operands[0], depth), b = Of(op.operands[1], depth);
  const BinaryKind kind = op.attr<BinaryAttr>().kind;
  if (kind == BinaryKind::kMod && b && (b->low - 1).ProvablyNonNegative()) {
    return Range{Extent(0), b->high - 1};
  }
  if (!a || !b) return std::nullopt;
  switch (kind) {
    case BinaryKind::kAdd:
      return Range{a->low + b->low, a->high + b->high};
    case BinaryKind::kSub:
      return Range{a->low - b->high, a->high - b->low};
    case BinaryKind::kMul:
      if (a->low.ProvablyNonNegative() && b->low.ProvablyNonNegative()) {
        return Range{a->low * b->low, a->high * b->high};
      }
      return std::nullopt;
    case BinaryKind::kFloorDiv:
      if (b->low.IsConstant() && b->low == b->high && b->low.constant() > 0) {
        return Range{Extent::FloorDiv(a->low, b->low), Extent::FloorDiv(a->high, b->low)};
      }
      return std::nullopt;
    case BinaryKind::kMaximum:
      return Range{Extent::Max(a->low, b->low), Extent::Max(a->high, b->high)};
    case BinaryKind::kMinimum:
      return Range{Extent::Min(a->low, b->low), Extent::Min(a->high, b->high)};
    default:
      return std::nullopt;
  }
}

bool RangeAnalysis::Inside(ValueId value, const Extent& extent) const {
  const std::optional<Range> range = Of(value);
  if (!range) return false;
  return range->low.ProvablyNonNegative() && (extent - 1 - range->high).ProvablyNonNegative();
}

}  // namespace intent::lower
