#pragma once

// One function of textual KIR. Part of the parser; not thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/decode_limits.h"
#include "compiler/ir/module.h"
#include "compiler/ir/parse_type.h"
#include "compiler/ir/text_lexer.h"

namespace intent {

// What functions of one text share. `expressions` and `parameters` are the nodes that x<N> and c<N>
// stand for; the latter are made at their first use.
struct ParseContext {
  TokenStream* tokens;
  const DecodeLimits* limits;
  Module* module;
  std::vector<Span>* spans;  // by ordinal
  std::vector<ConstexprId> expressions;
  std::vector<ConstexprId> parameters;
  std::vector<std::pair<uint32_t, Token>> calls;  // checked when all functions are known
  TextTypeBudget types;                           // what types may still cost
  size_t values = 0;
  size_t blocks = 0;
};

// The node of a constexpr that `token` names (c<N>, x<N>); kNoConstexpr if it names none.
ConstexprId NamedConstexpr(ParseContext* context, const Token& token);

class FunctionParser {
 public:
  FunctionParser(ParseContext* context, Function* function);

  // From "(" to the "}" of the body.
  bool Parse();

  // Of the parameters, as written.
  const std::vector<std::string>& parameter_names() const { return parameter_names_; }
  const std::vector<Span>& parameter_spans() const { return parameter_spans_; }

 private:
  // A constant waits for the operation's type unless its dtype is given.
  struct Literal {
    std::string text;
    std::optional<DType> dtype;
  };
  struct Name {
    Token first_use;
    ValueId value = kNoValue;
  };

  bool ParseParameters();
  bool ParseBlock(Block* block, size_t depth);
  bool ParseOp(Block* block, size_t depth);
  bool ParsePrefix(Op* op, Literal* literal);
  bool ParseForm(Op* op, size_t depth);
  bool ParseGeneric(Op* op, size_t depth);
  bool ParseResult(Op* op, const Literal& literal, const Token& at);
  bool ParseClauses(Op* op, bool generic, size_t depth);

  bool ParseIndexed(Op* op, size_t depth);
  bool ParseSubregion(Op* op);
  bool ParseLoop(Op* op, size_t depth);
  bool ParseWhile(Op* op, size_t depth);
  bool ParseBranches(Op* op, size_t depth);
  bool ParseCarries(Op* op, Block* block, std::string_view close);

  bool ParseRegion(Op* op, size_t depth);  // "(" arguments ")" block
  bool ParseNewBlock(Op* op, Block** block);
  bool ParseBody(Op* op, Block* block, size_t depth);
  bool ParseArgument(Block* block);  // %name ":" type
  bool ParseOperands(Op* op);        // as many as there are, also none
  bool ParseOperand(Op* op);

  bool ParseIndex(IndexAttr* index, std::vector<ValueId>* operands);
  bool ParseGenericIndex(IndexAttr* index);
  bool ParseCombine(Op* op, CombineKind* kind, bool generic, size_t depth);
  bool ParseStatic(StaticInt* value);
  bool ParseStaticList(std::vector<StaticInt>* values);
  bool ParseFlag(std::string_view name, StaticInt* flag);
  bool ParsePairs(std::string_view name, std::vector<AxisPair>* pairs);
  bool ParseConstexpr(ConstexprId* id);
  template <typename E>
  bool ParseKind(E* kind);
  template <typename E>
  bool ParseNamedKind(std::string_view keyword, E* kind);

  uint32_t NameId(const Token& token);
  bool Define(const Token& token, ValueId value);
  bool CountValue(const Token& at);
  void CloseSpan(uint32_t ordinal);
  bool ResolveNames();

  ParseContext& context_;
  TokenStream& tokens_;
  const DecodeLimits& limits_;
  Function& function_;
  TypeParser types_;
  std::unordered_map<std::string_view, uint32_t> name_ids_;
  std::vector<Name> names_;
  std::vector<Op*> ops_;
  std::vector<std::string> parameter_names_;
  std::vector<Span> parameter_spans_;
};

}  // namespace intent
