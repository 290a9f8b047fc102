#include "compiler/numerics/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/diag/check.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/element.h"

namespace intent::numerics {
namespace {

// One stored element, aligned for every dtype.
struct alignas(16) Cell {
  unsigned char bytes[16];
};

Cell ToCell(const ScalarValue& x) {
  Cell cell;
  std::memcpy(cell.bytes, &x.bits, sizeof(cell.bytes));
  return cell;
}

ScalarValue FromCell(const Cell& cell, DType dtype) {
  ScalarValue x{.dtype = dtype};
  std::memcpy(&x.bits, cell.bytes, static_cast<size_t>(StorageBytes(dtype)));
  return x;
}

}  // namespace

ScalarValue EvalUnary(UnaryKind kind, const ScalarValue& x, Approximation mode) {
  const Cell in = ToCell(x);
  Cell out;
  UnaryLoop(kind, x.dtype, mode, &in, &out, 1);
  return FromCell(out, x.dtype);
}

ScalarValue EvalBinary(BinaryKind kind, const ScalarValue& lhs, const ScalarValue& rhs,
                       Approximation mode) {
  INTENT_CHECK(lhs.dtype == rhs.dtype) << NameOf(kind);
  const Cell left = ToCell(lhs), right = ToCell(rhs);
  Cell out;
  BinaryLoop(kind, lhs.dtype, mode, &left, 1, &right, 1, &out, 1);
  return FromCell(out, lhs.dtype);
}

bool EvalCompare(CompareKind kind, const ScalarValue& lhs, const ScalarValue& rhs) {
  INTENT_CHECK(lhs.dtype == rhs.dtype) << NameOf(kind);
  const Cell left = ToCell(lhs), right = ToCell(rhs);
  Cell out;
  CompareLoop(kind, lhs.dtype, &left, 1, &right, 1, &out, 1);
  return out.bytes[0] != 0;
}

ScalarValue EvalCast(const ScalarValue& x, DType to) {
  const Cell in = ToCell(x);
  Cell out;
  CastLoop(x.dtype, to, &in, &out, 1);
  return FromCell(out, to);
}

ScalarValue EvalSaturatingCast(const ScalarValue& x, DType to) {
  const Cell in = ToCell(x);
  Cell out;
  SaturatingCastLoop(x.dtype, to, &in, &out, 1);
  return FromCell(out, to);
}

std::optional<ScalarValue> EvalBitcast(const ScalarValue& x, DType to) {
  if (BitWidth(x.dtype) != BitWidth(to)) return std::nullopt;
  return ScalarValue{.dtype = to, .bits = x.bits};
}

ScalarValue MakeBool(bool value) { return {.dtype = DType::kBool, .bits = value ? 1u : 0u}; }

ScalarValue MakeInteger(DType dtype, __int128 value) {
  if (dtype == DType::kBool) return MakeBool(value != 0);
  INTENT_CHECK(IsInteger(dtype)) << DTypeName(dtype);
  const Uint128 bits = static_cast<Uint128>(value);
  const int width = BitWidth(dtype);
  return {.dtype = dtype, .bits = width == 128 ? bits : bits & ((Uint128{1} << width) - 1)};
}

ScalarValue MakeIndex(int64_t value) {
  return {.dtype = DType::kIndex, .bits = static_cast<uint64_t>(value)};
}

ScalarValue MakeFloat(DType dtype, double value) {
  INTENT_CHECK(IsFloat(dtype)) << DTypeName(dtype);
  return EvalCast({.dtype = DType::kF64, .bits = std::bit_cast<uint64_t>(value)}, dtype);
}

ScalarValue MakeZero(DType dtype) {
  // e8m0 has no zero; its zero bits are the value nearest to it.
  return {.dtype = dtype, .bits = 0};
}

__int128 AsInteger(const ScalarValue& x) {
  if (x.dtype == DType::kBool) return x.bits != 0 ? 1 : 0;
  INTENT_CHECK(IsInteger(x.dtype)) << DTypeName(x.dtype);
  return static_cast<Int128>(EvalCast(x, DType::kI128).bits);
}

int64_t AsIndex(const ScalarValue& x) {
  if (x.dtype == DType::kIndex || x.dtype == DType::kI64) return static_cast<int64_t>(x.bits);
  return static_cast<int64_t>(AsInteger(x));
}

bool AsBool(const ScalarValue& x) {
  if (x.dtype == DType::kBool) return x.bits != 0;
  return EvalCast(x, DType::kBool).bits != 0;
}

double AsDouble(const ScalarValue& x) {
  return std::bit_cast<double>(static_cast<uint64_t>(EvalCast(x, DType::kF64).bits));
}

ScalarValue LoadScalar(DType dtype, const void* address) {
  ScalarValue x{.dtype = dtype};
  std::memcpy(&x.bits, address, static_cast<size_t>(StorageBytes(dtype)));
  if (dtype == DType::kBool) x.bits = x.bits != 0 ? 1 : 0;
  return x;
}

void StoreScalar(const ScalarValue& x, void* address) {
  std::memcpy(address, &x.bits, static_cast<size_t>(StorageBytes(x.dtype)));
}

bool IsValidCast(const ScalarValue& x, DType to) {
  if (to == DType::kBool) return true;
  const double value = AsDouble(x);
  if (IsFloat(to)) {
    const FloatFormat format = FormatOf(to);
    if (value != value) return format.nan_code != 0;
    if (!format.has_zero && !(value > 0)) return false;
    const double greatest = DecodeToDouble(format, format.max_code);
    return format.has_infinity || std::fabs(value) <= greatest;
  }
  if (!IsFloat(x.dtype)) return true;
  if (!(std::fabs(value) <= std::numeric_limits<double>::max())) return false;
  const double whole = std::trunc(value);
  // One above the greatest value is a power of two, hence exact; so is the lowest value.
  const int bits = BitWidth(to) - (IsSignedInteger(to) ? 1 : 0);
  return whole < std::ldexp(1.0, bits) && whole >= AsDouble(LowestOf(to));
}

bool IsValidInput(BinaryKind kind, const ScalarValue& lhs, const ScalarValue& rhs) {
  if (!IsInteger(rhs.dtype)) return true;
  const auto negative = [](const ScalarValue& x) {
    return IsSignedInteger(x.dtype) && AsInteger(x) < 0;
  };
  switch (kind) {
    case BinaryKind::kFloorDiv:
      if (rhs.bits == 0) return false;
      return !(lhs == LowestOf(lhs.dtype) && negative(rhs) && AsInteger(rhs) == -1);
    case BinaryKind::kMod:
      return rhs.bits != 0;
    case BinaryKind::kPow:
      return !negative(rhs);
    case BinaryKind::kIpowTrunc:
      return !(lhs.bits == 0 && negative(rhs));
    case BinaryKind::kShl:
    case BinaryKind::kShr:
      return !negative(rhs) && rhs.bits < static_cast<Uint128>(BitWidth(rhs.dtype));
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
    case BinaryKind::kMul:
    case BinaryKind::kDiv:
    case BinaryKind::kMaximum:
    case BinaryKind::kMinimum:
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      return true;
  }
  return true;
}

ScalarValue LowestOf(DType dtype) {
  if (IsFloat(dtype)) {
    const FloatFormat format = FormatOf(dtype);
    if (!format.has_sign) return MakeZero(dtype);
    return {.dtype = dtype, .bits = format.SignBit() | (format.max_code + format.has_infinity)};
  }
  if (!IsSignedInteger(dtype)) return MakeZero(dtype);
  return {.dtype = dtype, .bits = Uint128{1} << (BitWidth(dtype) - 1)};
}

ScalarValue GreatestOf(DType dtype) {
  if (IsFloat(dtype)) {
    const FloatFormat format = FormatOf(dtype);
    return {.dtype = dtype, .bits = format.max_code + format.has_infinity};
  }
  if (dtype == DType::kBool) return MakeBool(true);
  const int bits = BitWidth(dtype) - (IsSignedInteger(dtype) ? 1 : 0);
  return {.dtype = dtype, .bits = bits == 128 ? ~Uint128{0} : (Uint128{1} << bits) - 1};
}

ScalarValue IdentityOf(CombineKind kind, DType dtype) {
  switch (kind) {
    case CombineKind::kAdd:
    case CombineKind::kOr:
      return MakeZero(dtype);
    case CombineKind::kMaximum:
      return LowestOf(dtype);
    case CombineKind::kMinimum:
      return GreatestOf(dtype);
    case CombineKind::kAnd:
      return dtype == DType::kBool ? MakeBool(true) : MakeInteger(dtype, -1);
    case CombineKind::kRegion:
    case CombineKind::kArgMax:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
  return {};
}

}  // namespace intent::numerics
