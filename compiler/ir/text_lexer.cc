#include "compiler/ir/text_lexer.h"

namespace intent {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWord(char c) { return IsWordStart(c) || IsDigit(c); }

std::string Describe(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end";
  std::string text(token.text.substr(0, 40));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return token.kind == Token::Kind::kValue ? "%" + text : text;
}

}  // namespace

TokenStream::TokenStream(std::string_view text) : text_(text) {
  token_ = Lex();
  second_ = Lex();
}

Token TokenStream::Next() {
  previous_ = token_;
  token_ = second_;
  second_ = Lex();
  return previous_;
}

bool TokenStream::Is(std::string_view text) const {
  return (token_.kind == Token::Kind::kPunct || token_.kind == Token::Kind::kWord) &&
         token_.text == text;
}

bool TokenStream::Accept(std::string_view text) {
  if (!Is(text)) return false;
  Next();
  return true;
}

bool TokenStream::Expect(std::string_view text) {
  if (Accept(text)) return true;
  return Fail(token_, "expected " + std::string(text) + ", found " + Describe(token_));
}

std::optional<uint32_t> TokenStream::Label(const Token& token, char letter) {
  const std::string_view text = token.text;
  if (token.kind != Token::Kind::kWord || text.size() < 2 || text.size() > 9) return std::nullopt;
  if (text[0] != letter || (text[1] == '0' && text.size() > 2)) return std::nullopt;
  uint32_t number = 0;
  for (char c : text.substr(1)) {
    if (!IsDigit(c)) return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number;
}

bool TokenStream::Fail(const Token& token, std::string message) {
  return Fail(DiagnosticCode::kSyntax, token, std::move(message));
}

bool TokenStream::Fail(DiagnosticCode code, const Token& token, std::string message) {
  if (!error_) {
    error_ = Diagnostic{.code = code, .message = std::move(message)};
    error_->span = {0, token.line, token.column, token.line, token.end_column};
  }
  return false;
}

void TokenStream::SkipBlanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++position_;
      fresh_line_ = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++position_;
    } else if (text_.substr(position_, 2) == "//") {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else {
      return;
    }
  }
}

Token TokenStream::Lex() {
  SkipBlanks();
  Token token;
  token.line = line_;
  token.column = static_cast<uint32_t>(position_ - line_start_ + 1);
  token.first_on_line = fresh_line_;
  fresh_line_ = false;
  size_t end = position_;
  size_t begin = position_;
  const auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  if (position_ == text_.size()) {
    token.kind = Token::Kind::kEnd;
  } else if (IsWordStart(at(end))) {
    token.kind = Token::Kind::kWord;
    while (IsWord(at(end))) ++end;
  } else if (at(end) == '%' && IsWord(at(end + 1))) {
    token.kind = Token::Kind::kValue;
    begin = ++end;
    while (IsWord(at(end))) ++end;
  } else if (IsDigit(at(end))) {
    token.kind = Token::Kind::kNumber;
    const bool hex = text_.substr(end, 2) == "0x";
    while (IsWord(at(end)) || at(end) == '.') {
      const bool exponent = !hex && (at(end) == 'e' || at(end) == 'E');
      ++end;
      if (exponent && (at(end) == '-' || at(end) == '+')) ++end;
    }
  } else if (at(end) == '"') {
    ++end;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
      end += text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n' ? 2 : 1;
    }
    const bool closed = end < text_.size() && text_[end] == '"';
    if (closed) ++end;
    token.kind = closed ? Token::Kind::kString : Token::Kind::kBad;
  } else if (text_.substr(end, 2) == "->") {
    token.kind = Token::Kind::kPunct;
    end += 2;
  } else {
    const bool known = std::string_view("{}()[]<>,:=+-*").find(at(end)) != std::string_view::npos;
    token.kind = known ? Token::Kind::kPunct : Token::Kind::kBad;
    ++end;
  }
  token.text = text_.substr(begin, end - begin);
  token.end_column = static_cast<uint32_t>(end - line_start_ + 1);
  position_ = end;
  return token;
}

}  // namespace intent
