#pragma once

// Constexpr arithmetic over i64, f64, bool and enums (decisions.md A.4): its kinds and its values,
// for the builder, the verifier and specialisation alike. Integers never wrap: overflow is an
// error. Floats follow Python: true division of integers gives a float, // and % are floored.

#include <optional>
#include <span>
#include <string>
#include <variant>

#include "compiler/ir/module.h"

namespace intent {

// A kind, with the enum's index for kEnum.
struct ConstexprType {
  ConstexprKind kind = ConstexprKind::kInt;
  uint32_t enum_type = 0;
  bool operator==(const ConstexprType&) const = default;
};

// The kind of an operation (not kParameter, kLiteral) on operands of these kinds, or why there is
// none. Int and float operands mix to float.
std::variant<ConstexprType, std::string> InferConstexpr(ConstexprOp op,
                                                        std::span<const ConstexprType> operands);

// Its value, or what went wrong ("constexpr addition overflows"). The operands' kinds are those
// that InferConstexpr accepts.
std::variant<ConstexprValue, std::string> EvalConstexpr(ConstexprOp op,
                                                        std::span<const ConstexprValue> operands);

// Exact integer arithmetic with overflow detection, shared with the folding of wider literals;
// nullopt on overflow, division by zero or a negative exponent.
template <typename Int>
std::optional<Int> EvalConstexprInteger(ConstexprOp op, Int a, Int b);
extern template std::optional<int64_t> EvalConstexprInteger(ConstexprOp, int64_t, int64_t);
extern template std::optional<__int128> EvalConstexprInteger(ConstexprOp, __int128, __int128);

}  // namespace intent
