#include "compiler/verify/value_extents.h"

namespace intent {
namespace {

using Combine = Extent (*)(const Extent&, const Extent&);

Extent Add(const Extent& a, const Extent& b) { return a + b; }
Extent Sub(const Extent& a, const Extent& b) { return a - b; }
Extent Mul(const Extent& a, const Extent& b) { return a * b; }

// The polynomial operation that a binary kind stands for; null: none.
Combine CombineOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Add;
    case BinaryKind::kSub:
      return Sub;
    case BinaryKind::kMul:
      return Mul;
    case BinaryKind::kFloorDiv:
      return Extent::FloorDiv;
    case BinaryKind::kMod:
      return Extent::Mod;
    case BinaryKind::kMaximum:
      return Extent::Max;
    case BinaryKind::kMinimum:
      return Extent::Min;
    case BinaryKind::kDiv:
    case BinaryKind::kPow:
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      return nullptr;
  }
  return nullptr;
}

// The operands whose extents an operation's extent is made of.
bool UsesOperands(const Op& op) {
  if (op.kind == OpKind::kUnary) return op.attr<UnaryAttr>().kind == UnaryKind::kNegate;
  return op.kind == OpKind::kBinary && CombineOf(op.attr<BinaryAttr>().kind) != nullptr;
}

}  // namespace

Extent ValueExtents::Known(const Memo& memo, uint32_t key, const Extent& otherwise) {
  const auto found = memo.find(key);
  return found != memo.end() && found->second ? *found->second : otherwise;
}

Extent ValueExtents::Of(ValueId id) {
  std::vector<ValueId> stack{id};
  while (!stack.empty()) {
    const ValueId value = stack.back();
    const Op* op = function_.value(value).op;
    const auto [entry, first] = values_.try_emplace(value);
    if (!first && entry->second) {
      stack.pop_back();
      continue;
    }
    if (first && op != nullptr) {
      if (UsesOperands(*op)) {
        for (const ValueId operand : op->operands) {
          if (Exists(operand) && !values_.contains(operand)) stack.push_back(operand);
        }
      } else if (op->kind == OpKind::kRegionEnd && op->operands.size() == 1) {
        const std::optional<BoundValues> bounds = BoundValuesOf(op->operands[0]);
        if (bounds && Exists(bounds->end) && !values_.contains(bounds->end))
          stack.push_back(bounds->end);
      }
      if (stack.back() != value) continue;
    }
    Extent extent = op == nullptr ? Extent::Value(value) : Compute(value, *op);
    values_[value] = std::move(extent);
    stack.pop_back();
  }
  return *values_.at(id);
}

Extent ValueExtents::Compute(ValueId value, const Op& op) {
  const auto operand = [&](size_t i) {
    return Known(values_, op.operands[i], Extent::Value(op.operands[i]));
  };
  Extent extent = Extent::Invalid();
  if (op.kind == OpKind::kConstant) {
    extent = Extent(static_cast<int64_t>(op.attr<ConstantAttr>().value.bits));
  } else if (op.kind == OpKind::kConstexpr) {
    if (op.attr<ConstexprAttr>().expr < module_.constexpr_nodes.size()) {
      extent = OfConstexpr(op.attr<ConstexprAttr>().expr);
    }
  } else if (op.kind == OpKind::kDim && op.operands.size() == 1 && Exists(op.operands[0])) {
    const StaticInt& axis = op.attr<AxisAttr>().axis;
    const Type& source = function_.type(op.operands[0]);
    if (axis.resolved() && axis.value >= 0 && axis.value < source.rank()) {
      extent = source.shape()[axis.value];
    }
  } else if (op.kind == OpKind::kRegionEnd && op.operands.size() == 1) {
    const std::optional<BoundValues> bounds = BoundValuesOf(op.operands[0]);
    if (bounds) extent = Known(values_, bounds->end, Extent::Value(bounds->end));
  } else if (op.kind == OpKind::kUnary && UsesOperands(op) && op.operands.size() == 1) {
    extent = Extent(0) - operand(0);
  } else if (op.kind == OpKind::kBinary && UsesOperands(op) && op.operands.size() == 2) {
    extent = CombineOf(op.attr<BinaryAttr>().kind)(operand(0), operand(1));
  }
  return extent.valid() ? extent : Extent::Value(value);
}

Extent ValueExtents::OfConstexpr(ConstexprId id) {
  std::vector<ConstexprId> stack{id};
  while (!stack.empty()) {
    const ConstexprId current = stack.back();
    const auto [entry, first] = constexprs_.try_emplace(current);
    if (!first && entry->second) {
      stack.pop_back();
      continue;
    }
    const ConstexprNode& node = module_.constexpr_nodes[current];
    if (first) {
      for (const ConstexprId operand : node.operands) {
        if (operand < current && !constexprs_.contains(operand)) stack.push_back(operand);
      }
      if (stack.back() != current) continue;
    }
    Extent extent = ComputeConstexpr(node);
    constexprs_[current] = std::move(extent);
    stack.pop_back();
  }
  return *constexprs_.at(id);
}

Extent ValueExtents::ComputeConstexpr(const ConstexprNode& node) {
  if (node.kind != ConstexprKind::kInt) return Extent::Invalid();
  const auto operand = [&](size_t i) {
    if (i >= node.operands.size()) return Extent::Invalid();
    return Known(constexprs_, node.operands[i], Extent::Invalid());
  };
  switch (node.op) {
    case ConstexprOp::kParameter: {
      if (node.index >= module_.constexprs.size()) return Extent::Invalid();
      const ConstexprParameter& parameter = module_.constexprs[node.index];
      if (parameter.fixed && parameter.default_value) {
        return Extent(parameter.default_value->int_value);
      }
      return Extent::Constexpr(node.index);
    }
    case ConstexprOp::kLiteral:
      return Extent(node.int_value);
    case ConstexprOp::kNegate:
      return Extent(0) - operand(0);
    case ConstexprOp::kAdd:
      return operand(0) + operand(1);
    case ConstexprOp::kSub:
      return operand(0) - operand(1);
    case ConstexprOp::kMul:
      return operand(0) * operand(1);
    case ConstexprOp::kFloorDiv:
      return Extent::FloorDiv(operand(0), operand(1));
    case ConstexprOp::kMod:
      return Extent::Mod(operand(0), operand(1));
    case ConstexprOp::kMin:
      return Extent::Min(operand(0), operand(1));
    case ConstexprOp::kMax:
      return Extent::Max(operand(0), operand(1));
    case ConstexprOp::kPow: {
      const Extent exponent = operand(1);
      if (!exponent.IsConstant() || exponent.constant() < 0 || exponent.constant() > 62) {
        return Extent::Invalid();
      }
      Extent power(1);
      for (int64_t i = 0; i < exponent.constant(); ++i) power = power * operand(0);
      return power;
    }
    case ConstexprOp::kNot:
    case ConstexprOp::kTrueDiv:
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe:
    case ConstexprOp::kAnd:
    case ConstexprOp::kOr:
    case ConstexprOp::kSelect:
      return Extent::Invalid();
  }
  return Extent::Invalid();
}

std::optional<ValueExtents::BoundValues> ValueExtents::BoundValuesOf(ValueId domain) const {
  // A subregion keeps its source's bound where it has none of its own.
  BoundValues bounds{kNoValue, kNoValue, kNoValue};
  for (int depth = 0; depth < kMaxNesting; ++depth) {
    const Op* op = Exists(domain) ? function_.value(domain).op : nullptr;
    if (op == nullptr) return std::nullopt;
    if (op->kind == OpKind::kDomain && op->operands.size() == 3) {
      if (bounds.begin == kNoValue) bounds.begin = op->operands[0];
      if (bounds.end == kNoValue) bounds.end = op->operands[1];
      bounds.step = op->operands[2];
      return bounds;
    }
    if (op->kind != OpKind::kSubregion) return std::nullopt;
    const SubregionAttr& attr = op->attr<SubregionAttr>();
    if (op->operands.size() != 1u + attr.has_start + attr.has_stop) return std::nullopt;
    if (attr.has_start && bounds.begin == kNoValue) bounds.begin = op->operands[1];
    if (attr.has_stop && bounds.end == kNoValue) bounds.end = op->operands.back();
    domain = op->operands[0];
  }
  return std::nullopt;
}

std::optional<ValueExtents::Bounds> ValueExtents::BoundsOf(ValueId domain) {
  const std::optional<BoundValues> values = BoundValuesOf(domain);
  if (!values || !Exists(values->begin) || !Exists(values->end) || !Exists(values->step)) {
    return std::nullopt;
  }
  return Bounds{Of(values->begin), Of(values->end), Of(values->step)};
}

}  // namespace intent
