// Life of a module under construction: places, the signature, operations, the end.

#include "compiler/builder/builder.h"

#include "compiler/builder/state.h"
#include "compiler/diag/check.h"
#include "compiler/verify/symbol_order.h"
#include "compiler/verify/verify.h"

namespace intent {

KernelBuilder::State::State() : module(std::make_unique<Module>()) {
  module->functions.push_back(std::make_unique<Function>());
  function = module->functions[0].get();
  function->is_kernel = true;
  frames.push_back({nullptr, &function->body, 0});
  extents = std::make_unique<ValueExtents>(*module, *function);
  namer = [this](AtomKind kind, uint32_t index) -> std::string {
    if (kind == AtomKind::kSymbol && index < map.symbol_names.size()) {
      return map.symbol_names[index];
    }
    if (kind == AtomKind::kConstexpr && index < map.constexpr_names.size()) {
      return map.constexpr_names[index];
    }
    return "%" + std::to_string(index);
  };
}

InferContext KernelBuilder::State::Context() {
  return {.module = *module,
          .function = *function,
          .extents = *extents,
          .report = [this](DiagnosticCode code,
                           std::string message) { Fail(code, std::move(message)); },
          .namer = namer};
}

Operand KernelBuilder::State::Fail(DiagnosticCode code, std::string message) {
  diagnostics.push_back({.code = code, .message = std::move(message), .span = span});
  return {};
}

Operand KernelBuilder::State::Emit(OpKind kind, Type declared, std::vector<ValueId> operands,
                                   Attributes attributes, std::vector<RegionPtr> regions) {
  Op* op = function->NewOp(kind, std::move(declared), std::move(operands), std::move(attributes));
  for (const RegionPtr& region : regions) op->regions.push_back(std::move(region->block));
  op->ordinal = static_cast<uint32_t>(map.spans.size());
  map.spans.push_back(span);
  isolation_of.resize(function->value_count(), frames.back().isolation);
  const std::optional<Type> type = InferType(Context(), *op);
  if (!type) return {};
  function->value(op->result).type = *type;
  frames.back().block->ops.push_back(op);
  return Operand::OfValue(op->result);
}

bool KernelBuilder::State::Usable(const Operand& operand) {
  if (operand.IsPoison()) return false;
  if (!operand.IsValue()) return true;
  INTENT_CHECK(operand.value() < function->value_count()) << "an operand of another builder";
  if (isolation_of[operand.value()] == frames.back().isolation) return true;
  Fail(DiagnosticCode::kBadArguments,
       "a callback uses only its arguments and constants; pass other values as captures");
  return false;
}

bool KernelBuilder::State::Usable(std::span<const Operand> operands) {
  bool usable = true;
  for (const Operand& operand : operands) usable = Usable(operand) && usable;
  return usable;
}

KernelBuilder::KernelBuilder() : state_(std::make_unique<State>()) {}
KernelBuilder::~KernelBuilder() = default;

// --- Places and diagnostics.

uint32_t KernelBuilder::AddFile(std::string name) {
  state_->map.files.push_back(std::move(name));
  return static_cast<uint32_t>(state_->map.files.size() - 1);
}

void KernelBuilder::SetSpan(const Span& span) { state_->span = span; }
const Span& KernelBuilder::span() const { return state_->span; }
bool KernelBuilder::ok() const { return state_->diagnostics.empty(); }
const std::vector<Diagnostic>& KernelBuilder::diagnostics() const { return state_->diagnostics; }

Diagnostic& KernelBuilder::Error(DiagnosticCode code, std::string message) {
  state_->Fail(code, std::move(message));
  return state_->diagnostics.back();
}

size_t KernelBuilder::DiagnosticMark() const { return state_->diagnostics.size(); }

void KernelBuilder::DiagnosticRollback(size_t mark) {
  INTENT_CHECK(mark <= state_->diagnostics.size());
  state_->diagnostics.resize(mark, Diagnostic{.code = DiagnosticCode::kSyntax});
}

// --- Signature.

void KernelBuilder::SetKernelName(std::string name) { state_->map.kernel_name = std::move(name); }

Extent KernelBuilder::SymbolExtent(const std::string& name) {
  const auto next = static_cast<uint32_t>(state_->map.symbol_names.size());
  const auto [entry, fresh] = state_->symbols.emplace(name, next);
  if (fresh) {
    state_->map.symbol_names.push_back(name);
    state_->function->symbol_count = next + 1;
  }
  return Extent::Symbol(entry->second);
}

Operand KernelBuilder::AddView(std::string name, DType dtype, std::vector<Extent> shape,
                               Access access, const ViewConstraints& constraints) {
  State& s = *state_;
  Parameter parameter{.type = Type::View(dtype, shape, access), .noalias = constraints.noalias};
  if (!IsAddressable(dtype)) {
    return s.Fail(DiagnosticCode::kNotAddressable,
                  std::string(DTypeName(dtype)) + " cannot be an element of a view");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].valid() && !(Extent(-1) - shape[i]).ProvablyNonNegative()) continue;
    return s.Fail(DiagnosticCode::kBadExtent, "the extent of axis " + std::to_string(i) + " of " +
                                                  name + " is not a nonnegative integer");
  }
  if (constraints.alias && constraints.noalias) {
    return s.Fail(DiagnosticCode::kAliasConflict,
                  "alias and noalias exclude each other on " + name);
  }
  if (constraints.alias) {
    const auto next = static_cast<int32_t>(s.alias_groups.size());
    parameter.alias_group = s.alias_groups.emplace(*constraints.alias, next).first->second;
  }
  s.map.parameter_names.push_back(std::move(name));
  s.map.parameter_spans.push_back(s.span);
  s.function->parameters.push_back(parameter);
  const ValueId value = s.function->NewArgument(&s.function->body, parameter.type);
  s.isolation_of.resize(s.function->value_count(), 0);
  return Operand::OfValue(value);
}

Operand KernelBuilder::AddScalar(std::string name, DType dtype) {
  State& s = *state_;
  if (!IsAddressable(dtype)) {
    return s.Fail(DiagnosticCode::kNotAddressable,
                  std::string(DTypeName(dtype)) + " cannot be the dtype of parameter " + name);
  }
  s.map.parameter_names.push_back(std::move(name));
  s.map.parameter_spans.push_back(s.span);
  s.function->parameters.push_back({.type = Type::Scalar(dtype)});
  const ValueId value = s.function->NewArgument(&s.function->body, Type::Scalar(dtype));
  s.isolation_of.resize(s.function->value_count(), 0);
  return Operand::OfValue(value);
}

uint32_t KernelBuilder::AddEnum(std::string name,
                                std::vector<std::pair<std::string, int64_t>> members) {
  State& s = *state_;
  EnumType type;
  std::vector<std::string> names;
  for (auto& [member, value] : members) {
    type.values.push_back(value);
    names.push_back(std::move(member));
  }
  if (members.empty()) s.Fail(DiagnosticCode::kBadSignature, "enum " + name + " has no members");
  s.module->enums.push_back(std::move(type));
  s.map.enum_names.push_back(std::move(name));
  s.map.enum_member_names.push_back(std::move(names));
  return static_cast<uint32_t>(s.module->enums.size() - 1);
}

Operand KernelBuilder::AddConstexpr(std::string name, ConstexprKind kind, uint32_t enum_type,
                                    std::optional<ConstexprValue> default_value, bool fixed) {
  State& s = *state_;
  const auto index = static_cast<uint32_t>(s.module->constexprs.size());
  if (fixed && !default_value) {
    return s.Fail(DiagnosticCode::kUnboundConstexpr, "constexpr " + name + " has no value");
  }
  if (default_value && default_value->kind != kind) {
    return s.Fail(DiagnosticCode::kBadBinding,
                  "the default of constexpr " + name + " is of another type than the parameter");
  }
  s.module->constexprs.push_back(
      {.kind = kind, .enum_type = enum_type, .default_value = default_value, .fixed = fixed});
  s.map.constexpr_names.push_back(std::move(name));
  ConstexprNode node{
      .op = ConstexprOp::kParameter, .kind = kind, .index = index, .enum_type = enum_type};
  return Operand::OfConstexpr(s.NewNode(std::move(node), fixed ? default_value : std::nullopt));
}

Operand KernelBuilder::EnumMember(uint32_t enum_type, int64_t value) {
  const ConstexprValue member{
      .kind = ConstexprKind::kEnum, .enum_type = enum_type, .int_value = value};
  ConstexprNode node{.op = ConstexprOp::kLiteral,
                     .kind = ConstexprKind::kEnum,
                     .enum_type = enum_type,
                     .int_value = value};
  return Operand::OfConstexpr(state_->NewNode(std::move(node), member));
}

// --- The end.

std::unique_ptr<Module> KernelBuilder::Finish(SourceMap* map) {
  State& s = *state_;
  INTENT_CHECK(s.frames.size() == 1) << "a region is open";
  if (!ok()) return nullptr;
  s.Emit(OpKind::kReturn, Type::None(), {});
  // Operations of dropped regions and refused operations stay behind.
  std::unique_ptr<Module> module = Clone(*s.module);
  NumberOperations(module.get(), &s.map);
  std::vector<std::string> names;
  for (const uint32_t symbol : OrderSymbols(&module->kernel_function())) {
    names.push_back(s.map.symbol_names[symbol]);
  }
  s.map.symbol_names = std::move(names);
  for (Diagnostic& diagnostic : Verify(*module, {.namer = s.namer})) {
    diagnostic.span = s.map.SpanOf(diagnostic.ordinal);
    for (DiagnosticNote& note : diagnostic.notes) note.span = s.map.SpanOf(note.ordinal);
    s.diagnostics.push_back(std::move(diagnostic));
  }
  if (!ok()) return nullptr;
  *map = std::move(s.map);
  return module;
}

}  // namespace intent
