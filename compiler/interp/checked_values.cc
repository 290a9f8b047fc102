// What a checked run asks of arithmetic input (seed 000 chapters 4, 5.2, 5.6, 7 and 12).

#include <cmath>
#include <cstring>

#include "compiler/interp/checked_run.h"
#include "compiler/interp/machine.h"
#include "compiler/interp/text.h"
#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

int64_t CountOf(const RuntimeValue& value) { return value.IsTensor() ? value.tensor().count() : 1; }

ScalarValue At(const RuntimeValue& value, int64_t i) {
  return value.IsTensor() ? value.tensor().At(i) : value.scalar();
}

// " at [1, 2]", or nothing of scalars.
std::string Where(const RuntimeValue& value, int64_t i) {
  return value.IsTensor() ? " at " + PlaceText(value.shape(), i) : std::string();
}

struct Finding {
  ErrorKind kind;
  std::string message;
};

// Why a binary operation's input is invalid (seed 000 chapter 4).
Finding Explain(BinaryKind kind, const ScalarValue& lhs, const ScalarValue& rhs) {
  const std::string a = Text(lhs), b = Text(rhs);
  const std::string dtype(DTypeName(rhs.dtype));
  switch (kind) {
    case BinaryKind::kFloorDiv:
      if (rhs.bits != 0) return {ErrorKind::kDivisionOverflow, a + " // -1 leaves " + dtype};
      return {ErrorKind::kDivisionByZero, a + " // 0"};
    case BinaryKind::kMod:
      return {ErrorKind::kDivisionByZero, a + " % 0"};
    case BinaryKind::kShl:
    case BinaryKind::kShr:
      return {ErrorKind::kShiftAmount, "a shift of " + dtype + " by " + b +
                                           ": the amount lies in [0, " +
                                           std::to_string(BitWidth(rhs.dtype)) + ")"};
    default:  // powers
      return {ErrorKind::kNegativeExponent, a + " ** " + b + " in " + dtype};
  }
}

}  // namespace

// Chapter 4: division by zero, signed_min // -1, shift amounts; language.md 16: exponents.
bool Machine::CheckBinary(const Op& op, BinaryKind kind, const RuntimeValue& lhs,
                          const RuntimeValue& rhs) {
  if (!IsInteger(rhs.dtype())) return true;
  switch (kind) {
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
    case BinaryKind::kPow:
    case BinaryKind::kIpowTrunc:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
      break;
    default:
      return true;
  }
  const RuntimeValue& shaped = lhs.IsTensor() ? lhs : rhs;
  for (int64_t i = 0; i < CountOf(shaped); ++i) {
    const ScalarValue a = At(lhs, i), b = At(rhs, i);
    if (numerics::IsValidInput(kind, a, b)) continue;
    const Finding found = Explain(kind, a, b);
    Fail(found.kind, op, found.message + Where(shaped, i));
    return false;
  }
  return true;
}

// Chapter 5.2: a float truncates into the integer's range; a format without infinities holds what
// is cast to it.
bool Machine::CheckCast(const Op& op, const RuntimeValue& value, DType to) {
  const bool to_integer = IsFloat(value.dtype()) && IsInteger(to);
  const bool to_finite = IsFloat(to) && !numerics::FormatOf(to).has_infinity;
  if (!to_integer && !to_finite) return true;
  for (int64_t i = 0; i < CountOf(value); ++i) {
    const ScalarValue x = At(value, i);
    if (numerics::IsValidCast(x, to)) continue;
    Fail(to_integer ? ErrorKind::kCastRange : ErrorKind::kFloatRange, op,
         "a cast of " + Text(x) + " to " + std::string(DTypeName(to)) + ", which holds [" +
             Text(numerics::LowestOf(to)) + ", " + Text(numerics::GreatestOf(to)) + "]" +
             Where(value, i));
    return false;
  }
  return true;
}

// Chapter 12: a counter of Philox is not negative.
bool Machine::CheckCounter(const Op& op, const RuntimeValue& counter) {
  if (!IsSignedInteger(counter.dtype())) return true;
  for (int64_t i = 0; i < CountOf(counter); ++i) {
    const ScalarValue x = At(counter, i);
    if (numerics::AsInteger(x) >= 0) continue;
    Fail(ErrorKind::kNegativeCounter, op, "the random counter " + Text(x) + Where(counter, i));
    return false;
  }
  return true;
}

// language.md chapter 15: input, its inverse, scale and scaled values stay finite.
bool Machine::CheckQuantize(const Op& op, const float* x, int64_t count, int64_t record) {
  const auto fail = [&](const std::string& what) {
    Fail(ErrorKind::kQuantized, op, what + " of record " + std::to_string(record));
    return false;
  };
  float greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) {
      return fail("the input " + Text(numerics::MakeFloat(DType::kF32, x[i])) + " at " +
                  std::to_string(i));
    }
    greatest = std::fmax(greatest, std::fabs(x[i]));
  }
  if (greatest == 0) return true;
  const float inverse = -127.0f / greatest;
  if (!std::isfinite(inverse)) return fail("127 / " + std::to_string(greatest) + " is not finite:");
  if (!std::isfinite(1.0f / inverse)) return fail("the scale is not finite:");
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i] * inverse)) return fail("a scaled value is not finite:");
  }
  return true;
}

// language.md chapter 15: a consumer trusts that each bsum is the sum of its run.
bool Machine::CheckQ8K(const Op& op, const std::byte* q8, int64_t record) {
  for (int64_t run = 0; run < 16; ++run) {
    int sum = 0;
    for (int64_t i = 16 * run; i < 16 * (run + 1); ++i) {
      sum += static_cast<int8_t>(std::to_integer<uint8_t>(q8[4 + i]));
    }
    int16_t said;
    std::memcpy(&said, q8 + 260 + 2 * run, sizeof(said));
    if (said == sum) continue;
    Fail(ErrorKind::kQuantized, op,
         "record " + std::to_string(record) + " says that run " + std::to_string(run) +
             " sums to " + std::to_string(said) + ", but it sums to " + std::to_string(sum));
    return false;
  }
  return true;
}

// Chapter 5.6: valid scores, and values that an exponential weights, are finite.
bool Machine::CheckRelaxed(const Op& op) {
  const auto found = checked_->scores.operands.find(&op);
  if (found == checked_->scores.operands.end()) return true;
  const RelaxedScores::Operand& operand = found->second;
  const RuntimeValue& value = Get(op, operand.position);
  const RuntimeValue* valid =
      operand.valid < 0 ? nullptr : &Get(op, static_cast<size_t>(operand.valid));
  const RuntimeValue& shaped = valid != nullptr && valid->IsTensor() ? *valid : value;
  for (int64_t i = 0; i < CountOf(shaped); ++i) {
    if (valid != nullptr && !numerics::AsBool(At(*valid, i))) continue;
    const ScalarValue x = At(value, i);
    if (std::isfinite(numerics::AsDouble(x))) continue;
    Fail(ErrorKind::kRelaxed, op,
         std::string(operand.is_score ? "the valid score " : "the weighted value ") + Text(x) +
             Where(shaped, i) + " is not finite, as relaxed_normalization needs it");
    return false;
  }
  return true;
}

// Chapter 2: shapes are those that types say; carries keep theirs.
bool Machine::CheckShapes(const Op& op, const Type& type, const RuntimeValue& value) {
  if (type.IsTensor()) {
    const Shape shape = value.shape();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const std::optional<int64_t> expected = Evaluate(type.shape()[axis]);
      if (!expected || *expected == shape[axis]) continue;
      Fail(ErrorKind::kBadShape, op,
           "axis " + std::to_string(axis) + " of a value is " + std::to_string(shape[axis]) +
               " where its type says " + std::to_string(*expected));
      return false;
    }
    return true;
  }
  if (!type.IsProduct()) return true;
  const auto fields = value.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!CheckShapes(op, type.fields()[i], fields[i])) return false;
  }
  return true;
}

bool Machine::CheckCarries(const Op& op, const Fields& before, const Fields& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    const std::vector<RuntimeValue> was = LeavesOf(before[i]), is = LeavesOf(after[i]);
    for (size_t leaf = 0; leaf < was.size(); ++leaf) {
      if (was[leaf].shape() == is[leaf].shape()) continue;
      Fail(ErrorKind::kBadShape, op,
           "carry " + std::to_string(i) + " changes its shape from " +
               ShapeText(was[leaf].shape()) + " to " + ShapeText(is[leaf].shape()));
      return false;
    }
  }
  return true;
}

}  // namespace intent::interp
