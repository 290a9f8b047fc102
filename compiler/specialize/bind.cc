#include "compiler/specialize/bind.h"

#include <algorithm>

#include "compiler/verify/constexpr_eval.h"

namespace intent::specialize {
namespace {

// The binding as a value of the parameter, or why it does not fit.
std::variant<ConstexprValue, std::string> Fit(const Module& module,
                                              const ConstexprParameter& parameter,
                                              ConstexprValue value) {
  if (parameter.kind == ConstexprKind::kFloat && value.kind == ConstexprKind::kInt) {
    const auto wide = static_cast<double>(value.int_value);
    if (static_cast<__int128>(wide) != value.int_value)
      return "the integer is not exact as a float";
    return ConstexprValue{.kind = ConstexprKind::kFloat, .float_value = wide};
  }
  if (value.kind != parameter.kind) return "the value is of another kind";
  switch (value.kind) {
    case ConstexprKind::kInt:
    case ConstexprKind::kFloat:
      break;
    case ConstexprKind::kBool:
      if (value.int_value != 0 && value.int_value != 1) return "a bool is 0 or 1";
      break;
    case ConstexprKind::kEnum: {
      const std::vector<int64_t>& members = module.enums[parameter.enum_type].values;
      if (std::find(members.begin(), members.end(), value.int_value) == members.end()) {
        return "the value is no member of the enum";
      }
      value.enum_type = parameter.enum_type;
      break;
    }
  }
  return value;
}

}  // namespace

std::optional<std::vector<ConstexprValue>> BindParameters(const Module& module,
                                                          const std::vector<Binding>& bindings,
                                                          DiagnosticSink* sink) {
  std::vector<std::optional<ConstexprValue>> bound(module.constexprs.size());
  const auto fail = [&](DiagnosticCode code, uint32_t parameter, const std::string& text) {
    sink->Error(code, kNoOrdinal, "constexpr parameter " + std::to_string(parameter) + ": " + text);
  };
  for (const Binding& binding : bindings) {
    if (binding.parameter >= bound.size()) {
      fail(DiagnosticCode::kBadBinding, binding.parameter, "the module has no such parameter");
      continue;
    }
    const ConstexprParameter& parameter = module.constexprs[binding.parameter];
    if (bound[binding.parameter]) {
      fail(DiagnosticCode::kBadBinding, binding.parameter, "it is bound twice");
      continue;
    }
    const auto value = Fit(module, parameter, binding.value);
    if (const auto* refused = std::get_if<std::string>(&value)) {
      fail(DiagnosticCode::kBadBinding, binding.parameter, *refused);
      continue;
    }
    bound[binding.parameter] = std::get<ConstexprValue>(value);
    if (parameter.fixed && *bound[binding.parameter] != *parameter.default_value) {
      fail(DiagnosticCode::kBadBinding, binding.parameter,
           "the program was made for another value; it is fixed");
    }
  }
  std::vector<ConstexprValue> values;
  for (uint32_t i = 0; i < bound.size(); ++i) {
    if (!bound[i]) bound[i] = module.constexprs[i].default_value;
    if (!bound[i]) {
      // Reported before: a binding that did not fit.
      const bool tried = std::any_of(bindings.begin(), bindings.end(),
                                     [&](const Binding& b) { return b.parameter == i; });
      if (!tried) fail(DiagnosticCode::kUnboundConstexpr, i, "it is not bound and has no default");
      continue;
    }
    values.push_back(*bound[i]);
  }
  if (!sink->ok()) return std::nullopt;
  return values;
}

std::vector<ConstexprResult> EvaluateNodes(const Module& module,
                                           const std::vector<ConstexprValue>& parameters) {
  std::vector<ConstexprResult> results;
  results.reserve(module.constexpr_nodes.size());
  for (const ConstexprNode& node : module.constexpr_nodes) {
    if (node.op == ConstexprOp::kParameter) {
      results.emplace_back(parameters[node.index]);
      continue;
    }
    if (node.op == ConstexprOp::kLiteral) {
      results.emplace_back(ConstexprValue{node.kind,
                                          node.kind == ConstexprKind::kEnum ? node.enum_type : 0,
                                          node.int_value, node.float_value});
      continue;
    }
    // The side of a conditional or of `and`, `or` that is not taken may be undefined.
    std::vector<ConstexprValue> operands;
    const std::string* failed = nullptr;
    const auto* first = std::get_if<ConstexprValue>(&results[node.operands[0]]);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ConstexprResult& operand = results[node.operands[i]];
      const auto* value = std::get_if<ConstexprValue>(&operand);
      operands.push_back(value != nullptr ? *value : ConstexprValue{});
      bool needed = true;
      if (first != nullptr && i > 0) {
        const bool holds = first->int_value != 0;
        if (node.op == ConstexprOp::kSelect) needed = (i == 1) == holds;
        if (node.op == ConstexprOp::kAnd) needed = holds;
        if (node.op == ConstexprOp::kOr) needed = !holds;
      }
      if (value == nullptr && needed && failed == nullptr) failed = &std::get<std::string>(operand);
    }
    if (failed != nullptr) {
      results.emplace_back(*failed);
    } else {
      results.push_back(EvalConstexpr(node.op, operands));
    }
  }
  return results;
}

}  // namespace intent::specialize
