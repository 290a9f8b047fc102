#pragma once

// The meaning of scalar arithmetic, for constant folding and interpreters: the loops of loops.h on
// one element, so that there is one definition. The same preconditions hold.

#include <cstdint>
#include <optional>

#include "compiler/ir/op_attributes.h"
#include "compiler/numerics/loops.h"

namespace intent::numerics {

ScalarValue EvalUnary(UnaryKind kind, const ScalarValue& x, Approximation mode = {});
ScalarValue EvalBinary(BinaryKind kind, const ScalarValue& lhs, const ScalarValue& rhs,
                       Approximation mode = {});
bool EvalCompare(CompareKind kind, const ScalarValue& lhs, const ScalarValue& rhs);
ScalarValue EvalCast(const ScalarValue& x, DType to);
ScalarValue EvalSaturatingCast(const ScalarValue& x, DType to);
// nullopt: the widths differ.
std::optional<ScalarValue> EvalBitcast(const ScalarValue& x, DType to);

// Makers and readers. Integers reduce modulo the width; floats round once to nearest even.
ScalarValue MakeBool(bool value);
ScalarValue MakeInteger(DType dtype, __int128 value);  // integers, index and bool
ScalarValue MakeIndex(int64_t value);
ScalarValue MakeFloat(DType dtype, double value);
ScalarValue MakeZero(DType dtype);

// The value as an integer with the sign of its dtype. Integer dtypes, index and bool; u128 above
// 2^127 wraps.
__int128 AsInteger(const ScalarValue& x);
int64_t AsIndex(const ScalarValue& x);
bool AsBool(const ScalarValue& x);
double AsDouble(const ScalarValue& x);  // exact for floats, rounded for wide integers

// One element in memory. Loading a bool reads any nonzero byte as true.
ScalarValue LoadScalar(DType dtype, const void* address);
void StoreScalar(const ScalarValue& x, void* address);

// True if the ordinary cast is valid input (seed 000 chapter 5.2): what folding may evaluate.
bool IsValidCast(const ScalarValue& x, DType to);
// True if the operation's input is valid (division, shifts, integer powers).
bool IsValidInput(BinaryKind kind, const ScalarValue& lhs, const ScalarValue& rhs);

// The identities of the builtin combines (seed 000 chapter 6). kArgMax and kRegion have none here.
ScalarValue IdentityOf(CombineKind kind, DType dtype);
// The least and the greatest value by order; infinities where the format has them.
ScalarValue LowestOf(DType dtype);
ScalarValue GreatestOf(DType dtype);

}  // namespace intent::numerics
