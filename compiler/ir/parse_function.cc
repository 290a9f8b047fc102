#include "compiler/ir/parse_function.h"

#include <algorithm>

#include "compiler/ir/kind_names.h"
#include "compiler/ir/scalar_text.h"
#include "compiler/ir/text_form.h"

namespace intent {

ConstexprId NamedConstexpr(ParseContext* context, const Token& token) {
  if (const auto index = TokenStream::Label(token, 'x')) {
    return *index < context->expressions.size() ? context->expressions[*index] : kNoConstexpr;
  }
  const auto index = TokenStream::Label(token, 'c');
  if (!index || *index >= context->module->constexprs.size()) return kNoConstexpr;
  context->parameters.resize(context->module->constexprs.size(), kNoConstexpr);
  ConstexprId& id = context->parameters[*index];
  if (id == kNoConstexpr) {
    const ConstexprParameter& parameter = context->module->constexprs[*index];
    id = static_cast<ConstexprId>(context->module->constexpr_nodes.size());
    ConstexprNode node;
    node.op = ConstexprOp::kParameter;
    node.kind = parameter.kind;
    node.enum_type = parameter.enum_type;
    node.index = *index;
    context->module->constexpr_nodes.push_back(std::move(node));
  }
  return id;
}

FunctionParser::FunctionParser(ParseContext* context, Function* function)
    : context_(*context),
      tokens_(*context->tokens),
      limits_(*context->limits),
      function_(*function),
      types_(context->tokens, *context->limits, context->module->constexprs.size(), &context->types,
             [this](const Token& token) { return NameId(token); }) {}

bool FunctionParser::Parse() {
  if (!ParseParameters()) return false;
  if (tokens_.Accept("->") && !types_.ParseType(&function_.result)) return false;
  std::optional<int64_t> symbols;
  const Token at = tokens_.peek();
  if (tokens_.Accept("symbols") && !types_.ParseInteger(&symbols.emplace())) return false;
  if (!ParseBlock(&function_.body, 1) || !ResolveNames()) return false;
  function_.symbol_count = types_.symbols();
  if (!symbols) return true;
  if (*symbols < types_.symbols() || *symbols > static_cast<int64_t>(limits_.symbols)) {
    return tokens_.Fail(at, "the function uses " + std::to_string(types_.symbols()) +
                                " shape symbols; at most " + std::to_string(limits_.symbols) +
                                " are read");
  }
  function_.symbol_count = static_cast<uint32_t>(*symbols);
  return true;
}

bool FunctionParser::ParseParameters() {
  if (!tokens_.Expect("(")) return false;
  while (!tokens_.Accept(")")) {
    if (!function_.parameters.empty() && !tokens_.Expect(",")) return false;
    const Token at = tokens_.peek();
    if (function_.parameters.size() == limits_.parameters) {
      return tokens_.Fail(DiagnosticCode::kLimit, at, "too many parameters");
    }
    if (!ParseArgument(&function_.body)) return false;
    Parameter& parameter = function_.parameters.emplace_back();
    if (tokens_.Accept("alias")) {
      int64_t group = 0;
      if (!types_.ParseInteger(&group)) return false;
      if (group < 0 || group >= static_cast<int64_t>(limits_.parameters)) {
        return tokens_.Fail(at, "no such alias group");
      }
      parameter.alias_group = static_cast<int32_t>(group);
    }
    parameter.noalias = tokens_.Accept("noalias");
    const Token& end = tokens_.previous();
    parameter_names_.emplace_back(at.text);
    parameter_spans_.push_back({0, at.line, at.column, end.line, end.end_column});
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Blocks and operations. Recursion is bounded by limits_.region_depth.

bool FunctionParser::ParseBlock(Block* block, size_t depth) {
  const Token open = tokens_.peek();
  if (depth > limits_.region_depth) {
    return tokens_.Fail(DiagnosticCode::kLimit, open,
                        "blocks nest more than " + std::to_string(limits_.region_depth) + " deep");
  }
  if (++context_.blocks > limits_.blocks) {
    return tokens_.Fail(DiagnosticCode::kLimit, open, "too many blocks");
  }
  if (!tokens_.Expect("{")) return false;
  while (!tokens_.Accept("}")) {
    if (!ParseOp(block, depth)) return false;
  }
  return true;
}

bool FunctionParser::ParseOp(Block* block, size_t depth) {
  const Token start = tokens_.peek();
  const bool named = start.kind == Token::Kind::kValue;
  if (named) {
    tokens_.Next();
    if (!tokens_.Expect("=")) return false;
  }
  const bool generic = tokens_.Accept("generic");
  const Token mnemonic = tokens_.Next();
  const std::optional<OpKind> kind = KindFromName<OpKind>(mnemonic.text);
  if (mnemonic.kind != Token::Kind::kWord || !kind) {
    return tokens_.Fail(mnemonic, "expected an operation");
  }
  if (context_.spans->size() == limits_.operations) {
    return tokens_.Fail(DiagnosticCode::kLimit, mnemonic,
                        "at most " + std::to_string(limits_.operations) + " operations are read");
  }
  if (!CountValue(mnemonic)) return false;
  Op* op = function_.NewOp(*kind, Type::None(), {});
  op->ordinal = static_cast<uint32_t>(context_.spans->size());
  context_.spans->push_back({0, start.line, start.column, 0, 0});
  block->ops.push_back(op);
  ops_.push_back(op);
  if (named && !Define(start, op->result)) return false;

  Literal literal;
  if (!ParsePrefix(op, &literal)) return false;
  if (!(generic ? ParseGeneric(op, depth) : ParseForm(op, depth))) return false;
  if (!ParseResult(op, literal, mnemonic)) return false;
  if (op->operands.size() > limits_.operands) {
    return tokens_.Fail(DiagnosticCode::kLimit, mnemonic, "too many operands");
  }
  if (!generic && !FitsForm(function_, *op)) {
    return tokens_.Fail(mnemonic, "operands or regions do not fit the operation's form");
  }
  CloseSpan(op->ordinal);
  return true;
}

// The type, and the constant that waits for it.
bool FunctionParser::ParseResult(Op* op, const Literal& literal, const Token& at) {
  Type& type = function_.value(op->result).type;
  if (tokens_.Continues() && tokens_.Accept(":") && !types_.ParseType(&type)) return false;
  if (op->kind != OpKind::kConstant) return true;
  if (!literal.dtype && !type.IsScalar()) {
    return tokens_.Fail(at, "the constant needs a scalar type, or 'as' with its dtype");
  }
  const DType dtype = literal.dtype ? *literal.dtype : type.dtype();
  const std::optional<ScalarValue> value = ScalarFromText(dtype, literal.text);
  if (!value) {
    return tokens_.Fail(
        at, literal.text.substr(0, 60) + " is not a literal of " + std::string(DTypeName(dtype)));
  }
  op->attr<ConstantAttr>().value = *value;
  return true;
}

bool FunctionParser::ParsePrefix(Op* op, Literal* literal) {
  switch (op->kind) {
    case OpKind::kConstant:
      if (!types_.ParseLiteral(&literal->text)) return false;
      if (!tokens_.Continues() || !tokens_.Accept("as")) return true;
      return types_.ParseDType(&literal->dtype.emplace());
    case OpKind::kConstexpr:
    case OpKind::kConstexprIf:
      return ParseConstexpr(&op->attr<ConstexprAttr>().expr);
    case OpKind::kCall: {
      const Token token = tokens_.Next();
      const std::optional<uint32_t> callee = TokenStream::Label(token, 'f');
      if (!callee) return tokens_.Fail(token, "expected a function, as f0");
      op->attr<CallAttr>().function = *callee;
      context_.calls.emplace_back(*callee, token);
      return true;
    }
    case OpKind::kUnary:
      return ParseKind(&op->attr<UnaryAttr>().kind);
    case OpKind::kBinary:
      return ParseKind(&op->attr<BinaryAttr>().kind);
    case OpKind::kCompare:
      return ParseKind(&op->attr<CompareAttr>().kind);
    case OpKind::kAtomicRmw:
      return ParseKind(&op->attr<AtomicAttr>().rmw);
    default:
      return true;
  }
}

bool FunctionParser::ParseGeneric(Op* op, size_t depth) {
  if (!ParseOperands(op) || !ParseClauses(op, true, depth)) return false;
  while (tokens_.Continues() && tokens_.Is("(")) {
    if (!ParseRegion(op, depth)) return false;
  }
  return true;
}

bool FunctionParser::ParseForm(Op* op, size_t depth) {
  if (IndexOf(*op) != nullptr) return ParseIndexed(op, depth);
  switch (op->kind) {
    case OpKind::kSubregion:
      return ParseSubregion(op);
    case OpKind::kParallel:
    case OpKind::kFor:
      return ParseLoop(op, depth);
    case OpKind::kIf:
      return ParseOperand(op) && ParseBranches(op, depth);
    case OpKind::kConstexprIf:
      return ParseBranches(op, depth);
    case OpKind::kWhile:
      return ParseWhile(op, depth);
    case OpKind::kRegionFold:
    case OpKind::kRegionScan:
      if (!ParseOperands(op) || !ParseClauses(op, false, depth)) return false;
      for (std::string_view keyword : RegionKeywords(op->kind)) {
        if (!tokens_.Expect(keyword) || !ParseRegion(op, depth)) return false;
      }
      return true;
    default:
      return ParseOperands(op) && ParseClauses(op, false, depth);
  }
}

bool FunctionParser::ParseIndexed(Op* op, size_t depth) {
  IndexAttr* index = const_cast<IndexAttr*>(IndexOf(*op));
  std::vector<ValueId> terms;
  if (!ParseOperand(op) || !ParseIndex(index, &terms)) return false;
  const size_t leading = LeadingOperands(op->kind);
  for (size_t i = 1; i < leading; ++i) {
    if (!tokens_.Expect(i == 1 ? "=" : ",") || !ParseOperand(op)) return false;
  }
  op->operands.insert(op->operands.end(), terms.begin(), terms.end());
  for (const auto& [keyword, flag] :
       {std::pair{"valid", &index->has_valid}, std::pair{"fill", &index->has_fill}}) {
    if (!tokens_.Continues() || !tokens_.Accept(keyword)) continue;
    *flag = true;
    if (!ParseOperand(op)) return false;
  }
  if (op->kind == OpKind::kScatterReduce) {
    if (tokens_.Accept("captures")) {
      if (!tokens_.Expect("(") || !ParseOperands(op) || !tokens_.Expect(")")) return false;
    }
    return ParseCombine(op, &op->attr<ScatterReduceAttr>().combine, false, depth);
  }
  if (auto* atomic = std::get_if<AtomicAttr>(&op->attributes)) {
    return ParseNamedKind("order", &atomic->order);
  }
  return true;
}

bool FunctionParser::ParseSubregion(Op* op) {
  SubregionAttr& attr = op->attr<SubregionAttr>();
  if (!ParseOperand(op) || !tokens_.Expect("[")) return false;
  attr.has_start = !tokens_.Is(":");
  if (attr.has_start && !ParseOperand(op)) return false;
  if (!tokens_.Expect(":")) return false;
  attr.has_stop = !tokens_.Is("]");
  if (attr.has_stop && !ParseOperand(op)) return false;
  return tokens_.Expect("]");
}

bool FunctionParser::ParseLoop(Op* op, size_t depth) {
  Block* block = nullptr;
  if (!ParseNewBlock(op, &block)) return false;
  while (!tokens_.Accept("=")) {
    if (!block->arguments.empty() && !tokens_.Expect(",")) return false;
    const Token name = tokens_.Next();
    if (name.kind != Token::Kind::kValue) return tokens_.Fail(name, "expected %name");
    if (!CountValue(name)) return false;
    const ValueId id = function_.NewArgument(block, Type::Scalar(DType::kIndex));
    if (!Define(name, id)) return false;
  }
  if (!ParseOperand(op)) return false;
  if (op->kind == OpKind::kFor && tokens_.Accept("carry")) {
    if (!tokens_.Expect("(") || !ParseCarries(op, block, ")")) return false;
  }
  return ParseBody(op, block, depth);
}

// %name "=" %init ":" type, ... up to `close`
bool FunctionParser::ParseCarries(Op* op, Block* block, std::string_view close) {
  for (bool first = true; !tokens_.Accept(close); first = false) {
    if (!first && !tokens_.Expect(",")) return false;
    const Token name = tokens_.Next();
    if (name.kind != Token::Kind::kValue) return tokens_.Fail(name, "expected %name");
    if (!CountValue(name)) return false;
    const ValueId id = function_.NewArgument(block, Type::None());
    if (!Define(name, id) || !tokens_.Expect("=") || !ParseOperand(op)) return false;
    Type type;
    if (!tokens_.Expect(":") || !types_.ParseType(&type)) return false;
    function_.value(id).type = std::move(type);
  }
  return true;
}

bool FunctionParser::ParseWhile(Op* op, size_t depth) {
  Block* condition = nullptr;
  if (!ParseNewBlock(op, &condition) || !tokens_.Expect("(")) return false;
  if (!ParseCarries(op, condition, ")") || !ParseBody(op, condition, depth)) return false;
  return tokens_.Expect("do") && ParseRegion(op, depth);
}

bool FunctionParser::ParseBranches(Op* op, size_t depth) {
  Block* block = nullptr;
  if (!ParseNewBlock(op, &block) || !ParseBody(op, block, depth)) return false;
  if (!tokens_.Expect("else")) return false;
  return ParseNewBlock(op, &block) && ParseBody(op, block, depth);
}

bool FunctionParser::ParseNewBlock(Op* op, Block** block) {
  if (op->regions.size() == limits_.operands) {
    return tokens_.Fail(DiagnosticCode::kLimit, tokens_.peek(), "too many regions");
  }
  op->regions.push_back(std::make_unique<Block>());
  *block = op->regions.back().get();
  return true;
}

// A block of the operation; its span ends before the first.
bool FunctionParser::ParseBody(Op* op, Block* block, size_t depth) {
  CloseSpan(op->ordinal);
  return ParseBlock(block, depth + 1);
}

bool FunctionParser::ParseRegion(Op* op, size_t depth) {
  Block* block = nullptr;
  if (!ParseNewBlock(op, &block) || !tokens_.Expect("(")) return false;
  while (!tokens_.Accept(")")) {
    if (!block->arguments.empty() && !tokens_.Expect(",")) return false;
    if (!ParseArgument(block)) return false;
  }
  return ParseBody(op, block, depth);
}

bool FunctionParser::ParseArgument(Block* block) {
  const Token name = tokens_.Next();
  if (name.kind != Token::Kind::kValue) return tokens_.Fail(name, "expected %name");
  if (block->arguments.size() == limits_.operands) {
    return tokens_.Fail(DiagnosticCode::kLimit, name, "too many block arguments");
  }
  if (!CountValue(name)) return false;
  const ValueId id = function_.NewArgument(block, Type::None());
  if (!Define(name, id) || !tokens_.Expect(":")) return false;
  Type type;
  if (!types_.ParseType(&type)) return false;
  function_.value(id).type = std::move(type);
  return true;
}

bool FunctionParser::ParseOperands(Op* op) {
  if (!tokens_.Continues() || tokens_.peek().kind != Token::Kind::kValue) return true;
  do {
    if (!ParseOperand(op)) return false;
  } while (tokens_.Continues() && tokens_.Accept(","));
  return true;
}

bool FunctionParser::ParseOperand(Op* op) {
  const Token token = tokens_.Next();
  if (token.kind != Token::Kind::kValue) return tokens_.Fail(token, "expected %name");
  op->operands.push_back(NameId(token));
  return true;
}

// ---------------------------------------------------------------------------------------------
// Attributes

bool FunctionParser::ParseClauses(Op* op, bool generic, size_t depth) {
  struct Visitor {
    FunctionParser& p;
    Op* op;
    bool generic;
    size_t depth;

    bool operator()(NoAttr&) const { return true; }
    bool operator()(ConstantAttr&) const { return true; }
    bool operator()(ConstexprAttr&) const { return true; }
    bool operator()(CallAttr&) const { return true; }
    bool operator()(CompareAttr&) const { return true; }
    bool operator()(AxisAttr& a) const {
      return p.tokens_.Expect("axis") && p.ParseStatic(&a.axis);
    }
    bool operator()(AxesAttr& a) const {
      return p.tokens_.Expect("axes") && p.ParseStaticList(&a.axes);
    }
    bool operator()(SubregionAttr& a) const {
      a.has_start = p.tokens_.Continues() && p.tokens_.Accept("start");
      a.has_stop = p.tokens_.Continues() && p.tokens_.Accept("stop");
      return true;
    }
    bool operator()(UnaryAttr& a) const {
      return p.ParseFlag("approximate", &a.approximate) &&
             p.ParseFlag("flush_to_zero", &a.flush_to_zero);
    }
    bool operator()(BinaryAttr& a) const {
      return p.ParseFlag("approximate", &a.approximate) &&
             p.ParseFlag("flush_to_zero", &a.flush_to_zero);
    }
    bool operator()(ReduceAttr& a) const {
      return p.tokens_.Expect("axes") && p.ParseStaticList(&a.axes) &&
             p.ParseCombine(op, &a.combine, generic, depth);
    }
    bool operator()(ScanAttr& a) const {
      a.inclusive = 0;
      return p.tokens_.Expect("axis") && p.ParseStatic(&a.axis) &&
             p.ParseFlag("inclusive", &a.inclusive) && p.ParseFlag("reverse", &a.reverse) &&
             p.ParseCombine(op, &a.combine, generic, depth);
    }
    bool operator()(RegionAttr& a) const {
      return p.tokens_.Expect("axis") && p.ParseStatic(&a.axis) && p.tokens_.Expect("slice") &&
             p.types_.ParseSymbol(&a.slice_symbol);
    }
    bool operator()(ContractAttr& a) const {
      return p.ParsePairs("reduce", &a.reduce) && p.ParsePairs("batch", &a.batch);
    }
    bool operator()(ScaledAttr& a) const {
      return p.ParseNamedKind("lhs", &a.lhs) && p.ParseNamedKind("rhs", &a.rhs) &&
             p.tokens_.Expect("group") && p.ParseStatic(&a.group_size);
    }
    bool operator()(SparseAttr& a) const {
      return p.ParseNamedKind("format", &a.format) && p.tokens_.Expect("axis") &&
             p.ParseStatic(&a.compression_axis) && (*this)(a.contract);
    }
    bool operator()(FormatAttr& a) const {
      return p.ParseNamedKind("lhs", &a.lhs) && p.ParseNamedKind("rhs", &a.rhs);
    }
    bool operator()(IndexAttr& a) const { return p.ParseGenericIndex(&a); }
    bool operator()(ScatterReduceAttr& a) const {
      return (*this)(a.index) && p.ParseCombine(op, &a.combine, generic, depth);
    }
    bool operator()(AtomicAttr& a) const {
      return (*this)(a.index) && p.ParseNamedKind("order", &a.order);
    }
  };
  return std::visit(Visitor{*this, op, generic, depth}, op->attributes);
}

bool FunctionParser::ParseIndex(IndexAttr* index, std::vector<ValueId>* operands) {
  if (!tokens_.Expect("[")) return false;
  while (!tokens_.Accept("]")) {
    if (!index->terms.empty() && !tokens_.Expect(",")) return false;
    if (index->terms.size() == limits_.operands) {
      return tokens_.Fail(DiagnosticCode::kLimit, tokens_.peek(), "too many index terms");
    }
    IndexTerm& term = index->terms.emplace_back();
    const auto take_value = [&] {
      const Token token = tokens_.Next();
      if (token.kind != Token::Kind::kValue) return tokens_.Fail(token, "expected %name");
      operands->push_back(NameId(token));
      return true;
    };
    if (tokens_.Accept(":")) {
      term.kind = IndexTermKind::kFull;
    } else if (tokens_.Accept("new")) {
      term.kind = IndexTermKind::kNewAxis;
    } else if (tokens_.Accept("region")) {
      term.kind = IndexTermKind::kRegion;
      if (!take_value()) return false;
    } else if (tokens_.peek().kind == Token::Kind::kValue) {
      term.kind = IndexTermKind::kValue;
      if (!take_value()) return false;
      if (tokens_.Accept(":")) {
        term.kind = IndexTermKind::kSlice;
        if (!take_value()) return false;
      }
    } else {
      term.kind = IndexTermKind::kStatic;
      if (!ParseStatic(&term.position)) return false;
    }
  }
  return true;
}

bool FunctionParser::ParseGenericIndex(IndexAttr* index) {
  if (!tokens_.Expect("index") || !tokens_.Expect("[")) return false;
  while (!tokens_.Accept("]")) {
    if (!index->terms.empty() && !tokens_.Expect(",")) return false;
    if (index->terms.size() == limits_.operands) {
      return tokens_.Fail(DiagnosticCode::kLimit, tokens_.peek(), "too many index terms");
    }
    IndexTerm& term = index->terms.emplace_back();
    if (tokens_.Accept(":")) {
      term.kind = IndexTermKind::kFull;
    } else if (tokens_.Accept("new")) {
      term.kind = IndexTermKind::kNewAxis;
    } else if (tokens_.Accept("region")) {
      term.kind = IndexTermKind::kRegion;
    } else if (tokens_.Accept("value")) {
      term.kind = IndexTermKind::kValue;
    } else if (tokens_.Accept("slice")) {
      term.kind = IndexTermKind::kSlice;
    } else {
      term.kind = IndexTermKind::kStatic;
      if (!ParseStatic(&term.position)) return false;
    }
  }
  index->has_valid = tokens_.Continues() && tokens_.Accept("valid");
  index->has_fill = tokens_.Continues() && tokens_.Accept("fill");
  return true;
}

bool FunctionParser::ParseCombine(Op* op, CombineKind* kind, bool generic, size_t depth) {
  if (!tokens_.Expect("combine")) return false;
  if (!generic && tokens_.Is("(")) {
    *kind = CombineKind::kRegion;
    return ParseRegion(op, depth);
  }
  return ParseKind(kind);
}

bool FunctionParser::ParseStatic(StaticInt* value) {
  if (tokens_.peek().kind == Token::Kind::kWord) {
    ConstexprId id = kNoConstexpr;
    if (!ParseConstexpr(&id)) return false;
    *value = StaticInt::Ref(id);
    return true;
  }
  value->expr = kNoConstexpr;
  return types_.ParseInteger(&value->value);
}

bool FunctionParser::ParseStaticList(std::vector<StaticInt>* values) {
  if (!tokens_.Expect("[")) return false;
  while (!tokens_.Accept("]")) {
    if (!values->empty() && !tokens_.Expect(",")) return false;
    if (values->size() == limits_.operands) {
      return tokens_.Fail(DiagnosticCode::kLimit, tokens_.peek(), "the list is too long");
    }
    if (!ParseStatic(&values->emplace_back())) return false;
  }
  return true;
}

bool FunctionParser::ParseFlag(std::string_view name, StaticInt* flag) {
  if (!tokens_.Continues() || !tokens_.Accept(name)) return true;
  *flag = 1;
  return !tokens_.Accept("=") || ParseStatic(flag);
}

bool FunctionParser::ParsePairs(std::string_view name, std::vector<AxisPair>* pairs) {
  if (!tokens_.Continues() || !tokens_.Accept(name)) return true;
  if (!tokens_.Expect("[")) return false;
  while (!tokens_.Accept("]")) {
    if (!pairs->empty() && !tokens_.Expect(",")) return false;
    if (pairs->size() == limits_.operands) {
      return tokens_.Fail(DiagnosticCode::kLimit, tokens_.peek(), "the list is too long");
    }
    AxisPair& pair = pairs->emplace_back();
    if (!tokens_.Expect("(") || !ParseStatic(&pair.lhs) || !tokens_.Expect(",") ||
        !ParseStatic(&pair.rhs) || !tokens_.Expect(")")) {
      return false;
    }
  }
  return true;
}

bool FunctionParser::ParseConstexpr(ConstexprId* id) {
  const Token token = tokens_.Next();
  *id = NamedConstexpr(&context_, token);
  if (*id != kNoConstexpr) return true;
  return tokens_.Fail(token, "expected a declared constexpr, as c0 or x0");
}

template <typename E>
bool FunctionParser::ParseKind(E* kind) {
  const Token token = tokens_.Next();
  const std::optional<E> read = KindFromName<E>(token.text);
  if (!read) {
    std::string names;
    for (std::string_view name : NamesOf<E>())
      names += (names.empty() ? "" : ", ") + std::string(name);
    return tokens_.Fail(token, "expected one of " + names);
  }
  *kind = *read;
  return true;
}

template <typename E>
bool FunctionParser::ParseNamedKind(std::string_view keyword, E* kind) {
  return tokens_.Expect(keyword) && ParseKind(kind);
}

// ---------------------------------------------------------------------------------------------
// Names. Until the function is read, operands and extents hold numbers of names.

uint32_t FunctionParser::NameId(const Token& token) {
  const auto [entry, fresh] =
      name_ids_.try_emplace(token.text, static_cast<uint32_t>(names_.size()));
  if (fresh) names_.push_back({.first_use = token});
  return entry->second;
}

bool FunctionParser::Define(const Token& token, ValueId value) {
  Name& name = names_[NameId(token)];
  if (name.value != kNoValue) {
    return tokens_.Fail(token, "%" + std::string(token.text) + " is defined twice");
  }
  name.value = value;
  return true;
}

bool FunctionParser::CountValue(const Token& at) {
  if (++context_.values <= limits_.values) return true;
  return tokens_.Fail(DiagnosticCode::kLimit, at,
                      "at most " + std::to_string(limits_.values) + " values are read");
}

void FunctionParser::CloseSpan(uint32_t ordinal) {
  Span& span = (*context_.spans)[ordinal];
  if (span.end_line != 0) return;
  span.end_line = tokens_.previous().line;
  span.end_column = tokens_.previous().end_column;
}

bool FunctionParser::ResolveNames() {
  for (const Name& name : names_) {
    if (name.value == kNoValue) {
      return tokens_.Fail(name.first_use,
                          "%" + std::string(name.first_use.text) + " is not defined");
    }
  }
  for (Op* op : ops_) {
    for (ValueId& operand : op->operands) operand = names_[operand].value;
  }
  const auto resolve = [&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
    if (kind != AtomKind::kValue) return std::nullopt;
    return Extent::Value(names_[index].value);
  };
  for (ValueId id = 0; id < function_.value_count(); ++id) {
    Value& value = function_.value(id);
    value.type = value.type.Substitute(resolve);
  }
  function_.result = function_.result.Substitute(resolve);
  for (size_t i = 0; i < function_.parameters.size(); ++i) {
    function_.parameters[i].type = function_.type(function_.body.arguments[i]);
  }
  return true;
}

}  // namespace intent
