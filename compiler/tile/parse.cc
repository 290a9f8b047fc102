#include "compiler/tile/parse.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "compiler/ir/module.h"
#include "compiler/tile/verify_tile.h"

namespace intent::tile {
namespace {

// One token: a word (letters, digits, '.', '_', '-', starting with '%' for values) or one sign.
struct Token {
  std::string text;  // empty: the end
  int line = 0;
};

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '%' || c == '+';
}

std::vector<Token> Tokenize(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else {
      size_t end = i + 1;
      if (IsWord(c)) {
        while (end < text.size() && IsWord(text[end])) ++end;
      }
      tokens.push_back({std::string(text.substr(i, end - i)), line});
      i = end;
    }
  }
  tokens.push_back({"", line});
  return tokens;
}

template <typename Kind>
std::optional<Kind> KindFromName(std::string_view name, int count) {
  for (int i = 0; i < count; ++i) {
    if (intent::NameOf(static_cast<Kind>(i)) == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

constexpr int kUnaryCount = 0
#define INTENT_UNARY(name, text) +1
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
    ;
constexpr int kBinaryCount = 0
#define INTENT_BINARY(name, text) +1
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
    ;
constexpr int kCompareCount = 0
#define INTENT_COMPARE(name, text) +1
#include "compiler/ir/kinds.def"
#undef INTENT_COMPARE
    ;
constexpr int kCombineCount = 0
#define INTENT_COMBINE(name, text) +1
#include "compiler/ir/kinds.def"
#undef INTENT_COMBINE
    ;
constexpr int kRmwCount = 0
#define INTENT_RMW(name, text) +1
#include "compiler/ir/kinds.def"
#undef INTENT_RMW
    ;
constexpr int kOrderCount = 0
#define INTENT_ORDER(name, text) +1
#include "compiler/ir/kinds.def"
#undef INTENT_ORDER
    ;
constexpr OpKind kKinds[] = {
#define INTENT_TILE_OP(name, text, regions) OpKind::name,
#include "compiler/tile/tile_ops.def"
#undef INTENT_TILE_OP
};

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(Tokenize(text)) {}

  absl::StatusOr<std::unique_ptr<Program>> Run() {
    Expect("tile");
    Expect("{");
    while (ok() && (At("view") || At("scalar"))) ParseParameter();
    ParseOps(&program_->body, 0);
    Expect("}");
    if (!Here().text.empty()) FailAt(Here().line, "text after the end");
    if (!ok()) return status_;
    return std::move(program_);
  }

 private:
  bool ok() const { return status_.ok(); }
  const Token& Here() const { return tokens_[at_]; }
  bool At(std::string_view text) const { return Here().text == text; }
  // Blames the token taken last.
  void Fail(const std::string& message) { FailAt(tokens_[at_ == 0 ? 0 : at_ - 1].line, message); }
  void FailAt(int line, const std::string& message) {
    if (!ok()) return;
    status_ = absl::InvalidArgumentError("line " + std::to_string(line) + ": " + message);
  }
  std::string Take() {
    if (Here().text.empty()) {
      FailAt(Here().line, "unexpected end");
      return "";
    }
    return tokens_[at_++].text;
  }
  bool Accept(std::string_view text) {
    if (!At(text)) return false;
    ++at_;
    return true;
  }
  void Expect(std::string_view text) {
    if (!ok() || Accept(text)) return;
    FailAt(Here().line, "expected '" + std::string(text) + "', got '" + Here().text + "'");
  }

  int64_t Integer() {
    const std::string text = Take();
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0) Fail("'" + text + "' is not an integer");
    return value;
  }
  int Small() {
    const int64_t value = Integer();
    if (value < -1 || value > (1 << 24)) Fail("number out of range");
    return static_cast<int>(value);
  }
  DType ParseDType(const std::string& name) {
    const auto dtype = DTypeFromName(name);
    if (!dtype) Fail("'" + name + "' is not a dtype");
    return dtype.value_or(DType::kBool);
  }

  Type ParseType() {
    std::string text = Take();
    if (text == "mem") {
      Expect("<");
      const DType dtype = ParseDType(Take());
      Expect(">");
      return Type::Mem(dtype);
    }
    int lanes = 1;
    const size_t cross = text.rfind('x');
    if (!DTypeFromName(text) && cross != std::string::npos) {
      const std::string count = text.substr(cross + 1);
      if (count.empty() || count.size() > 4 ||
          count.find_first_not_of("0123456789") != std::string::npos) {
        Fail("'" + text + "' is not a type");
      } else {
        lanes = std::atoi(count.c_str());
      }
      text.resize(cross);
    }
    return Type::Tile(ParseDType(text), lanes);
  }

  // Decimal integers, 0x bits, and for f32 and f64 decimal floats, inf and nan.
  ScalarValue ParseLiteral(DType dtype) {
    const std::string text = Take();
    ScalarValue value{.dtype = dtype};
    if (text.rfind("0x", 0) == 0) {
      if (text.size() < 3 || text.size() > 34) Fail("bad bits '" + text + "'");
      for (char c : text.substr(2)) {
        if (!std::isxdigit(static_cast<unsigned char>(c))) Fail("bad bits '" + text + "'");
        const int digit =
            std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 32) - 'a' + 10;
        value.bits = value.bits << 4 | static_cast<unsigned>(digit & 15);
      }
    } else if (IsFloat(dtype)) {
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0') Fail("'" + text + "' is not a number");
      if (dtype == DType::kF64) {
        uint64_t bits;
        std::memcpy(&bits, &number, sizeof(bits));
        value.bits = bits;
      } else if (dtype == DType::kF32) {
        const float single = std::strtof(text.c_str(), nullptr);
        uint32_t bits;
        std::memcpy(&bits, &single, sizeof(bits));
        value.bits = bits;
      } else {
        Fail("write " + std::string(DTypeName(dtype)) + " constants as bits");
      }
    } else {
      const bool negative = !text.empty() && text[0] == '-';
      char* end = nullptr;
      errno = 0;
      const unsigned long long magnitude = std::strtoull(text.c_str() + negative, &end, 10);
      if (text.size() == negative || *end != '\0' || errno != 0) Fail("bad integer '" + text + "'");
      value.bits = negative ? -static_cast<unsigned __int128>(magnitude) : magnitude;
    }
    const int width = BitWidth(dtype);
    if (width < 128) value.bits &= (static_cast<unsigned __int128>(1) << width) - 1;
    return value;
  }

  void ParseParameter() {
    if (Accept("scalar")) {
      program_->scalars.push_back(ParseDType(Take()));
      return;
    }
    Expect("view");
    ViewParameter view{ParseDType(Take()), 0, false, false};
    Expect("rank");
    view.rank = Small();
    view.readable = Accept("read");
    view.writable = Accept("write");
    program_->views.push_back(view);
  }

  std::vector<std::pair<std::string, Type>> ParseDefinitions(std::string_view end) {
    std::vector<std::pair<std::string, Type>> definitions;
    while (ok() && !At(end)) {
      if (!definitions.empty()) Expect(",");
      const std::string name = Take();
      if (name.empty() || name[0] != '%') Fail("expected a value, got '" + name + "'");
      Expect(":");
      definitions.emplace_back(name, ParseType());
    }
    return definitions;
  }

  void Bind(const std::string& name, Id id) {
    if (!ids_.emplace(name, id).second) Fail(name + " is defined twice");
  }

  void ParseAttributes(Op* op) {
    if (!Accept("{")) return;
    while (ok() && !Accept("}")) {
      const std::string key = Take();
      if (key == "strided" || key == "mask" || key == "fill" || key == "approximate" ||
          key == "flush_to_zero" || key == "unroll" || key == "rounds") {
        op->has_stride |= key == "strided";
        op->has_mask |= key == "mask";
        op->has_fill |= key == "fill";
        op->approximate |= key == "approximate";
        op->flush_to_zero |= key == "flush_to_zero";
        op->rounds |= key == "rounds";
        if (key == "unroll") op->index = 1;
        continue;
      }
      Expect("=");
      if (key == "lanes") {
        Expect("[");
        while (ok() && !Accept("]")) {
          if (!op->lanes.empty()) Expect(",");
          op->lanes.push_back(Small());
        }
      } else if (key == "order") {
        const std::string name = Take();
        const auto order = KindFromName<MemoryOrder>(name, kOrderCount);
        if (!order) Fail("unknown order '" + name + "'");
        op->order = order.value_or(MemoryOrder::kRelaxed);
      } else if (key == "axis" || key == "other") {
        op->axis = Small();
      } else if (key == "status") {
        op->status = Small();
      } else if (key == "view" || key == "scalar" || key == "count" || key == "stride" ||
                 key == "lane" || key == "parameter") {
        op->index = Integer();
      } else {
        Fail("unknown attribute '" + key + "'");
      }
    }
  }

  void ParseKind(const std::string& name, Op* op) {
    const size_t dot = name.find('.');
    const std::string sub = dot == std::string::npos ? "" : name.substr(dot + 1);
    bool known = sub.empty();
    if (op->kind == OpKind::kUnary) {
      const auto kind = KindFromName<UnaryKind>(sub, kUnaryCount);
      known = kind.has_value();
      op->unary = kind.value_or(UnaryKind::kNegate);
    } else if (op->kind == OpKind::kBinary) {
      const auto kind = KindFromName<BinaryKind>(sub, kBinaryCount);
      known = kind.has_value();
      op->binary = kind.value_or(BinaryKind::kAdd);
    } else if (op->kind == OpKind::kCompare) {
      const auto kind = KindFromName<CompareKind>(sub, kCompareCount);
      known = kind.has_value();
      op->compare = kind.value_or(CompareKind::kEq);
    } else if (op->kind == OpKind::kReduceLanes) {
      const auto kind = KindFromName<CombineKind>(sub, kCombineCount);
      known = kind.has_value();
      op->combine = kind.value_or(CombineKind::kAdd);
    } else if (op->kind == OpKind::kAtomicRmw) {
      const auto kind = KindFromName<RmwKind>(sub, kRmwCount);
      known = kind.has_value();
      op->rmw = kind.value_or(RmwKind::kExchange);
    }
    if (!known) Fail("unknown kind '" + name + "'");
  }

  void ParseOp(Block* block, int depth) {
    std::vector<std::pair<std::string, Type>> results;
    if (!Here().text.empty() && Here().text[0] == '%') {
      results = ParseDefinitions("=");
      Expect("=");
    }
    const std::string name = Take();
    const std::string stem = name.substr(0, name.find('.'));
    const OpKind* kind = nullptr;
    for (const OpKind& candidate : kKinds) {
      if (NameOf(candidate) == stem) kind = &candidate;
    }
    if (kind == nullptr) return Fail("unknown operation '" + name + "'");
    ScalarValue literal;
    if (*kind == OpKind::kConst) {
      if (results.size() != 1) return Fail("a constant has one result");
      literal = ParseLiteral(results[0].second.dtype);
    }
    std::vector<Id> operands;
    if (!At("{") && Accept("(")) {
      while (ok() && !Accept(")")) {
        if (!operands.empty()) Expect(",");
        const std::string operand = Take();
        const auto known = ids_.find(operand);
        if (known == ids_.end()) return Fail("'" + operand + "' is not defined here");
        operands.push_back(known->second);
      }
    }
    std::vector<Type> types;
    for (const auto& result : results) types.push_back(result.second);
    if (!ok()) return;
    Op* op = program_->NewOp(*kind, std::move(operands), types);
    op->constant = literal;
    ParseKind(name, op);
    ParseAttributes(op);
    if (Accept("@")) op->ordinal = static_cast<uint32_t>(Small());
    for (const auto& region : op->regions) {
      if (!ok()) return;
      Expect("(");
      for (const auto& [argument, type] : ParseDefinitions(")")) {
        if (ok()) Bind(argument, program_->NewArgument(region.get(), type));
      }
      Expect(")");
      Expect("{");
      ParseOps(region.get(), depth + 1);
      Expect("}");
    }
    for (size_t i = 0; i < results.size() && ok(); ++i) Bind(results[i].first, op->results[i]);
    block->ops.push_back(op);
  }

  void ParseOps(Block* block, int depth) {
    if (depth > kMaxNesting) return Fail("nested too deeply");
    while (ok() && !At("}") && !Here().text.empty()) ParseOp(block, depth);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  absl::Status status_;
  std::unique_ptr<Program> program_ = std::make_unique<Program>();
  std::map<std::string, Id> ids_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> Parse(std::string_view text) { return Parser(text).Run(); }

}  // namespace intent::tile
