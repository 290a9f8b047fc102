#include "compiler/verify/constexpr_eval.h"

#include <cmath>

namespace intent {
namespace {

bool IsNumber(const ConstexprType& type) {
  return type.kind == ConstexprKind::kInt || type.kind == ConstexprKind::kFloat;
}

std::string KindName(const ConstexprType& type) {
  switch (type.kind) {
    case ConstexprKind::kInt:
      return "int";
    case ConstexprKind::kFloat:
      return "float";
    case ConstexprKind::kBool:
      return "bool";
    case ConstexprKind::kEnum:
      return "enum";
  }
  return "";
}

std::string_view OpText(ConstexprOp op) {
  switch (op) {
    case ConstexprOp::kParameter:
      return "parameter";
    case ConstexprOp::kLiteral:
      return "literal";
    case ConstexprOp::kNegate:
      return "negation";
    case ConstexprOp::kNot:
      return "not";
    case ConstexprOp::kAdd:
      return "addition";
    case ConstexprOp::kSub:
      return "subtraction";
    case ConstexprOp::kMul:
      return "multiplication";
    case ConstexprOp::kFloorDiv:
      return "floor division";
    case ConstexprOp::kMod:
      return "modulo";
    case ConstexprOp::kPow:
      return "power";
    case ConstexprOp::kTrueDiv:
      return "division";
    case ConstexprOp::kMin:
      return "minimum";
    case ConstexprOp::kMax:
      return "maximum";
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe:
      return "comparison";
    case ConstexprOp::kAnd:
      return "and";
    case ConstexprOp::kOr:
      return "or";
    case ConstexprOp::kSelect:
      return "conditional";
  }
  return "";
}

size_t Arity(ConstexprOp op) {
  switch (op) {
    case ConstexprOp::kParameter:
    case ConstexprOp::kLiteral:
      return 0;
    case ConstexprOp::kNegate:
    case ConstexprOp::kNot:
      return 1;
    case ConstexprOp::kAdd:
    case ConstexprOp::kSub:
    case ConstexprOp::kMul:
    case ConstexprOp::kFloorDiv:
    case ConstexprOp::kMod:
    case ConstexprOp::kPow:
    case ConstexprOp::kTrueDiv:
    case ConstexprOp::kMin:
    case ConstexprOp::kMax:
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe:
    case ConstexprOp::kAnd:
    case ConstexprOp::kOr:
      return 2;
    case ConstexprOp::kSelect:
      return 3;
  }
  return 0;
}

template <typename T>
bool Ordered(ConstexprOp op, T a, T b) {
  switch (op) {
    case ConstexprOp::kEq:
      return a == b;
    case ConstexprOp::kNe:
      return a != b;
    case ConstexprOp::kLt:
      return a < b;
    case ConstexprOp::kLe:
      return a <= b;
    case ConstexprOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

double AsFloat(const ConstexprValue& value) {
  return value.kind == ConstexprKind::kFloat ? value.float_value
                                             : static_cast<double>(value.int_value);
}

// Python's float operators; nullopt where Python raises.
std::optional<double> EvalFloat(ConstexprOp op, double a, double b) {
  switch (op) {
    case ConstexprOp::kAdd:
      return a + b;
    case ConstexprOp::kSub:
      return a - b;
    case ConstexprOp::kMul:
      return a * b;
    case ConstexprOp::kTrueDiv:
      if (b == 0) return std::nullopt;
      return a / b;
    case ConstexprOp::kMod:
    case ConstexprOp::kFloorDiv: {
      if (b == 0) return std::nullopt;
      double rest = std::fmod(a, b);
      if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
      if (op == ConstexprOp::kMod) return rest == 0 ? std::copysign(0.0, b) : rest;
      return std::round((a - rest) / b);
    }
    case ConstexprOp::kPow: {
      if ((a == 0 && b < 0) || (a < 0 && std::isfinite(b) && b != std::floor(b))) {
        return std::nullopt;
      }
      const double power = std::pow(a, b);
      if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) return std::nullopt;
      return power;
    }
    case ConstexprOp::kMin:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
    case ConstexprOp::kMax:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
    default:
      return std::nullopt;
  }
}

ConstexprValue OfInt(int64_t value) { return {.kind = ConstexprKind::kInt, .int_value = value}; }
ConstexprValue OfFloat(double value) {
  return {.kind = ConstexprKind::kFloat, .float_value = value};
}
ConstexprValue OfBool(bool value) { return {.kind = ConstexprKind::kBool, .int_value = value}; }

}  // namespace

template <typename Int>
std::optional<Int> EvalConstexprInteger(ConstexprOp op, Int a, Int b) {
  Int result = 0;
  switch (op) {
    case ConstexprOp::kNegate:
      return EvalConstexprInteger<Int>(ConstexprOp::kSub, 0, a);
    case ConstexprOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ConstexprOp::kSub:
      if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ConstexprOp::kMul:
      if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ConstexprOp::kFloorDiv:
    case ConstexprOp::kMod: {
      if (b == 0) return std::nullopt;
      if (b == -1) {
        if (op == ConstexprOp::kMod) return 0;
        return EvalConstexprInteger<Int>(ConstexprOp::kSub, 0, a);
      }
      const Int rest = a % b;
      const bool adjust = rest != 0 && (rest < 0) != (b < 0);
      if (op == ConstexprOp::kMod) return adjust ? rest + b : rest;
      return a / b - (adjust ? 1 : 0);
    }
    case ConstexprOp::kPow: {
      if (b < 0) return std::nullopt;
      if (a == 0 || a == 1) return b == 0 ? 1 : a;
      if (a == -1) return b % 2 == 0 ? 1 : -1;
      result = 1;
      for (Int i = 0; i < b; ++i) {
        if (__builtin_mul_overflow(result, a, &result)) return std::nullopt;
      }
      return result;
    }
    case ConstexprOp::kMin:
      return a < b ? a : b;
    case ConstexprOp::kMax:
      return a < b ? b : a;
    default:
      return std::nullopt;
  }
}
template std::optional<int64_t> EvalConstexprInteger(ConstexprOp, int64_t, int64_t);
template std::optional<__int128> EvalConstexprInteger(ConstexprOp, __int128, __int128);

std::variant<ConstexprType, std::string> InferConstexpr(ConstexprOp op,
                                                        std::span<const ConstexprType> operands) {
  if (operands.size() != Arity(op) || operands.empty()) {
    return "constexpr " + std::string(OpText(op)) + " takes " + std::to_string(Arity(op)) +
           " operands, not " + std::to_string(operands.size());
  }
  const auto refuse = [&]() -> std::string {
    std::string text = "constexpr " + std::string(OpText(op)) + " is not defined for ";
    for (size_t i = 0; i < operands.size(); ++i) {
      text += (i == 0 ? "" : " and ") + KindName(operands[i]);
    }
    return text;
  };
  const ConstexprType boolean{ConstexprKind::kBool}, number{ConstexprKind::kFloat};
  switch (op) {
    case ConstexprOp::kParameter:
    case ConstexprOp::kLiteral:
      return refuse();
    case ConstexprOp::kNegate:
      if (!IsNumber(operands[0])) return refuse();
      return operands[0];
    case ConstexprOp::kNot:
      if (operands[0] != boolean) return refuse();
      return boolean;
    case ConstexprOp::kAdd:
    case ConstexprOp::kSub:
    case ConstexprOp::kMul:
    case ConstexprOp::kFloorDiv:
    case ConstexprOp::kMod:
    case ConstexprOp::kPow:
    case ConstexprOp::kMin:
    case ConstexprOp::kMax:
      if (!IsNumber(operands[0]) || !IsNumber(operands[1])) return refuse();
      return operands[0] == operands[1] ? operands[0] : number;
    case ConstexprOp::kTrueDiv:
      if (!IsNumber(operands[0]) || !IsNumber(operands[1])) return refuse();
      return number;
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
      if (operands[0] != operands[1] && !(IsNumber(operands[0]) && IsNumber(operands[1]))) {
        return refuse();
      }
      return boolean;
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe:
      if (!IsNumber(operands[0]) || !IsNumber(operands[1])) return refuse();
      return boolean;
    case ConstexprOp::kAnd:
    case ConstexprOp::kOr:
      if (operands[0] != boolean || operands[1] != boolean) return refuse();
      return boolean;
    case ConstexprOp::kSelect:
      if (operands[0] != boolean || operands[1] != operands[2]) return refuse();
      return operands[1];
  }
  return refuse();
}

std::variant<ConstexprValue, std::string> EvalConstexpr(ConstexprOp op,
                                                        std::span<const ConstexprValue> operands) {
  const auto failure = [&]() -> std::string {
    std::string text = "constexpr " + std::string(OpText(op));
    if (operands.size() == 2 && operands[0].kind == ConstexprKind::kInt &&
        operands[1].kind == ConstexprKind::kInt) {
      text += " of " + std::to_string(operands[0].int_value) + " and " +
              std::to_string(operands[1].int_value);
    }
    return text + " overflows or is undefined";
  };
  const ConstexprValue& a = operands[0];
  switch (op) {
    case ConstexprOp::kParameter:
    case ConstexprOp::kLiteral:
      return failure();
    case ConstexprOp::kNot:
      return OfBool(a.int_value == 0);
    case ConstexprOp::kAnd:
      return OfBool(a.int_value != 0 && operands[1].int_value != 0);
    case ConstexprOp::kOr:
      return OfBool(a.int_value != 0 || operands[1].int_value != 0);
    case ConstexprOp::kSelect:
      return a.int_value != 0 ? operands[1] : operands[2];
    case ConstexprOp::kNegate: {
      if (a.kind == ConstexprKind::kFloat) return OfFloat(-a.float_value);
      const auto value = EvalConstexprInteger<int64_t>(op, a.int_value, 0);
      if (!value) return failure();
      return OfInt(*value);
    }
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe: {
      const ConstexprValue& b = operands[1];
      if (a.kind != ConstexprKind::kFloat && b.kind != ConstexprKind::kFloat) {
        return OfBool(Ordered(op, a.int_value, b.int_value));
      }
      // long double holds every i64 and every f64, so the comparison is exact.
      const auto exact = [](const ConstexprValue& value) {
        return value.kind == ConstexprKind::kFloat ? static_cast<long double>(value.float_value)
                                                   : static_cast<long double>(value.int_value);
      };
      return OfBool(Ordered(op, exact(a), exact(b)));
    }
    case ConstexprOp::kAdd:
    case ConstexprOp::kSub:
    case ConstexprOp::kMul:
    case ConstexprOp::kFloorDiv:
    case ConstexprOp::kMod:
    case ConstexprOp::kPow:
    case ConstexprOp::kTrueDiv:
    case ConstexprOp::kMin:
    case ConstexprOp::kMax: {
      const ConstexprValue& b = operands[1];
      if (a.kind == ConstexprKind::kInt && b.kind == ConstexprKind::kInt &&
          op != ConstexprOp::kTrueDiv) {
        const auto value = EvalConstexprInteger<int64_t>(op, a.int_value, b.int_value);
        if (!value) return failure();
        return OfInt(*value);
      }
      const auto value = EvalFloat(op, AsFloat(a), AsFloat(b));
      if (!value) return failure();
      return OfFloat(*value);
    }
  }
  return failure();
}

}  // namespace intent
