#include "compiler/verify/literal.h"

#include <charconv>
#include <cmath>

#include "compiler/numerics/float_format.h"

namespace intent {
namespace {

std::string IntegerText(__int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  unsigned __int128 magnitude = value;
  if (negative) magnitude = -magnitude;
  std::string digits;
  for (; magnitude != 0; magnitude /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
  }
  return negative ? "-" + digits : digits;
}

bool IntegerInRange(__int128 value, DType dtype) {
  const int bits = BitWidth(dtype);
  if (IsUnsignedInteger(dtype)) {
    return value >= 0 && (bits >= 127 || value < (static_cast<__int128>(1) << bits));
  }
  if (bits == 128) return true;
  const __int128 bound = static_cast<__int128>(1) << (bits - 1);
  return value >= -bound && value < bound;
}

unsigned __int128 LowBits(unsigned __int128 value, int bits) {
  return bits >= 128 ? value : value & ((static_cast<unsigned __int128>(1) << bits) - 1);
}

std::optional<ScalarValue> IntegerAsFloat(__int128 value, DType dtype) {
  // Every format but f64 itself is narrower than a double, so exactness there is exactness here.
  const double wide = static_cast<double>(value);
  if (std::fabs(wide) >= 0x1p127 || static_cast<__int128>(wide) != value) return std::nullopt;
  const numerics::FloatFormat format = numerics::FormatOf(dtype);
  const uint64_t bits = numerics::EncodeDouble(format, wide);
  if (numerics::DecodeToDouble(format, bits) != wide) return std::nullopt;
  return ScalarValue{dtype, bits};
}

std::optional<ScalarValue> FloatAsFloat(double value, DType dtype) {
  const numerics::FloatFormat format = numerics::FormatOf(dtype);
  const uint64_t bits = numerics::EncodeDouble(format, value);
  const double rounded = numerics::DecodeToDouble(format, bits);
  // An infinity or NaN must be written as one; a negative number needs a sign.
  if (std::isnan(value) != std::isnan(rounded) || std::isinf(value) != std::isinf(rounded)) {
    return std::nullopt;
  }
  if (std::isinf(value) && (value < 0) != (rounded < 0)) return std::nullopt;
  // Formats without infinity and NaN saturate when they overflow: that is no rounding.
  if (!format.has_infinity && format.nan_code == 0 && std::isfinite(value)) {
    const double top = numerics::DecodeToDouble(format, format.max_code);
    const double below = numerics::DecodeToDouble(format, format.max_code - 1);
    if (std::fabs(value) > top + (top - below) / 2) return std::nullopt;
  }
  return ScalarValue{dtype, bits};
}

}  // namespace

std::string LiteralText(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::kBool:
      return literal.int_value != 0 ? "true" : "false";
    case Literal::Kind::kInt:
      return IntegerText(literal.int_value);
    case Literal::Kind::kFloat:
      break;
  }
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), literal.float_value);
  std::string result(text, end.ptr);
  if (result.find_first_not_of("-0123456789") == std::string::npos) result += ".0";
  return result;
}

DType ContextlessDType(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::kBool:
      return DType::kBool;
    case Literal::Kind::kInt:
      return DType::kI64;
    case Literal::Kind::kFloat:
      break;
  }
  return DType::kF64;
}

std::optional<ScalarValue> LiteralAs(const Literal& literal, DType dtype) {
  switch (literal.kind) {
    case Literal::Kind::kBool:
      if (dtype != DType::kBool) return std::nullopt;
      return ScalarValue{dtype, literal.int_value != 0 ? 1u : 0u};
    case Literal::Kind::kInt:
      if (IsFloat(dtype)) return IntegerAsFloat(literal.int_value, dtype);
      if (!IsInteger(dtype) || !IntegerInRange(literal.int_value, dtype)) return std::nullopt;
      return ScalarValue{
          dtype, LowBits(static_cast<unsigned __int128>(literal.int_value), BitWidth(dtype))};
    case Literal::Kind::kFloat:
      if (!IsFloat(dtype)) return std::nullopt;
      return FloatAsFloat(literal.float_value, dtype);
  }
  return std::nullopt;
}

std::string LiteralMismatch(const Literal& literal, DType dtype) {
  std::string text = "literal " + LiteralText(literal) + " is not representable in " +
                     std::string(DTypeName(dtype));
  if (literal.kind == Literal::Kind::kFloat && IsInteger(dtype)) {
    text += "; a float literal never becomes an integer: cast the other side to a float dtype";
  } else {
    text += "; cast the other side to a dtype that holds it";
  }
  return text;
}

}  // namespace intent
