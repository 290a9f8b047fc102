#pragma once

// Literals of an author and what becomes of one that meets a dtype (language.md 2 and 16). The one
// place of that rule: the builder applies it to literals, specialisation to bound constexprs.

#include <optional>
#include <string>

#include "compiler/ir/op_attributes.h"

namespace intent {

// A Python literal: exact as written. Integers beyond 128 bits are refused by the front end.
struct Literal {
  enum class Kind : uint8_t { kBool, kInt, kFloat } kind = Kind::kInt;
  __int128 int_value = 0;  // bool: 0 or 1
  double float_value = 0;
};

// "300", "-1.5", "inf", "true".
std::string LiteralText(const Literal& literal);

// bool, i64 or f64: the dtype of a literal that meets none.
DType ContextlessDType(const Literal& literal);

// The literal as a constant of `dtype`; nullopt if the dtype does not represent it. A bool meets
// bool only; an integer must be in range, or exact in a float format; a float meets float formats
// only, rounds once to nearest even and may not overflow to infinity.
std::optional<ScalarValue> LiteralAs(const Literal& literal, DType dtype);

// Why LiteralAs gives nullopt: "literal 300 is not representable in u8".
std::string LiteralMismatch(const Literal& literal, DType dtype);

}  // namespace intent
