#include "compiler/ir/parse.h"

#include <bit>
#include <string>

#include "compiler/ir/canonical.h"
#include "compiler/ir/kind_names.h"
#include "compiler/ir/parse_function.h"
#include "compiler/ir/scalar_text.h"

namespace intent {
namespace {

class ModuleParser {
 public:
  ModuleParser(TokenStream* tokens, const DecodeLimits& limits, Module* module, SourceMap* map)
      : tokens_(*tokens), limits_(limits), module_(*module), map_(*map) {
    context_.tokens = tokens;
    context_.limits = &limits;
    context_.module = module;
    context_.spans = &map->spans;
    context_.types = {limits.extent_work, limits.type_entries};
  }

  bool Parse() {
    while (tokens_.peek().kind != Token::Kind::kEnd) {
      if (!ParseItem()) return false;
    }
    if (!kernel_) return tokens_.Fail(tokens_.peek(), "the text has no kernel");
    for (const auto& [callee, token] : context_.calls) {
      if (callee >= module_.functions.size()) return tokens_.Fail(token, "no such function");
    }
    module_.kernel = *kernel_;
    for (uint32_t i = 0; i < module_.kernel_function().symbol_count; ++i) {
      map_.symbol_names.push_back("s" + std::to_string(i));
    }
    return true;
  }

 private:
  bool ParseItem() {
    const Token token = tokens_.Next();
    if (token.kind == Token::Kind::kWord) {
      if (token.text == "enum") return ParseEnum();
      if (token.text == "constexpr") return ParseParameter();
      if (token.text == "expr") return ParseExpression();
      if (token.text == "fn" || token.text == "kernel") return ParseFunction(token);
    }
    return tokens_.Fail(token, "expected enum, constexpr, expr, fn or kernel");
  }

  // Items are labelled with their position.
  bool ExpectLabel(char letter, size_t position, size_t limit) {
    const Token token = tokens_.Next();
    if (position >= limit) {
      return tokens_.Fail(DiagnosticCode::kLimit, token,
                          "at most " + std::to_string(limit) + " are read");
    }
    const std::optional<uint32_t> label = TokenStream::Label(token, letter);
    if (label && *label == position) return true;
    return tokens_.Fail(token, std::string("expected ") + letter + std::to_string(position));
  }

  bool ParseEnum() {
    if (!ExpectLabel('e', module_.enums.size(), limits_.parameters)) return false;
    map_.enum_names.push_back("e" + std::to_string(module_.enums.size()));
    EnumType& type = module_.enums.emplace_back();
    std::vector<std::string>& members = map_.enum_member_names.emplace_back();
    if (!tokens_.Expect("{")) return false;
    while (!tokens_.Accept("}")) {
      if (!type.values.empty() && !tokens_.Expect(",")) return false;
      const Token at = tokens_.peek();
      if (type.values.size() == limits_.enum_values) {
        return tokens_.Fail(DiagnosticCode::kLimit, at, "too many members");
      }
      if (!ParseInteger(&type.values.emplace_back())) return false;
      members.push_back(std::to_string(type.values.back()));
    }
    return true;
  }

  bool ParseParameter() {
    if (!ExpectLabel('c', module_.constexprs.size(), limits_.parameters)) return false;
    ConstexprParameter parameter;
    if (!tokens_.Expect(":") || !ParseKind(&parameter.kind, &parameter.enum_type)) return false;
    if (tokens_.Accept("=")) {
      const Token at = tokens_.peek();
      ConstexprNode literal;
      if (!ParseLiteral(parameter.kind, &literal)) return false;
      if (literal.kind != parameter.kind || literal.enum_type != parameter.enum_type) {
        return tokens_.Fail(at, "the default is of another type");
      }
      parameter.default_value =
          ConstexprValue{literal.kind, literal.enum_type, literal.int_value, literal.float_value};
    }
    parameter.fixed = tokens_.Accept("fixed");
    map_.constexpr_names.push_back("c" + std::to_string(module_.constexprs.size()));
    module_.constexprs.push_back(std::move(parameter));
    return true;
  }

  bool ParseExpression() {
    if (!ExpectLabel('x', context_.expressions.size(), limits_.constexpr_nodes)) return false;
    ConstexprNode node;
    if (!tokens_.Expect(":") || !ParseKind(&node.kind, &node.enum_type)) return false;
    if (!tokens_.Expect("=")) return false;
    const Token at = tokens_.peek();
    const std::optional<ConstexprOp> op = KindFromName<ConstexprOp>(at.text);
    if (at.kind != Token::Kind::kWord || !op || *op == ConstexprOp::kLiteral) {
      ConstexprNode literal;
      if (!ParseLiteral(node.kind, &literal)) return false;
      if (literal.kind != node.kind || literal.enum_type != node.enum_type) {
        return tokens_.Fail(at, "the literal is of another type");
      }
      node = std::move(literal);
    } else if (*op == ConstexprOp::kParameter) {
      tokens_.Next();
      node.op = *op;
      int64_t index = 0;
      if (!ParseInteger(&index)) return false;
      if (index < 0 || index >= static_cast<int64_t>(module_.constexprs.size())) {
        return tokens_.Fail(at, "no such constexpr parameter");
      }
      node.index = static_cast<uint32_t>(index);
    } else {
      tokens_.Next();
      node.op = *op;
      if (!ParseOperands(ConstexprArity(*op), &node.operands)) return false;
    }
    ConstexprId id = kNoConstexpr;
    if (!AddNode(at, std::move(node), &id)) return false;
    context_.expressions.push_back(id);
    return true;
  }

  bool ParseOperands(int count, std::vector<ConstexprId>* operands) {
    for (int i = 0; i < count; ++i) {
      if (i != 0 && !tokens_.Expect(",")) return false;
      const Token at = tokens_.peek();
      ConstexprId id = NamedConstexpr(&context_, at);
      if (id != kNoConstexpr) {
        tokens_.Next();
      } else {
        ConstexprNode literal;
        if (!ParseLiteral(std::nullopt, &literal)) return false;
        if (!AddNode(at, std::move(literal), &id)) return false;
      }
      operands->push_back(id);
    }
    return true;
  }

  bool AddNode(const Token& at, ConstexprNode node, ConstexprId* id) {
    if (module_.constexpr_nodes.size() >= limits_.constexpr_nodes) {
      return tokens_.Fail(DiagnosticCode::kLimit, at, "too many constexpr expressions");
    }
    *id = static_cast<ConstexprId>(module_.constexpr_nodes.size());
    module_.constexpr_nodes.push_back(std::move(node));
    return true;
  }

  bool ParseKind(ConstexprKind* kind, uint32_t* enum_type) {
    const Token token = tokens_.Next();
    if (token.text == "i64") {
      *kind = ConstexprKind::kInt;
    } else if (token.text == "f64") {
      *kind = ConstexprKind::kFloat;
    } else if (token.text == "bool") {
      *kind = ConstexprKind::kBool;
    } else if (const auto index = TokenStream::Label(token, 'e')) {
      *kind = ConstexprKind::kEnum;
      *enum_type = *index;
      return CheckEnum(token, *index);
    } else {
      return tokens_.Fail(token, "expected i64, f64, bool or an enum, as e0");
    }
    return true;
  }

  bool CheckEnum(const Token& token, uint32_t index) {
    return index < module_.enums.size() || tokens_.Fail(token, "no such enum");
  }

  // `expected`: an integer where a float is expected is one.
  bool ParseLiteral(std::optional<ConstexprKind> expected, ConstexprNode* node) {
    const Token at = tokens_.peek();
    if (const auto index = TokenStream::Label(at, 'e')) {
      tokens_.Next();
      node->kind = ConstexprKind::kEnum;
      node->enum_type = *index;
      return CheckEnum(at, *index) && tokens_.Expect("(") && ParseInteger(&node->int_value) &&
             tokens_.Expect(")");
    }
    std::string text;
    if (!Literals().ParseLiteral(&text)) return false;
    if (text == "true" || text == "false") {
      node->kind = ConstexprKind::kBool;
      node->int_value = text == "true" ? 1 : 0;
      return true;
    }
    const bool is_float =
        text.find_first_of(".eibn") != std::string::npos && !text.starts_with("0x");
    if (is_float || expected == ConstexprKind::kFloat) {
      const std::optional<ScalarValue> value = ScalarFromText(DType::kF64, text);
      if (!value) return tokens_.Fail(at, "expected a literal of f64");
      node->kind = ConstexprKind::kFloat;
      node->float_value = std::bit_cast<double>(static_cast<uint64_t>(value->bits));
      return true;
    }
    const std::optional<ScalarValue> value = ScalarFromText(DType::kI64, text);
    if (!value) return tokens_.Fail(at, "expected a literal of i64");
    node->kind = ConstexprKind::kInt;
    node->int_value = static_cast<int64_t>(value->bits);
    return true;
  }

  bool ParseInteger(int64_t* value) { return Literals().ParseInteger(value); }

  TypeParser Literals() {
    return TypeParser(&tokens_, limits_, module_.constexprs.size(), &context_.types,
                      [](const Token&) { return kNoValue; });
  }

  bool ParseFunction(const Token& head) {
    const size_t index = module_.functions.size();
    const bool is_kernel = head.text == "kernel";
    if (is_kernel && kernel_) return tokens_.Fail(head, "the text has two kernels");
    if (is_kernel) {
      kernel_ = static_cast<uint32_t>(index);
      if (index >= limits_.functions) {
        return tokens_.Fail(DiagnosticCode::kLimit, head, "too many functions");
      }
    } else if (!ExpectLabel('f', index, limits_.functions)) {
      return false;
    }
    module_.functions.push_back(std::make_unique<Function>());
    Function* function = module_.functions.back().get();
    function->is_kernel = is_kernel;
    FunctionParser parser(&context_, function);
    if (!parser.Parse()) return false;
    if (is_kernel) {
      map_.kernel_name = "kernel";
      map_.parameter_names = parser.parameter_names();
      map_.parameter_spans = parser.parameter_spans();
    }
    return true;
  }

  TokenStream& tokens_;
  const DecodeLimits& limits_;
  Module& module_;
  SourceMap& map_;
  ParseContext context_;
  std::optional<uint32_t> kernel_;
};

}  // namespace

ParsedModule ParseModule(std::string_view text, std::string_view file, const DecodeLimits& limits) {
  ParsedModule result;
  result.source_map.files = {std::string(file)};
  if (text.size() > limits.bytes) {
    result.diagnostics.push_back(
        {.code = DiagnosticCode::kLimit,
         .message = "at most " + std::to_string(limits.bytes) + " bytes of text are read"});
    return result;
  }
  TokenStream tokens(text);
  auto module = std::make_unique<Module>();
  if (ModuleParser(&tokens, limits, module.get(), &result.source_map).Parse()) {
    result.module = std::move(module);
  } else {
    result.diagnostics.push_back(*tokens.error());
  }
  return result;
}

}  // namespace intent
