// Unary, binary, compare, select, mask and the casts. All operands have one shape: broadcasts are
// operations of their own.

#include "compiler/verify/infer_internal.h"

namespace intent::infer {
namespace {

enum class Domain : uint8_t { kNumber, kInteger, kFloat, kBits };

// What a kind is defined for. kNumber: integers and floats; kBits: bool and integers.
Domain DomainOf(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kNegate:
    case UnaryKind::kAbs:
      return Domain::kNumber;
    case UnaryKind::kNot:
      return Domain::kBits;
    case UnaryKind::kExp:
    case UnaryKind::kExp2:
    case UnaryKind::kLog:
    case UnaryKind::kLog1p:
    case UnaryKind::kLgamma:
    case UnaryKind::kSin:
    case UnaryKind::kAsin:
    case UnaryKind::kCos:
    case UnaryKind::kFloor:
    case UnaryKind::kErf:
    case UnaryKind::kErfc:
    case UnaryKind::kI0:
    case UnaryKind::kRsqrt:
    case UnaryKind::kSqrt:
    case UnaryKind::kSigmoid:
    case UnaryKind::kTanh:
      return Domain::kFloat;
  }
  return Domain::kFloat;
}

Domain DomainOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
    case BinaryKind::kMul:
    case BinaryKind::kPow:
    case BinaryKind::kMaximum:
    case BinaryKind::kMinimum:
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
      return Domain::kNumber;
    case BinaryKind::kDiv:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      return Domain::kFloat;
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
      return Domain::kInteger;
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
      return Domain::kBits;
  }
  return Domain::kFloat;
}

bool Holds(Domain domain, DType dtype) {
  switch (domain) {
    case Domain::kNumber:
      return dtype != DType::kBool;
    case Domain::kInteger:
      return IsInteger(dtype);
    case Domain::kFloat:
      return IsFloat(dtype);
    case Domain::kBits:
      return dtype == DType::kBool || IsInteger(dtype);
  }
  return false;
}

const char* Says(Domain domain) {
  switch (domain) {
    case Domain::kNumber:
      return "integers and floats";
    case Domain::kInteger:
      return "integers";
    case Domain::kFloat:
      return "floats";
    case Domain::kBits:
      return "bool and integers";
  }
  return "";
}

// How authors write instead what is not defined for a dtype.
std::string_view Instead(std::string_view name, Domain domain, DType dtype) {
  if (domain == Domain::kFloat) {
    return name == "division" ? "; `//` divides integers, or cast to a float dtype first"
                              : "; cast to a float dtype first";
  }
  if (domain == Domain::kInteger && IsFloat(dtype)) {
    if (name == "floor division") return "; floor(a / b) is its whole part";
    if (name == "modulo (remainder)") return "; a - b * floor(a / b) is its remainder";
  }
  if (domain == Domain::kNumber && name == "negate") return "; `~` inverts a bool";
  if (dtype == DType::kBool && domain != Domain::kBits) return "; cast to a number first";
  return "";
}

std::string NotDefined(std::string_view name, Domain domain, DType dtype) {
  return std::string(name) + " is defined for " + Says(domain) + ", not " +
         std::string(DTypeName(dtype)) + std::string(Instead(name, domain, dtype));
}

// The names that authors know these operations by.
std::string_view SurfaceName(BinaryKind kind) {
  if (kind == BinaryKind::kDiv) return "division";
  if (kind == BinaryKind::kFloorDiv) return "floor division";
  if (kind == BinaryKind::kMod) return "modulo (remainder)";
  return NameOf(kind);
}

}  // namespace

bool Inference::CheckApproximate(const StaticInt& approximate, const StaticInt& flush, bool allowed,
                                 bool flush_allowed, DType dtype) const {
  if (!CheckStatic(approximate, ConstexprKind::kBool, "approximate") ||
      !CheckStatic(flush, ConstexprKind::kBool, "flush_to_zero")) {
    return false;
  }
  const bool is_on = !approximate.resolved() || approximate.value != 0;
  const bool flush_on = !flush.resolved() || flush.value != 0;
  if ((is_on && !allowed) || (flush_on && !flush_allowed)) {
    Fail(DiagnosticCode::kApproximate, flush_on && !flush_allowed && (allowed || !is_on)
                                           ? "flush_to_zero is for fdiv and exp2 only"
                                           : "approximate is for fdiv, exp2 and tanh only");
    return false;
  }
  if (flush.resolved() && flush_on && approximate.resolved() && !is_on) {
    Fail(DiagnosticCode::kApproximate, "flush_to_zero needs approximate=True");
    return false;
  }
  if (approximate.resolved() && is_on && dtype != DType::kF32) {
    Fail(DiagnosticCode::kApproximate,
         "approximate is for f32 only, not " + std::string(DTypeName(dtype)));
    return false;
  }
  return true;
}

std::optional<Type> Inference::Unary() {
  const UnaryAttr& attr = op_.attr<UnaryAttr>();
  if (!CheckElementwise(0)) return std::nullopt;
  const DType dtype = operand(0).dtype();
  if (!Holds(DomainOf(attr.kind), dtype)) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                NotDefined(NameOf(attr.kind), DomainOf(attr.kind), dtype));
  }
  const bool exp2 = attr.kind == UnaryKind::kExp2;
  if (!CheckApproximate(attr.approximate, attr.flush_to_zero, exp2 || attr.kind == UnaryKind::kTanh,
                        exp2, dtype)) {
    return std::nullopt;
  }
  return operand(0);
}

std::optional<Type> Inference::Binary() {
  const BinaryAttr& attr = op_.attr<BinaryAttr>();
  if (!CheckElementwise(0) || !CheckElementwise(1) || !CheckSameDType(0, 1)) return std::nullopt;
  const DType dtype = operand(0).dtype();
  if (!Holds(DomainOf(attr.kind), dtype)) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                NotDefined(SurfaceName(attr.kind), DomainOf(attr.kind), dtype));
  }
  if (!CheckSameShape(0, 1)) return std::nullopt;
  const bool div = attr.kind == BinaryKind::kDiv;
  if (!CheckApproximate(attr.approximate, attr.flush_to_zero, div, div, dtype)) {
    return std::nullopt;
  }
  return operand(0);
}

std::optional<Type> Inference::Compare() {
  if (!CheckElementwise(0) || !CheckElementwise(1) || !CheckSameDType(0, 1)) return std::nullopt;
  const CompareKind kind = op_.attr<CompareAttr>().kind;
  if (operand(0).dtype() == DType::kBool && kind != CompareKind::kEq && kind != CompareKind::kNe) {
    return Fail(DiagnosticCode::kDtypeNotAllowed, "bool has no order; compare with eq or ne");
  }
  if (!CheckSameShape(0, 1)) return std::nullopt;
  return operand(0).WithDType(DType::kBool);
}

std::optional<Type> Inference::Select() {
  if (!CheckElementwise(0) || !CheckElementwise(1) || !CheckElementwise(2)) return std::nullopt;
  if (operand(0).dtype() != DType::kBool) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "the condition of a select is bool, not " + Text(operand(0)));
  }
  if (!CheckSameDType(1, 2) || !CheckSameShape(0, 1) || !CheckSameShape(1, 2)) return std::nullopt;
  return operand(1);
}

std::optional<Type> Inference::Mask() {
  if (!CheckElementwise(0) || !CheckElementwise(1) || !CheckElementwise(2)) return std::nullopt;
  if (operand(1).dtype() != DType::kBool) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "the valid operand of a mask is bool, not " + Text(operand(1)));
  }
  if (!CheckSameDType(0, 2) || !CheckSameShape(0, 1) || !CheckSameShape(0, 2)) return std::nullopt;
  return operand(0);
}

std::optional<Type> Inference::Cast() {
  if (!CheckElementwise(0)) return std::nullopt;
  if (!declared().IsElementwise()) {
    return Fail(DiagnosticCode::kDeclaredType,
                Name() + " gives a scalar or tensor, not " + Text(declared()));
  }
  const DType from = operand(0).dtype(), to = declared().dtype();
  const std::string between = std::string(DTypeName(from)) + " to " + std::string(DTypeName(to));
  if (op_.kind == OpKind::kSaturatingCast && (from == DType::kBool || to == DType::kBool)) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                "a saturating cast is between numbers, not from " + between);
  }
  if (op_.kind == OpKind::kBitcast && BitWidth(from) != BitWidth(to)) {
    return Fail(DiagnosticCode::kDtypeNotAllowed, "bitcast keeps the width, not from " + between +
                                                      ": " + std::to_string(BitWidth(from)) +
                                                      " and " + std::to_string(BitWidth(to)) +
                                                      " bits");
  }
  return operand(0).WithDType(to);
}

}  // namespace intent::infer
