#pragma once

// Types, extents and literals of textual KIR. Part of the parser; not thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/decode_limits.h"
#include "compiler/ir/text_lexer.h"
#include "compiler/ir/type.h"

namespace intent {

struct TextTypeBudget {
  size_t extent_work = 0;
  size_t type_entries = 0;
};

class TypeParser {
 public:
  // `value`: the number that stands for %name in extents until names are resolved.
  // `constexprs`: parameters declared so far. `budget`: what the text's types may still cost.
  TypeParser(TokenStream* tokens, const DecodeLimits& limits, size_t constexprs,
             TextTypeBudget* budget, std::function<uint32_t(const Token&)> value)
      : tokens_(*tokens),
        limits_(limits),
        constexprs_(constexprs),
        budget_(*budget),
        value_(std::move(value)) {}

  // All report an error and return false if the text has none.
  bool ParseType(Type* type);
  bool ParseDType(DType* dtype);
  bool ParseSymbol(uint32_t* symbol);
  // The text of a literal: [-] number, [-] inf, true, false, bits(0x...).
  bool ParseLiteral(std::string* text);
  bool ParseInteger(int64_t* value);

  // One more than the greatest symbol so far.
  uint32_t symbols() const { return symbols_; }

 private:
  struct Measure {
    size_t size = 1;
    size_t depth = 1;
  };
  using Operation = Extent (*)(const Extent&, const Extent&);

  bool ParseType(Type* type, size_t depth, Measure* measure);
  bool CountEntry();
  bool ParseProduct(bool record, size_t depth, Type* type, Measure* measure);
  bool ParseName(std::string* name);
  bool ParseShape(std::vector<Extent>* shape, Measure* measure);
  bool ParseSum(int depth, Extent* extent);
  bool ParseTerm(int depth, Extent* extent);
  bool ParseFactor(int depth, Extent* extent);
  bool Apply(const Token& at, Operation operation, const Extent& rhs, Extent* extent);

  TokenStream& tokens_;
  const DecodeLimits& limits_;
  const size_t constexprs_;
  TextTypeBudget& budget_;
  std::function<uint32_t(const Token&)> value_;
  uint32_t symbols_ = 0;
};

}  // namespace intent
