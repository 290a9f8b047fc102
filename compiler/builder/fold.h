#pragma once

// How pointwise kinds read on compile-time values.

#include <optional>

#include "compiler/ir/module.h"

namespace intent {

// The constexpr operation of a binary kind; nullopt if it has none and must become a value.
// `boolean`: the operands are bools, for which and, or, xor are logical.
std::optional<ConstexprOp> ConstexprOpOf(BinaryKind kind, bool boolean);
ConstexprOp ConstexprOpOf(CompareKind kind);

// and, or, xor and shifts of Python integers; nullopt for other kinds and on overflow.
std::optional<__int128> FoldBits(BinaryKind kind, __int128 a, __int128 b);

}  // namespace intent
