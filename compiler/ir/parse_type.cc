#include "compiler/ir/parse_type.h"

#include <algorithm>

#include "compiler/ir/kind_names.h"
#include "compiler/ir/scalar_text.h"
#include "compiler/ir/utf8.h"

namespace intent {
namespace {

// Brackets and functions within one extent; normal forms nest at most Extent::kMaxDepth deep.
constexpr int kMaxNesting = 32;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The content of a string token; nullopt for an unknown escape.
std::optional<std::string> Unquoted(std::string_view token) {
  std::string text;
  for (size_t i = 1; i + 1 < token.size(); ++i) {
    if (token[i] != '\\') {
      text += token[i];
      continue;
    }
    const char escape = token[++i];
    if (escape == '"' || escape == '\\') {
      text += escape;
    } else if (escape == 'x' && i + 3 < token.size() && HexDigit(token[i + 1]) >= 0 &&
               HexDigit(token[i + 2]) >= 0) {
      text += static_cast<char>(HexDigit(token[i + 1]) * 16 + HexDigit(token[i + 2]));
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return text;
}

}  // namespace

bool TypeParser::ParseType(Type* type) {
  Measure measure;
  const Token at = tokens_.peek();
  if (!ParseType(type, 1, &measure)) return false;
  if (measure.size <= limits_.type_size) return true;
  return tokens_.Fail(DiagnosticCode::kLimit, at, "the type is too large");
}

bool TypeParser::ParseDType(DType* dtype) {
  const Token token = tokens_.Next();
  const std::optional<DType> read = KindFromName<DType>(token.text);
  if (!read) return tokens_.Fail(token, "expected a dtype");
  *dtype = *read;
  return true;
}

bool TypeParser::ParseSymbol(uint32_t* symbol) {
  const Token token = tokens_.Next();
  const std::optional<uint32_t> read = TokenStream::Label(token, 's');
  if (!read) return tokens_.Fail(token, "expected a shape symbol, as s0");
  if (*read >= limits_.symbols) {
    return tokens_.Fail(DiagnosticCode::kLimit, token,
                        "at most " + std::to_string(limits_.symbols) + " shape symbols are read");
  }
  *symbol = *read;
  symbols_ = std::max(symbols_, *read + 1);
  return true;
}

bool TypeParser::ParseLiteral(std::string* text) {
  text->clear();
  if (tokens_.Accept("-")) *text = "-";
  const Token token = tokens_.Next();
  *text += token.text;
  if (token.kind == Token::Kind::kNumber) return true;
  if (token.kind == Token::Kind::kWord && token.text == "inf") return true;
  if (token.kind == Token::Kind::kWord && *text == "bits") {
    if (!tokens_.Expect("(")) return false;
    const Token digits = tokens_.Next();
    *text += "(" + std::string(digits.text) + ")";
    if (digits.kind != Token::Kind::kNumber) return tokens_.Fail(digits, "expected 0x...");
    return tokens_.Expect(")");
  }
  if (*text == "true" || *text == "false") return true;
  return tokens_.Fail(token, "expected a literal");
}

bool TypeParser::ParseInteger(int64_t* value) {
  const Token token = tokens_.peek();
  std::string text;
  if (!ParseLiteral(&text)) return false;
  const std::optional<ScalarValue> read = ScalarFromText(DType::kI64, text);
  if (!read) return tokens_.Fail(token, "expected an integer of 64 bits");
  *value = static_cast<int64_t>(read->bits);
  return true;
}

bool TypeParser::ParseType(Type* type, size_t depth, Measure* measure) {
  const Token token = tokens_.peek();
  if (depth > limits_.type_depth) {
    return tokens_.Fail(DiagnosticCode::kLimit, token, "types nest too deeply");
  }
  if (const std::optional<DType> dtype = KindFromName<DType>(token.text);
      dtype && token.kind == Token::Kind::kWord) {
    tokens_.Next();
    *type = Type::Scalar(*dtype);
    return true;
  }
  const std::optional<TypeKind> kind = KindFromName<TypeKind>(token.text);
  if (token.kind != Token::Kind::kWord || !kind || *kind == TypeKind::kScalar) {
    return tokens_.Fail(token, "expected a type");
  }
  tokens_.Next();
  if (*kind == TypeKind::kNone) {
    *type = Type::None();
    return true;
  }
  if (!tokens_.Expect("<")) return false;
  if (*kind == TypeKind::kTuple || *kind == TypeKind::kRecord) {
    return ParseProduct(*kind == TypeKind::kRecord, depth, type, measure);
  }
  Access access = Access::kIn;
  DType dtype = DType::kBool;
  std::vector<Extent> shape;
  if (*kind == TypeKind::kView) {
    const Token word = tokens_.Next();
    const std::optional<Access> read = KindFromName<Access>(word.text);
    if (!read) return tokens_.Fail(word, "expected in, out or inout");
    access = *read;
    if (!tokens_.Expect(",")) return false;
  }
  if (*kind != TypeKind::kDomain && (!ParseDType(&dtype) || !tokens_.Expect(","))) return false;
  if (!ParseShape(&shape, measure) || !tokens_.Expect(">")) return false;
  switch (*kind) {
    case TypeKind::kTensor:
      *type = Type::Tensor(dtype, std::move(shape));
      break;
    case TypeKind::kView:
      *type = Type::View(dtype, std::move(shape), access);
      break;
    case TypeKind::kBuffer:
      *type = Type::Buffer(dtype, std::move(shape));
      break;
    default:
      *type = Type::Domain(std::move(shape));
      break;
  }
  return true;
}

bool TypeParser::CountEntry() {
  if (budget_.type_entries == 0) {
    return tokens_.Fail(DiagnosticCode::kLimit, tokens_.peek(),
                        "the text's types are too large together");
  }
  --budget_.type_entries;
  return true;
}

// Behind "<".
bool TypeParser::ParseProduct(bool record, size_t depth, Type* type, Measure* measure) {
  std::vector<std::string> names;
  std::vector<Type> fields;
  while (!tokens_.Accept(">")) {
    if (!fields.empty() && !tokens_.Expect(",")) return false;
    if (!CountEntry()) return false;
    if (record && (!ParseName(&names.emplace_back()) || !tokens_.Expect(":"))) return false;
    Measure field;
    if (!ParseType(&fields.emplace_back(), depth + 1, &field)) return false;
    measure->size += field.size;
    if (measure->size > limits_.type_size) {
      return tokens_.Fail(DiagnosticCode::kLimit, tokens_.previous(), "the type is too large");
    }
  }
  *type =
      record ? Type::Record(std::move(names), std::move(fields)) : Type::Tuple(std::move(fields));
  return true;
}

bool TypeParser::ParseName(std::string* name) {
  const Token token = tokens_.Next();
  if (token.kind == Token::Kind::kWord) {
    *name = token.text;
  } else if (token.kind == Token::Kind::kString) {
    const std::optional<std::string> text = Unquoted(token.text);
    if (!text || text->empty() || !IsUtf8(*text)) {
      return tokens_.Fail(token, "the name is empty, is not UTF-8 or has an unknown escape");
    }
    *name = *text;
  } else {
    return tokens_.Fail(token, "expected a field's name");
  }
  if (name->size() <= limits_.name_bytes) return true;
  return tokens_.Fail(DiagnosticCode::kLimit, token, "the name is too long");
}

bool TypeParser::ParseShape(std::vector<Extent>* shape, Measure* measure) {
  if (!tokens_.Expect("[")) return false;
  while (!tokens_.Accept("]")) {
    if (!shape->empty() && !tokens_.Expect(",")) return false;
    const Token at = tokens_.peek();
    if (shape->size() == limits_.rank) {
      return tokens_.Fail(DiagnosticCode::kLimit, at,
                          "at most rank " + std::to_string(limits_.rank) + " is read");
    }
    if (!CountEntry() || !ParseSum(0, &shape->emplace_back())) return false;
    measure->size += static_cast<size_t>(shape->back().Size());
  }
  return true;
}

bool TypeParser::Apply(const Token& at, Operation operation, const Extent& rhs, Extent* extent) {
  const size_t operands = static_cast<size_t>(extent->Size() + rhs.Size());
  *extent = operation(*extent, rhs);
  if (!extent->valid()) {
    return tokens_.Fail(DiagnosticCode::kBadExtent, at,
                        "the extent overflows, divides by zero or is too large");
  }
  const size_t cost = operands + static_cast<size_t>(extent->Size());
  if (cost > budget_.extent_work) {
    return tokens_.Fail(DiagnosticCode::kLimit, at, "the text's extents are too large together");
  }
  budget_.extent_work -= cost;
  return true;
}

bool TypeParser::ParseSum(int depth, Extent* extent) {
  if (!ParseTerm(depth, extent)) return false;
  while (tokens_.Is("+") || tokens_.Is("-")) {
    const Token sign = tokens_.Next();
    Extent term;
    if (!ParseTerm(depth, &term)) return false;
    const Operation operation =
        sign.text == "+" ? Operation([](const Extent& a, const Extent& b) { return a + b; })
                         : Operation([](const Extent& a, const Extent& b) { return a - b; });
    if (!Apply(sign, operation, term, extent)) return false;
  }
  return true;
}

bool TypeParser::ParseTerm(int depth, Extent* extent) {
  if (!ParseFactor(depth, extent)) return false;
  while (tokens_.Is("*")) {
    const Token star = tokens_.Next();
    Extent factor;
    if (!ParseFactor(depth, &factor)) return false;
    if (!Apply(
            star, [](const Extent& a, const Extent& b) { return a * b; }, factor, extent)) {
      return false;
    }
  }
  return true;
}

bool TypeParser::ParseFactor(int depth, Extent* extent) {
  const Token token = tokens_.peek();
  if (depth > kMaxNesting) {
    return tokens_.Fail(DiagnosticCode::kLimit, token, "the extent nests too deeply");
  }
  if (token.kind == Token::Kind::kNumber || tokens_.Is("-")) {
    int64_t value = 0;
    if (!ParseInteger(&value)) return false;
    *extent = Extent(value);
    return true;
  }
  if (token.kind == Token::Kind::kValue) {
    tokens_.Next();
    *extent = Extent::Value(value_(token));
    return true;
  }
  if (tokens_.Accept("(")) return ParseSum(depth + 1, extent) && tokens_.Expect(")");
  if (TokenStream::Label(token, 's')) {
    uint32_t symbol = 0;
    if (!ParseSymbol(&symbol)) return false;
    *extent = Extent::Symbol(symbol);
    return true;
  }
  if (const std::optional<uint32_t> parameter = TokenStream::Label(token, 'c')) {
    tokens_.Next();
    if (*parameter >= constexprs_) return tokens_.Fail(token, "no such constexpr parameter");
    *extent = Extent::Constexpr(*parameter);
    return true;
  }
  static constexpr struct {
    std::string_view name;
    Operation operation;
  } kFunctions[] = {{"floordiv", &Extent::FloorDiv},
                    {"mod", &Extent::Mod},
                    {"ceildiv", &Extent::CeilDiv},
                    {"min", &Extent::Min},
                    {"max", &Extent::Max}};
  for (const auto& function : kFunctions) {
    if (!tokens_.Is(function.name)) continue;
    tokens_.Next();
    Extent rhs;
    if (!tokens_.Expect("(") || !ParseSum(depth + 1, extent) || !tokens_.Expect(",") ||
        !ParseSum(depth + 1, &rhs) || !tokens_.Expect(")")) {
      return false;
    }
    return Apply(token, function.operation, rhs, extent);
  }
  return tokens_.Fail(token, "expected an extent");
}

}  // namespace intent
