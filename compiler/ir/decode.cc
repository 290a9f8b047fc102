#include <string>

#include "compiler/ir/attribute_codec.h"
#include "compiler/ir/canonical.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/type_codec.h"
#include "compiler/ir/wire_check.h"
#include "compiler/ir/wire_enums.h"

namespace intent {
namespace {

using wire::FromWire;
namespace pb = wire::pb;

using Error = std::optional<Diagnostic>;

Error Fail(DiagnosticCode code, std::string message, uint32_t ordinal = kNoOrdinal) {
  return Diagnostic{.code = code, .ordinal = ordinal, .message = std::move(message)};
}

Error CheckLimit(size_t count, size_t limit, const char* what, uint32_t ordinal = kNoOrdinal) {
  if (count <= limit) return std::nullopt;
  return Fail(
      DiagnosticCode::kLimit,
      std::to_string(count) + " " + what + ", at most " + std::to_string(limit) + " are read",
      ordinal);
}

Error CheckIndex(size_t index, size_t count, const char* what, uint32_t ordinal = kNoOrdinal) {
  if (index < count) return std::nullopt;
  return Fail(DiagnosticCode::kBadReference,
              "no " + std::string(what) + " " + std::to_string(index) + ", there are " +
                  std::to_string(count),
              ordinal);
}

wire::WireLimits ScanLimits(const DecodeLimits& limits) {
  const auto* module = pb::Module::descriptor();
  const auto* function = pb::Function::descriptor();
  return {.bytes = limits.bytes,
          .objects = limits.wire_objects,
          .repeated = {
              {module, pb::Module::kEnumsFieldNumber, limits.parameters},
              {module, pb::Module::kConstexprsFieldNumber, limits.parameters},
              {module, pb::Module::kConstexprNodesFieldNumber, limits.constexpr_nodes},
              {module, pb::Module::kFunctionsFieldNumber, limits.functions},
              {function, pb::Function::kExtentsFieldNumber, limits.extents},
              {function, pb::Function::kTypesFieldNumber, limits.types},
              {function, pb::Function::kOperationsFieldNumber, limits.operations},
              {function, pb::Function::kBlocksFieldNumber, limits.blocks},
          }};
}

// ---------------------------------------------------------------------------------------------
// Constexprs

class ConstexprReader {
 public:
  ConstexprReader(const pb::Module& in, const DecodeLimits& limits, Module* module)
      : in_(in), limits_(limits), module_(module) {}

  Error Read() {
    for (const pb::EnumType& type : in_.enums()) {
      if (Error e = CheckLimit(type.values_size(), limits_.enum_values, "enum values")) return e;
      module_->enums.push_back({{type.values().begin(), type.values().end()}});
    }
    for (const pb::ConstexprParameter& parameter : in_.constexprs()) {
      if (Error e = ReadParameter(parameter)) return e;
    }
    for (const pb::ConstexprNode& node : in_.constexpr_nodes()) {
      if (Error e = ReadNode(node)) return e;
    }
    return std::nullopt;
  }

 private:
  Error ReadParameter(const pb::ConstexprParameter& in) {
    ConstexprParameter parameter;
    if (Error e = ReadType(in.type(), &parameter.kind, &parameter.enum_type)) return e;
    if (in.has_default_value()) {
      ConstexprValue& value = parameter.default_value.emplace();
      value.kind = parameter.kind;
      value.enum_type = parameter.enum_type;
      if (Error e =
              ReadValue(in.default_value(), value.kind, &value.int_value, &value.float_value)) {
        return e;
      }
    }
    parameter.fixed = in.fixed();
    module_->constexprs.push_back(std::move(parameter));
    return std::nullopt;
  }

  Error ReadNode(const pb::ConstexprNode& in) {
    const size_t index = module_->constexpr_nodes.size();
    ConstexprNode node;
    const std::optional<ConstexprOp> op = FromWire<ConstexprOp>(in.op());
    if (!op) return Fail(DiagnosticCode::kMalformedModule, "a constexpr node without operation");
    node.op = *op;
    if (Error e = ReadType(in.type(), &node.kind, &node.enum_type)) return e;
    if (node.op == ConstexprOp::kParameter) {
      node.index = in.parameter();
      if (Error e = CheckIndex(in.parameter(), in_.constexprs_size(), "constexpr parameter")) {
        return e;
      }
    }
    if (node.op == ConstexprOp::kLiteral) {
      if (Error e = ReadValue(in.literal(), node.kind, &node.int_value, &node.float_value)) {
        return e;
      }
    }
    const bool stray = (node.op != ConstexprOp::kParameter && in.parameter() != 0) ||
                       (node.op != ConstexprOp::kLiteral && in.has_literal());
    const size_t arity = static_cast<size_t>(ConstexprArity(node.op));
    if (stray || arity != static_cast<size_t>(in.operands_size())) {
      return Fail(DiagnosticCode::kBadStructure,
                  "constexpr node " + std::to_string(index) + " does not fit its operation");
    }
    for (uint32_t operand : in.operands()) {
      if (Error e = CheckIndex(operand, index, "earlier constexpr node")) return e;
      node.operands.push_back(operand);
    }
    module_->constexpr_nodes.push_back(std::move(node));
    return std::nullopt;
  }

  Error ReadType(const pb::ConstexprType& in, ConstexprKind* kind, uint32_t* enum_type) {
    const std::optional<ConstexprKind> read = FromWire<ConstexprKind>(in.kind());
    if (!read) return Fail(DiagnosticCode::kMalformedModule, "a constexpr without type");
    *kind = *read;
    *enum_type = in.enum_type();
    if (*kind == ConstexprKind::kEnum) return CheckIndex(in.enum_type(), in_.enums_size(), "enum");
    if (in.enum_type() == 0) return std::nullopt;
    return Fail(DiagnosticCode::kMalformedModule, "an enum type where the kind is not enum");
  }

  static Error ReadValue(const pb::ConstexprValue& in, ConstexprKind kind, int64_t* int_value,
                         double* float_value) {
    const auto value_case = in.value_case();
    if (kind == ConstexprKind::kInt && value_case == pb::ConstexprValue::kIntValue) {
      *int_value = in.int_value();
    } else if (kind == ConstexprKind::kFloat && value_case == pb::ConstexprValue::kFloatValue) {
      *float_value = in.float_value();
    } else if (kind == ConstexprKind::kBool && value_case == pb::ConstexprValue::kBoolValue) {
      *int_value = in.bool_value() ? 1 : 0;
    } else if (kind == ConstexprKind::kEnum && value_case == pb::ConstexprValue::kEnumValue) {
      *int_value = in.enum_value();
    } else {
      return Fail(DiagnosticCode::kMalformedModule, "a constexpr value of another kind");
    }
    return std::nullopt;
  }

  const pb::Module& in_;
  const DecodeLimits& limits_;
  Module* module_;
};

// ---------------------------------------------------------------------------------------------
// Functions

// Builds one function. The tables become a tree by a walk from block 0 that numbers values anew;
// what the walk meets twice or not at all is an error.
class FunctionReader {
 public:
  FunctionReader(const pb::Function& in, const DecodeLimits& limits, uint32_t first_ordinal,
                 const wire::ReadContext& context, size_t constexprs, wire::TypeBudget* budget,
                 Function* function)
      : in_(in),
        limits_(limits),
        first_ordinal_(first_ordinal),
        context_(context),
        constexprs_(constexprs),
        budget_(budget),
        function_(function),
        value_(in.value_types_size(), kNoValue),
        op_seen_(in.operations_size(), false),
        block_seen_(in.blocks_size(), false) {}

  Error Read() {
    if (Error e = ReadSignature()) return e;
    if (Error e = Walk()) return e;
    if (Error e = CheckAllSeen()) return e;
    if (Error e = ReadOperands()) return e;
    return ReadTypes();
  }

 private:
  struct Cursor {
    uint32_t block;
    Block* to;
    uint32_t ordinal;  // of the operation it belongs to
    size_t depth;
    const pb::Block* from = nullptr;  // null until the walk enters it
    int next = 0;
  };

  Error ReadSignature() {
    if (Error e = CheckLimit(in_.symbol_count(), limits_.symbols, "shape symbols")) return e;
    if (Error e = CheckLimit(in_.parameters_size(), limits_.parameters, "parameters")) return e;
    if (in_.blocks_size() == 0) {
      return Fail(DiagnosticCode::kBadStructure, "a function without a body");
    }
    if (in_.blocks(0).arguments_size() != in_.parameters_size()) {
      return Fail(DiagnosticCode::kBadStructure,
                  "a function of " + std::to_string(in_.parameters_size()) +
                      " parameters whose body has " +
                      std::to_string(in_.blocks(0).arguments_size()) + " arguments");
    }
    function_->symbol_count = in_.symbol_count();
    for (const pb::Parameter& from : in_.parameters()) {
      Parameter& to = function_->parameters.emplace_back();
      to.noalias = from.noalias();
      if (!from.has_alias_group()) continue;
      if (Error e = CheckIndex(from.alias_group(), limits_.parameters, "alias group")) return e;
      to.alias_group = static_cast<int32_t>(from.alias_group());
    }
    return std::nullopt;
  }

  Error Walk() {
    std::vector<Cursor> stack{{0, &function_->body, kNoOrdinal, 1}};
    while (!stack.empty()) {
      Cursor& cursor = stack.back();
      if (cursor.from == nullptr) {
        if (Error e = Enter(&cursor)) return e;
      }
      if (cursor.next == cursor.from->operations_size()) {
        stack.pop_back();
        continue;
      }
      const uint32_t index = cursor.from->operations(cursor.next++);
      const size_t depth = cursor.depth + 1;
      if (Error e = ReadOperation(index, cursor.to)) return e;
      Op* op = ops_.back().op;
      const pb::Operation& from = *ops_.back().from;
      for (int i = 0; i < from.regions_size(); ++i) {
        op->regions.push_back(std::make_unique<Block>());
      }
      for (int i = from.regions_size(); i-- > 0;) {
        stack.push_back({from.regions(i), op->regions[i].get(), op->ordinal, depth});
      }
    }
    return std::nullopt;
  }

  Error Enter(Cursor* cursor) {
    const uint32_t ordinal = cursor->ordinal;
    if (Error e = CheckIndex(cursor->block, in_.blocks_size(), "block", ordinal)) return e;
    if (block_seen_[cursor->block]) {
      return Fail(DiagnosticCode::kBadStructure,
                  "block " + std::to_string(cursor->block) + " stands in two places", ordinal);
    }
    block_seen_[cursor->block] = true;
    cursor->from = &in_.blocks(static_cast<int>(cursor->block));
    if (Error e = CheckLimit(cursor->depth, limits_.region_depth, "nested blocks", ordinal)) {
      return e;
    }
    if (Error e = CheckLimit(cursor->from->arguments_size(), limits_.operands, "block arguments",
                             ordinal)) {
      return e;
    }
    for (uint32_t argument : cursor->from->arguments()) {
      if (Error e = CheckFresh(argument, ordinal)) return e;
      value_[argument] = function_->NewArgument(cursor->to, Type::None());
    }
    return std::nullopt;
  }

  Error CheckFresh(uint32_t value, uint32_t ordinal) {
    if (Error e = CheckIndex(value, value_.size(), "value", ordinal)) return e;
    if (value_[value] == kNoValue) return std::nullopt;
    return Fail(DiagnosticCode::kBadStructure,
                "value " + std::to_string(value) + " is defined twice", ordinal);
  }

  Error ReadOperation(uint32_t index, Block* to) {
    if (Error e = CheckIndex(index, in_.operations_size(), "operation")) return e;
    const uint32_t ordinal = first_ordinal_ + index;
    if (op_seen_[index]) {
      return Fail(DiagnosticCode::kBadStructure, "the operation stands in two places", ordinal);
    }
    op_seen_[index] = true;
    const pb::Operation& from = in_.operations(static_cast<int>(index));
    const std::optional<OpKind> kind = FromWire<OpKind>(from.kind());
    if (!kind) {
      return Fail(DiagnosticCode::kMalformedModule, "the operation has no kind", ordinal);
    }
    Diagnostic error{.code = DiagnosticCode::kMalformedModule, .ordinal = ordinal};
    std::optional<Attributes> attributes = wire::ReadAttributes(from, *kind, context_, &error);
    if (!attributes) return error;
    if (Error e = CheckLimit(from.operands_size(), limits_.operands, "operands", ordinal)) return e;
    regions_ += static_cast<size_t>(from.regions_size());
    if (regions_ >= block_seen_.size() && from.regions_size() != 0) {
      return Fail(DiagnosticCode::kBadStructure, "more regions than blocks", ordinal);
    }
    if (Error e = CheckFresh(from.result(), ordinal)) return e;
    Op* op = function_->NewOp(*kind, Type::None(), {}, std::move(*attributes));
    op->ordinal = ordinal;
    value_[from.result()] = op->result;
    to->ops.push_back(op);
    ops_.push_back({&from, op});
    return std::nullopt;
  }

  Error CheckAllSeen() {
    for (size_t i = 0; i < op_seen_.size(); ++i) {
      if (op_seen_[i]) continue;
      return Fail(DiagnosticCode::kBadStructure, "the operation stands in no block of the body",
                  first_ordinal_ + static_cast<uint32_t>(i));
    }
    for (size_t i = 0; i < block_seen_.size(); ++i) {
      if (block_seen_[i]) continue;
      return Fail(DiagnosticCode::kBadStructure,
                  "block " + std::to_string(i) + " belongs to no operation of the body");
    }
    for (size_t i = 0; i < value_.size(); ++i) {
      if (value_[i] != kNoValue) continue;
      return Fail(DiagnosticCode::kBadStructure, "value " + std::to_string(i) + " is not defined");
    }
    return std::nullopt;
  }

  Error ReadOperands() {
    for (const Pair& pair : ops_) {
      pair.op->operands.reserve(pair.from->operands_size());
      for (uint32_t operand : pair.from->operands()) {
        if (Error e = CheckIndex(operand, value_.size(), "value", pair.op->ordinal)) return e;
        pair.op->operands.push_back(value_[operand]);
      }
    }
    return std::nullopt;
  }

  Error ReadTypes() {
    std::vector<Type> types;
    const wire::TypeContext context{value_, in_.symbol_count(), constexprs_};
    if (Error e = wire::ReadTypes(in_, context, limits_, budget_, &types)) return e;
    for (size_t i = 0; i < value_.size(); ++i) {
      const uint32_t type = in_.value_types(static_cast<int>(i));
      if (Error e = CheckIndex(type, types.size(), "type")) return e;
      function_->value(value_[i]).type = types[type];
    }
    for (size_t i = 0; i < function_->parameters.size(); ++i) {
      function_->parameters[i].type = function_->type(function_->body.arguments[i]);
    }
    if (Error e = CheckIndex(in_.result_type(), types.size(), "type")) return e;
    function_->result = types[in_.result_type()];
    return std::nullopt;
  }

  struct Pair {
    const pb::Operation* from;
    Op* op;
  };

  const pb::Function& in_;
  const DecodeLimits& limits_;
  const uint32_t first_ordinal_;
  const wire::ReadContext context_;
  const size_t constexprs_;
  wire::TypeBudget* budget_;
  Function* function_;
  std::vector<ValueId> value_;  // by wire number
  std::vector<bool> op_seen_;
  std::vector<bool> block_seen_;
  std::vector<Pair> ops_;
  size_t regions_ = 0;
};

Error ReadModule(const pb::Module& in, const DecodeLimits& limits, Module* module) {
  if (in.format() != 1) {
    return Fail(DiagnosticCode::kMalformedModule,
                "the module's format is " + std::to_string(in.format()) + ", known is 1");
  }
  if (Error e = ConstexprReader(in, limits, module).Read()) return e;
  if (Error e = CheckIndex(in.kernel(), in.functions_size(), "function")) return e;
  module->kernel = in.kernel();
  size_t values = 0;
  uint32_t ordinal = 0;
  wire::TypeBudget budget{limits.extent_work, limits.type_entries};
  for (int i = 0; i < in.functions_size(); ++i) {
    const pb::Function& from = in.functions(i);
    values += from.value_types_size();
    if (Error e = CheckLimit(values, limits.values, "values")) return e;
    auto function = std::make_unique<Function>();
    function->is_kernel = static_cast<uint32_t>(i) == in.kernel();
    const wire::ReadContext context{.constexpr_nodes = module->constexpr_nodes.size(),
                                    .functions = static_cast<size_t>(in.functions_size()),
                                    .symbols = from.symbol_count(),
                                    .list_size = limits.operands};
    FunctionReader reader(from, limits, ordinal, context, module->constexprs.size(), &budget,
                          function.get());
    if (Error e = reader.Read()) return e;
    ordinal += from.operations_size();
    module->functions.push_back(std::move(function));
  }
  return std::nullopt;
}

Error Decode(std::string_view bytes, const DecodeLimits& limits, Module* module) {
  if (Error e = wire::ScanWire(bytes, pb::Module::descriptor(), ScanLimits(limits))) return e;
  pb::Module message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Fail(DiagnosticCode::kMalformedModule, "broken encoding of a message Module");
  }
  if (Error e = wire::FindUnknown(message)) return e;
  return ReadModule(message, limits, module);
}

}  // namespace

DecodedModule DecodeModule(std::string_view bytes, const DecodeLimits& limits) {
  DecodedModule result;
  auto module = std::make_unique<Module>();
  if (Error error = Decode(bytes, limits, module.get())) {
    result.diagnostics.push_back(std::move(*error));
  } else {
    result.module = std::move(module);
  }
  return result;
}

}  // namespace intent
