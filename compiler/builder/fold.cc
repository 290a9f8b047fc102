// Compile-time values: literals fold exactly, constexprs into expression nodes.

#include "compiler/builder/fold.h"

#include <cmath>

#include "compiler/builder/state.h"

namespace intent {
namespace {

ConstexprValue ValueOf(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::kBool:
      return {.kind = ConstexprKind::kBool, .int_value = literal.int_value != 0};
    case Literal::Kind::kInt:
      return {.kind = ConstexprKind::kInt, .int_value = static_cast<int64_t>(literal.int_value)};
    case Literal::Kind::kFloat:
      break;
  }
  return {.kind = ConstexprKind::kFloat, .float_value = literal.float_value};
}

std::optional<Literal> LiteralOfValue(const ConstexprValue& value) {
  switch (value.kind) {
    case ConstexprKind::kInt:
      return IntLiteral(value.int_value);
    case ConstexprKind::kFloat:
      return FloatLiteral(value.float_value);
    case ConstexprKind::kBool:
      return BoolLiteral(value.int_value != 0);
    case ConstexprKind::kEnum:
      return std::nullopt;
  }
  return std::nullopt;
}

bool FitsInt64(const Literal& literal) {
  return literal.kind != Literal::Kind::kInt ||
         (literal.int_value >= INT64_MIN && literal.int_value <= INT64_MAX);
}

}  // namespace

std::optional<ConstexprOp> ConstexprOpOf(BinaryKind kind, bool boolean) {
  switch (kind) {
    case BinaryKind::kAdd:
      return ConstexprOp::kAdd;
    case BinaryKind::kSub:
      return ConstexprOp::kSub;
    case BinaryKind::kMul:
      return ConstexprOp::kMul;
    case BinaryKind::kDiv:
      return ConstexprOp::kTrueDiv;
    case BinaryKind::kFloorDiv:
      return ConstexprOp::kFloorDiv;
    case BinaryKind::kMod:
      return ConstexprOp::kMod;
    case BinaryKind::kPow:
      return ConstexprOp::kPow;
    case BinaryKind::kMaximum:
      return ConstexprOp::kMax;
    case BinaryKind::kMinimum:
      return ConstexprOp::kMin;
    case BinaryKind::kAnd:
      return boolean ? std::optional(ConstexprOp::kAnd) : std::nullopt;
    case BinaryKind::kOr:
      return boolean ? std::optional(ConstexprOp::kOr) : std::nullopt;
    case BinaryKind::kXor:
      return boolean ? std::optional(ConstexprOp::kNe) : std::nullopt;
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      return std::nullopt;
  }
  return std::nullopt;
}

ConstexprOp ConstexprOpOf(CompareKind kind) {
  switch (kind) {
    case CompareKind::kEq:
      return ConstexprOp::kEq;
    case CompareKind::kNe:
      return ConstexprOp::kNe;
    case CompareKind::kLt:
      return ConstexprOp::kLt;
    case CompareKind::kLe:
      return ConstexprOp::kLe;
    case CompareKind::kGt:
      return ConstexprOp::kGt;
    case CompareKind::kGe:
      return ConstexprOp::kGe;
  }
  return ConstexprOp::kEq;
}

std::optional<__int128> FoldBits(BinaryKind kind, __int128 a, __int128 b) {
  switch (kind) {
    case BinaryKind::kAnd:
      return a & b;
    case BinaryKind::kOr:
      return a | b;
    case BinaryKind::kXor:
      return a ^ b;
    case BinaryKind::kShl: {
      if (b < 0) return std::nullopt;
      const auto factor = EvalConstexprInteger<__int128>(ConstexprOp::kPow, 2, b);
      if (!factor) return std::nullopt;
      return EvalConstexprInteger<__int128>(ConstexprOp::kMul, a, *factor);
    }
    case BinaryKind::kShr:
      if (b < 0) return std::nullopt;
      return a >> (b > 126 ? 126 : static_cast<int>(b));
    default:
      return std::nullopt;
  }
}

ConstexprId KernelBuilder::State::NewNode(ConstexprNode node, std::optional<ConstexprValue> value) {
  module->constexpr_nodes.push_back(std::move(node));
  known.push_back(value);
  return static_cast<ConstexprId>(module->constexpr_nodes.size() - 1);
}

ConstexprId KernelBuilder::State::NodeOf(const Operand& operand) {
  if (operand.IsConstexpr()) return operand.constexpr_id();
  const ConstexprValue value = ValueOf(operand.literal());
  return NewNode({.op = ConstexprOp::kLiteral,
                  .kind = value.kind,
                  .int_value = value.int_value,
                  .float_value = value.float_value},
                 value);
}

ConstexprType KernelBuilder::State::ConstexprTypeOf(ConstexprId id) const {
  const ConstexprNode& node = module->constexpr_nodes[id];
  return {node.kind, node.kind == ConstexprKind::kEnum ? node.enum_type : 0};
}

std::optional<Literal> KernelBuilder::State::LiteralOf(const Operand& operand) const {
  if (operand.IsLiteral()) return operand.literal();
  if (!operand.IsConstexpr() || !known[operand.constexpr_id()]) return std::nullopt;
  return LiteralOfValue(*known[operand.constexpr_id()]);
}

Operand KernelBuilder::State::Fold(ConstexprOp op, std::span<const Operand> operands) {
  bool literal = true, wide = false, integers = true;
  for (const Operand& operand : operands) {
    literal = literal && operand.IsLiteral();
    if (!operand.IsLiteral()) continue;
    wide = wide || !FitsInt64(operand.literal());
    integers = integers && operand.literal().kind == Literal::Kind::kInt;
  }
  // Literals are exact beyond 64 bits; only what meets a constexpr must fit.
  if (literal && integers && operands.size() <= 2) {
    const __int128 a = operands[0].literal().int_value;
    const __int128 b = operands.size() == 2 ? operands[1].literal().int_value : 0;
    if (const auto value = EvalConstexprInteger<__int128>(op, a, b)) return IntLiteral(*value);
  }
  if (wide) {
    return Fail(DiagnosticCode::kConstexprArithmetic,
                "an integer literal of constexpr arithmetic does not fit 64 bits");
  }
  std::vector<ConstexprId> ids;
  std::vector<ConstexprType> types;
  std::vector<ConstexprValue> values;
  for (const Operand& operand : operands) {
    if (operand.IsLiteral()) {
      const ConstexprValue value = ValueOf(operand.literal());
      types.push_back({value.kind});
      values.push_back(value);
    } else {
      types.push_back(ConstexprTypeOf(operand.constexpr_id()));
      if (known[operand.constexpr_id()]) values.push_back(*known[operand.constexpr_id()]);
    }
  }
  const auto type = InferConstexpr(op, types);
  if (const auto* refused = std::get_if<std::string>(&type)) {
    return Fail(DiagnosticCode::kConstexprArithmetic, *refused);
  }
  std::optional<ConstexprValue> value;
  if (values.size() == operands.size()) {
    auto result = EvalConstexpr(op, values);
    if (const auto* failed = std::get_if<std::string>(&result)) {
      return Fail(DiagnosticCode::kConstexprArithmetic, *failed);
    }
    value = std::get<ConstexprValue>(result);
    if (literal) return *LiteralOfValue(*value);
  }
  for (const Operand& operand : operands) ids.push_back(NodeOf(operand));
  const auto& result = std::get<ConstexprType>(type);
  return Operand::OfConstexpr(NewNode(
      {.op = op, .kind = result.kind, .enum_type = result.enum_type, .operands = std::move(ids)},
      value));
}

std::optional<StaticInt> KernelBuilder::State::Flag(const Operand& operand, const char* what) {
  if (const auto literal = LiteralOf(operand)) {
    if (literal->kind == Literal::Kind::kBool) {
      return StaticInt(static_cast<int64_t>(literal->int_value));
    }
  } else if (operand.IsConstexpr() &&
             module->constexpr_nodes[operand.constexpr_id()].kind == ConstexprKind::kBool) {
    return StaticInt::Ref(operand.constexpr_id());
  }
  if (!operand.IsPoison()) {
    Fail(DiagnosticCode::kNotConstexpr,
         std::string(what) + " is a compile-time bool, not " + Describe(operand));
  }
  return std::nullopt;
}

}  // namespace intent
