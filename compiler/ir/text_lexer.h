#pragma once

// Tokens of textual KIR, one at a time, with the first error of a parse. Not thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"

namespace intent {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kWord,    // tensor, f32, c3
    kValue,   // %name; the text is without %
    kNumber,  // 3, 1.5e-05, 0x7f
    kString,  // "..."; the text is with quotes, escapes not resolved
    kPunct,   // one character, or ->
    kBad,     // a character that begins no token, or a string without end
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  uint32_t line = 1, column = 1;  // from 1, in bytes
  uint32_t end_column = 1;        // one past the last byte
  bool first_on_line = false;
};

// The text must outlive the stream.
class TokenStream {
 public:
  explicit TokenStream(std::string_view text);

  const Token& peek() const { return token_; }
  const Token& peek_second() const { return second_; }
  const Token& previous() const { return previous_; }
  Token Next();  // takes the token

  bool Is(std::string_view punct_or_word) const;
  // Still on the line of the operation that is being read.
  bool Continues() const { return !token_.first_on_line && token_.kind != Token::Kind::kEnd; }
  bool Accept(std::string_view punct_or_word);
  bool Expect(std::string_view punct_or_word);  // false: error reported

  // A word of `letter` and a number without leading zeros, as c3; nullopt if it is not one.
  static std::optional<uint32_t> Label(const Token& token, char letter);

  // Keeps the first error; always false, to return at once.
  bool Fail(const Token& token, std::string message);
  bool Fail(DiagnosticCode code, const Token& token, std::string message);
  const std::optional<Diagnostic>& error() const { return error_; }

 private:
  Token Lex();
  void SkipBlanks();

  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  bool fresh_line_ = true;
  Token previous_, token_, second_;
  std::optional<Diagnostic> error_;
};

}  // namespace intent
