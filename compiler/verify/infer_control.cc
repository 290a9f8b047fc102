// Structured control: signatures of bodies, and calls.

#include "compiler/verify/infer_internal.h"
#include "compiler/verify/symbol_binding.h"

namespace intent::infer {

std::vector<Type> Inference::Arguments(const Block& block) const {
  std::vector<Type> types;
  for (const ValueId id : block.arguments) types.push_back(context_.function.type(id));
  return types;
}

std::vector<Type> Inference::Yields(const Block& block) const {
  std::vector<Type> types;
  for (const ValueId id : block.ops.back()->operands) types.push_back(context_.function.type(id));
  return types;
}

bool Inference::CheckArguments(size_t index, const std::vector<Type>& expected, DiagnosticCode code,
                               const char* what) const {
  const std::vector<Type> arguments = Arguments(region(index));
  if (arguments.size() != expected.size()) {
    Fail(DiagnosticCode::kBadStructure, std::string(what) + " takes " +
                                            Quantity(expected.size(), "argument") + ", not " +
                                            std::to_string(arguments.size()));
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (arguments[i] == expected[i]) continue;
    Fail(code, "argument " + std::to_string(i) + " of " + what + " is " + Text(arguments[i]) +
                   " where " + Text(expected[i]) + " is passed");
    ok = false;
  }
  return ok;
}

bool Inference::CheckYields(size_t index, const std::vector<Type>& expected, DiagnosticCode code,
                            const char* what) const {
  const std::vector<Type> yields = Yields(region(index));
  if (yields.size() != expected.size()) {
    Fail(code, std::string(what) + " gives " + Quantity(yields.size(), "value") + ", not " +
                   std::to_string(expected.size()));
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (yields[i] == expected[i]) continue;
    Fail(code, std::string(what) + " gives " + Text(yields[i]) + " where " + Text(expected[i]) +
                   " is needed" +
                   (code == DiagnosticCode::kCombineSchema
                        ? "; identity, arguments and result of a combine have one type"
                        : ""));
    ok = false;
  }
  return ok;
}

std::optional<Type> Inference::Parallel() {
  if (!operand(0).IsDomain()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "a parallel loop runs over a domain, not " + Text(operand(0)));
  }
  const std::vector<Type> coordinates(operand(0).shape().size(), Type::Scalar(DType::kIndex));
  if (!CheckArguments(0, coordinates, DiagnosticCode::kTypeMismatch, "a parallel body")) {
    return std::nullopt;
  }
  if (!Yields(region(0)).empty()) {
    return Fail(DiagnosticCode::kParallelCarry,
                "a parallel loop carries no values from one point to another");
  }
  return Type::None();
}

std::optional<Type> Inference::Branches() {
  if (!region(0).arguments.empty() || !region(1).arguments.empty()) {
    return Fail(DiagnosticCode::kBadStructure, "branches take no arguments");
  }
  const std::vector<Type> a = Yields(region(0)), b = Yields(region(1));
  if (a.size() != b.size()) {
    return Fail(DiagnosticCode::kBranchMismatch, "one branch gives " + Quantity(a.size(), "value") +
                                                     ", the other " + std::to_string(b.size()));
  }
  bool ok = true;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    Fail(DiagnosticCode::kBranchMismatch, "branches give values of different types: " + Text(a[i]) +
                                              " in one and " + Text(b[i]) + " in the other");
    ok = false;
  }
  if (!ok) return std::nullopt;
  return a.empty() ? Type::None() : Type::Tuple(a);
}

std::optional<Type> Inference::If() {
  if (!operand(0).IsScalar(DType::kBool)) {
    return Fail(DiagnosticCode::kConditionNotScalar,
                "a condition is a scalar bool, not " + Text(operand(0)) +
                    (operand(0).IsTensor() ? "; use select for a tensor predicate" : ""));
  }
  return Branches();
}

std::optional<Type> Inference::ConstexprIf() {
  const ConstexprId id = op_.attr<ConstexprAttr>().expr;
  if (id >= context_.module.constexpr_nodes.size()) {
    return Fail(DiagnosticCode::kBadReference, "constexpr_if refers to no expression");
  }
  if (context_.specialized) {
    return Fail(DiagnosticCode::kUnboundConstexpr, "a constexpr_if is left after specialisation");
  }
  if (context_.module.constexpr_nodes[id].kind != ConstexprKind::kBool) {
    return Fail(DiagnosticCode::kConditionNotScalar, "the condition of a constexpr_if is a bool");
  }
  return Branches();
}

std::optional<Type> Inference::For() {
  if (!operand(0).IsDomain()) {
    return Fail(DiagnosticCode::kTypeMismatch,
                "a loop runs over a domain, not " + Text(operand(0)));
  }
  const std::vector<Type> carries = OperandTypes(1);
  std::vector<Type> arguments(operand(0).shape().size(), Type::Scalar(DType::kIndex));
  arguments.insert(arguments.end(), carries.begin(), carries.end());
  const bool enters = CheckArguments(0, arguments, DiagnosticCode::kCarryMismatch, "a loop body");
  if (!CheckYields(0, carries, DiagnosticCode::kCarryMismatch,
                   "a carried value changes its type in the loop: the body") ||
      !enters) {
    return std::nullopt;
  }
  return carries.empty() ? Type::None() : Type::Tuple(carries);
}

std::optional<Type> Inference::While() {
  const std::vector<Type> carries = OperandTypes(0);
  const bool enters =
      CheckArguments(0, carries, DiagnosticCode::kCarryMismatch, "a loop condition") &&
      CheckArguments(1, carries, DiagnosticCode::kCarryMismatch, "a loop body");
  const std::vector<Type> condition = Yields(region(0));
  if (condition.size() != 1 || !condition[0].IsScalar(DType::kBool)) {
    return Fail(
        DiagnosticCode::kConditionNotScalar,
        "the condition of a loop is one scalar bool, not " +
            (condition.size() == 1 ? Text(condition[0]) : Quantity(condition.size(), "value")));
  }
  if (!CheckYields(1, carries, DiagnosticCode::kCarryMismatch,
                   "a carried value changes its type in the loop: the body") ||
      !enters) {
    return std::nullopt;
  }
  return carries.empty() ? Type::None() : Type::Tuple(carries);
}

std::optional<Type> Inference::Call() {
  const uint32_t index = op_.attr<CallAttr>().function;
  if (index >= context_.module.functions.size()) {
    return Fail(DiagnosticCode::kBadReference, "call refers to no function");
  }
  const Function& callee = *context_.module.functions[index];
  if (callee.is_kernel) {
    return Fail(DiagnosticCode::kBadReference, "a kernel cannot be called");
  }
  if (callee.parameters.size() != op_.operands.size()) {
    return Fail(DiagnosticCode::kBadArguments, "the helper takes " +
                                                   Quantity(callee.parameters.size(), "argument") +
                                                   ", not " + std::to_string(op_.operands.size()));
  }
  SymbolBinding binding;
  for (size_t i = 0; i < op_.operands.size(); ++i) {
    const Type &parameter = callee.parameters[i].type, &argument = operand(i);
    if (parameter.IsView() && argument.IsView() && parameter.access() != Access::kIn &&
        argument.access() == Access::kIn) {
      return Fail(DiagnosticCode::kReadOnly, "argument " + std::to_string(i) +
                                                 " is a read-only In view that the helper writes");
    }
    if (!binding.Match(parameter, argument)) {
      return Fail(DiagnosticCode::kTypeMismatch,
                  "argument " + std::to_string(i) + " of a call is " + Text(argument) +
                      " where the helper takes " + parameter.ToString());
    }
  }
  const Type result = binding.Apply(callee.result);
  bool valid = true;
  result.ForEachExtent([&](const Extent& extent) { valid = valid && extent.valid(); });
  if (!valid) {
    return Fail(DiagnosticCode::kBadExtent,
                "a helper's result has an extent that its parameters do not give");
  }
  return result;
}

// What a yield or return hands out of its scope.
std::optional<Type> Inference::Leave() {
  for (size_t i = 0; i < op_.operands.size(); ++i) {
    const Type& type = operand(i);
    if (type.IsElementwise() || type.IsProduct()) continue;
    if (type.IsBuffer()) {
      return Fail(DiagnosticCode::kBufferEscapes, "a buffer cannot leave the scope that made it");
    }
    return Fail(DiagnosticCode::kTypeMismatch,
                "only scalars, tensors and products leave a scope, not " + Text(type));
  }
  return Type::None();
}

}  // namespace intent::infer
