#include "compiler/verify/verify.h"

#include <algorithm>

#include "compiler/verify/constexpr_eval.h"
#include "compiler/verify/verify_internal.h"

namespace intent {
namespace {

class ModuleVerifier {
 public:
  ModuleVerifier(const Module& module, DiagnosticSink* sink) : module_(module), sink_(sink) {}

  // False if nothing else can be looked at.
  bool Tables() {
    for (const auto& function : module_.functions) {
      if (function == nullptr)
        return Fail(DiagnosticCode::kMalformedModule, "a function is missing");
    }
    if (module_.kernel >= module_.functions.size()) {
      return Fail(DiagnosticCode::kBadReference, "the module has no kernel");
    }
    for (size_t i = 0; i < module_.functions.size(); ++i) {
      if (module_.functions[i]->is_kernel != (i == module_.kernel)) {
        Fail(DiagnosticCode::kBadStructure, "a module has exactly one kernel");
      }
    }
    for (const EnumType& type : module_.enums) {
      std::vector<int64_t> values = type.values;
      std::sort(values.begin(), values.end());
      if (values.empty() || std::adjacent_find(values.begin(), values.end()) != values.end()) {
        Fail(DiagnosticCode::kBadStructure, "an enum has at least one member, each value once");
      }
    }
    for (size_t i = 0; i < module_.constexprs.size(); ++i) Parameter(i);
    for (ConstexprId id = 0; id < module_.constexpr_nodes.size(); ++id) Node(id);
    return sink_->ok();
  }

  // Depth-first over calls; a call to a function that is being walked closes a cycle.
  void CallGraph(std::vector<uint32_t>* order) {
    enum class State : uint8_t { kNew, kOpen, kDone };
    const size_t count = module_.functions.size();
    std::vector<std::vector<const Op*>> calls(count);
    for (size_t i = 0; i < count; ++i) {
      ForEachOp(module_.functions[i]->body, [&](const Op& op) {
        if (op.kind == OpKind::kCall && op.attr<CallAttr>().function < count) {
          calls[i].push_back(&op);
        }
      });
    }
    std::vector<State> states(count, State::kNew);
    struct Frame {
      uint32_t function;
      size_t next;
    };
    for (uint32_t root = 0; root < count; ++root) {
      if (states[root] != State::kNew) continue;
      std::vector<Frame> stack{{root, 0}};
      states[root] = State::kOpen;
      while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next == calls[frame.function].size()) {
          states[frame.function] = State::kDone;
          order->push_back(frame.function);
          stack.pop_back();
          continue;
        }
        const Op* call = calls[frame.function][frame.next++];
        const uint32_t callee = call->attr<CallAttr>().function;
        if (states[callee] == State::kNew) {
          states[callee] = State::kOpen;
          stack.push_back({callee, 0});
        } else if (states[callee] == State::kOpen) {
          Diagnostic& error =
              sink_->Error(DiagnosticCode::kRecursion, call->ordinal, "helpers may not recurse");
          const auto first = std::find_if(stack.begin(), stack.end(),
                                          [&](const Frame& f) { return f.function == callee; });
          error.notes.push_back({calls[callee][first->next - 1]->ordinal,
                                 "the helper calls on from here and comes back to itself"});
        }
      }
    }
  }

 private:
  bool Fail(DiagnosticCode code, std::string message) {
    sink_->Error(code, kNoOrdinal, std::move(message));
    return false;
  }

  bool IsMember(uint32_t enum_type, int64_t value) const {
    const std::vector<int64_t>& values = module_.enums[enum_type].values;
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  void Parameter(size_t i) {
    const ConstexprParameter& parameter = module_.constexprs[i];
    const std::string name = "constexpr parameter " + std::to_string(i);
    if (parameter.kind == ConstexprKind::kEnum && parameter.enum_type >= module_.enums.size()) {
      Fail(DiagnosticCode::kBadReference, name + " refers to no enum");
      return;
    }
    if (parameter.fixed && !parameter.default_value) {
      Fail(DiagnosticCode::kBadBinding, name + " is fixed but has no value");
    }
    if (!parameter.default_value) return;
    const ConstexprValue& value = *parameter.default_value;
    const bool fits =
        value.kind == parameter.kind &&
        (value.kind != ConstexprKind::kBool || value.int_value == 0 || value.int_value == 1) &&
        (value.kind != ConstexprKind::kEnum || (value.enum_type == parameter.enum_type &&
                                                IsMember(parameter.enum_type, value.int_value)));
    if (!fits) Fail(DiagnosticCode::kBadBinding, "the default of " + name + " does not fit it");
  }

  void Node(ConstexprId id) {
    const ConstexprNode& node = module_.constexpr_nodes[id];
    const std::string name = "constexpr expression " + std::to_string(id);
    if (node.kind == ConstexprKind::kEnum && node.enum_type >= module_.enums.size()) {
      Fail(DiagnosticCode::kBadReference, name + " refers to no enum");
      return;
    }
    const ConstexprType type{node.kind, node.kind == ConstexprKind::kEnum ? node.enum_type : 0};
    if (node.op == ConstexprOp::kParameter) {
      if (node.index >= module_.constexprs.size()) {
        Fail(DiagnosticCode::kBadReference, name + " refers to no parameter");
        return;
      }
      const ConstexprParameter& parameter = module_.constexprs[node.index];
      if (parameter.kind != node.kind ||
          (node.kind == ConstexprKind::kEnum && parameter.enum_type != node.enum_type)) {
        Fail(DiagnosticCode::kBadStructure, name + " has another kind than its parameter");
      }
      return;
    }
    if (node.op == ConstexprOp::kLiteral) {
      if (node.kind == ConstexprKind::kEnum && !IsMember(node.enum_type, node.int_value)) {
        Fail(DiagnosticCode::kBadBinding, name + " is no member of its enum");
      }
      return;
    }
    std::vector<ConstexprType> operands;
    for (const ConstexprId operand : node.operands) {
      if (operand >= id) {
        Fail(DiagnosticCode::kBadReference, name + " refers to a later one");
        return;
      }
      const ConstexprNode& other = module_.constexpr_nodes[operand];
      operands.push_back({other.kind, other.kind == ConstexprKind::kEnum ? other.enum_type : 0});
      if (operands.size() > 3) break;
    }
    const auto inferred = InferConstexpr(node.op, operands);
    if (const auto* refused = std::get_if<std::string>(&inferred)) {
      Fail(DiagnosticCode::kConstexprArithmetic, *refused);
    } else if (std::get<ConstexprType>(inferred) != type) {
      Fail(DiagnosticCode::kBadStructure, name + " has another kind than its operation gives");
    }
  }

  const Module& module_;
  DiagnosticSink* sink_;
};

}  // namespace

std::vector<Diagnostic> Verify(const Module& module, const VerifyOptions& options) {
  DiagnosticSink sink(options.max_errors);
  ModuleVerifier tables(module, &sink);
  if (!tables.Tables()) return sink.Take();
  bool sound = true;
  for (const auto& function : module.functions) {
    sound = verify::VerifyFunction(module, *function, options, &sink) && sound;
  }
  if (!sound) return sink.Take();
  std::vector<uint32_t> order;  // callees first
  tables.CallGraph(&order);
  std::vector<bool> impure(module.functions.size(), false);
  for (const uint32_t index : order) {
    impure[index] = verify::HasEffect(*module.functions[index], impure);
  }
  for (const auto& function : module.functions) {
    verify::VerifyEffects(*function, module, impure, &sink);
    verify::VerifySlices(*function, &sink);
  }
  return sink.Take();
}

}  // namespace intent
