#include "compiler/driver/c_names.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace intent {

bool IsIdentifier(const std::string& name) {
  static const auto* const kWords = new std::set<std::string>{
      "alignas",  "alignof",  "and",      "asm",      "auto",    "bool",      "break",
      "case",     "catch",    "char",     "class",    "const",   "constexpr", "continue",
      "default",  "delete",   "do",       "double",   "else",    "enum",      "explicit",
      "export",   "extern",   "false",    "float",    "for",     "friend",    "goto",
      "if",       "inline",   "int",      "long",     "mutable", "namespace", "new",
      "noexcept", "not",      "nullptr",  "operator", "or",      "private",   "protected",
      "public",   "register", "restrict", "return",   "short",   "signed",    "sizeof",
      "static",   "struct",   "switch",   "template", "this",    "throw",     "true",
      "try",      "typedef",  "typeid",   "typename", "typeof",  "union",     "unsigned",
      "using",    "virtual",  "void",     "volatile", "while",   "xor",       "linux",
      "unix",     "requires", "concept",  "decltype", "wchar_t", "bitand",    "bitor",
      "compl",    "not_eq",   "or_eq",    "and_eq",   "xor_eq",  "co_await",  "co_return",
      "co_yield", "char8_t",  "char16_t", "char32_t", "errno",   "NULL",      "signal"};
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  // Underscores first, and in pairs, are the compiler's own.
  if (name[0] == '_' || name.find("__") != std::string::npos) return false;
  return kWords->count(name) == 0 && std::all_of(name.begin(), name.end(), [](char c) {
           return c == '_' || (c > 0 && std::isalnum(static_cast<unsigned char>(c)));
         });
}

const char* CType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    default:
      break;
  }
  const bool is_signed = IsSignedInteger(dtype);
  switch (StorageBytes(dtype)) {
    case 1:
      return is_signed ? "int8_t" : "uint8_t";
    case 2:
      return is_signed ? "int16_t" : "uint16_t";
    case 4:
      return is_signed ? "int32_t" : "uint32_t";
    case 8:
      return is_signed ? "int64_t" : "uint64_t";
    default:
      return nullptr;
  }
}

}  // namespace intent
