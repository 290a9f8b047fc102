#include "compiler/ir/scalar_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace intent {
namespace {

using Bits = unsigned __int128;

enum class Special {
  kIeee,    // infinities, NaNs
  kFn,      // no infinity; all ones is NaN
  kFnuz,    // no infinity, no negative zero; its pattern is NaN
  kE8M0,    // powers of two, no sign, no zero; all ones is NaN
  kFinite,  // neither
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Special special;
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, 15, Special::kIeee};
    case DType::kBF16:
      return {8, 7, 127, Special::kIeee};
    case DType::kF8E4M3FN:
      return {4, 3, 7, Special::kFn};
    case DType::kF8E5M2:
      return {5, 2, 15, Special::kIeee};
    case DType::kF8E4M3:
      return {4, 3, 7, Special::kIeee};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, Special::kFnuz};
    case DType::kF8E4M3B11FNUZ:
      return {4, 3, 11, Special::kFnuz};
    case DType::kF8E8M0FNU:
      return {8, 0, 127, Special::kE8M0};
    case DType::kF6E2M3FN:
      return {2, 3, 1, Special::kFinite};
    case DType::kF6E3M2FN:
      return {3, 2, 3, Special::kFinite};
    case DType::kF4E2M1FN:
      return {2, 1, 1, Special::kFinite};
    default:
      return {8, 23, 127, Special::kIeee};
  }
}

// NaN for every pattern that is not a number.
double Decode(const Format& format, uint32_t bits) {
  if (format.special == Special::kE8M0)
    return bits == 0xff ? NAN : std::ldexp(1.0, int(bits) - 127);
  const uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1;
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = bits >> format.mantissa_bits & exponent_mask;
  const bool negative = bits >> (format.mantissa_bits + format.exponent_bits) != 0;
  const double sign = negative ? -1 : 1;
  if (format.special == Special::kIeee && exponent == exponent_mask) {
    return mantissa == 0 ? sign * INFINITY : NAN;
  }
  if (format.special == Special::kFn && exponent == exponent_mask && mantissa == mantissa_mask) {
    return NAN;
  }
  if (format.special == Special::kFnuz && negative && exponent == 0 && mantissa == 0) return NAN;
  const double fraction = exponent == 0 ? mantissa : mantissa + (1u << format.mantissa_bits);
  const int scale = std::max<int>(exponent, 1) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(fraction, scale);
}

// The pattern of `value` rounded to nearest even; nullopt if the format has none.
std::optional<uint32_t> Encode(const Format& format, double value) {
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  if (std::isnan(value)) return std::nullopt;
  if (format.special == Special::kE8M0) {
    int exponent = 0;
    if (std::frexp(value, &exponent) != 0.5) return std::nullopt;
    const int bits = exponent - 1 + format.bias;
    if (bits < 0 || bits > 254) return std::nullopt;
    return bits;
  }
  const uint32_t sign =
      std::signbit(value) ? 1u << (format.exponent_bits + format.mantissa_bits) : 0;
  uint32_t bits = sign;
  if (std::isinf(value)) {
    if (format.special != Special::kIeee) return std::nullopt;
    return sign | exponent_mask << format.mantissa_bits;
  }
  if (value != 0) {
    int exponent = 0;
    std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, 1 - format.bias);
    const double scaled = std::ldexp(std::fabs(value), format.mantissa_bits - exponent);
    uint32_t fraction = static_cast<uint32_t>(std::nearbyint(scaled));
    if (fraction >> (format.mantissa_bits + 1) != 0) {
      fraction >>= 1;
      ++exponent;
    }
    const bool normal = fraction >> format.mantissa_bits != 0;
    if (normal) {
      if (exponent + format.bias > static_cast<int>(exponent_mask)) return std::nullopt;
      fraction += static_cast<uint32_t>(exponent + format.bias - 1) << format.mantissa_bits;
    }
    bits |= fraction;
  }
  if (!std::isfinite(Decode(format, bits))) return std::nullopt;
  return bits;
}

std::string HexText(Bits bits) {
  std::string digits;
  do {
    digits += "0123456789abcdef"[static_cast<int>(bits & 15)];
    bits >>= 4;
  } while (bits != 0);
  std::reverse(digits.begin(), digits.end());
  return "bits(0x" + digits + ")";
}

template <typename Float>
std::string DecimalText(Float value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string IntegerText(DType dtype, Bits bits) {
  const int width = BitWidth(dtype);
  const bool negative = IsSignedInteger(dtype) && (bits >> (width - 1) & 1) != 0;
  if (negative) {
    bits = ~bits + 1;
    if (width < 128) bits &= (Bits{1} << width) - 1;
  }
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(bits % 10));
    bits /= 10;
  } while (bits != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::optional<Bits> ParseDigits(std::string_view text, int base) {
  if (text.empty()) return std::nullopt;
  Bits value = 0;
  for (char c : text) {
    int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, static_cast<Bits>(base), &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<Bits>(digit), &value)) return std::nullopt;
  }
  return value;
}

std::optional<Bits> ParseInteger(DType dtype, std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::optional<Bits> magnitude = ParseDigits(text.substr(negative ? 1 : 0), 10);
  if (!magnitude) return std::nullopt;
  const int width = BitWidth(dtype);
  const bool is_signed = IsSignedInteger(dtype);
  const int digits = is_signed ? width - 1 : width;
  const Bits limit = digits == 128 ? ~Bits{0} : (Bits{1} << digits) - 1;
  if (*magnitude > limit + (negative && is_signed ? 1 : 0)) return std::nullopt;
  if (!negative) return magnitude;
  if (!is_signed && *magnitude != 0) return std::nullopt;
  const Bits bits = ~*magnitude + 1;
  return width == 128 ? bits : bits & ((Bits{1} << width) - 1);
}

template <typename Float>
std::optional<Float> ParseFloat(std::string_view text) {
  if (text == "inf") return static_cast<Float>(INFINITY);
  if (text == "-inf") return static_cast<Float>(-INFINITY);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  Float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Bits> ParseFloatBits(DType dtype, std::string_view text) {
  if (dtype == DType::kF64) {
    const std::optional<double> value = ParseFloat<double>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<uint64_t>(*value);
  }
  if (dtype == DType::kF32) {
    const std::optional<float> value = ParseFloat<float>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<uint32_t>(*value);
  }
  const std::optional<double> value = ParseFloat<double>(text);
  if (!value) return std::nullopt;
  const std::optional<uint32_t> bits = Encode(FormatOf(dtype), *value);
  if (!bits) return std::nullopt;
  return *bits;
}

}  // namespace

std::string ScalarToText(const ScalarValue& value) {
  if (value.dtype == DType::kBool) return value.bits != 0 ? "true" : "false";
  if (!IsFloat(value.dtype)) return IntegerText(value.dtype, value.bits);
  if (value.dtype == DType::kF64) {
    const double number = std::bit_cast<double>(static_cast<uint64_t>(value.bits));
    return std::isnan(number) ? HexText(value.bits) : DecimalText(number);
  }
  if (value.dtype == DType::kF32) {
    const float number = std::bit_cast<float>(static_cast<uint32_t>(value.bits));
    return std::isnan(number) ? HexText(value.bits) : DecimalText(number);
  }
  const double number = Decode(FormatOf(value.dtype), static_cast<uint32_t>(value.bits));
  return std::isnan(number) ? HexText(value.bits) : DecimalText(number);
}

std::optional<ScalarValue> ScalarFromText(DType dtype, std::string_view text) {
  if (dtype == DType::kBool) {
    if (text == "true") return ScalarValue{dtype, 1};
    if (text == "false") return ScalarValue{dtype, 0};
    return std::nullopt;
  }
  std::optional<Bits> bits;
  if (text.starts_with("bits(0x") && text.ends_with(")")) {
    bits = ParseDigits(text.substr(7, text.size() - 8), 16);
    const int width = BitWidth(dtype);
    if (bits && width < 128 && *bits >> width != 0) return std::nullopt;
  } else {
    bits = IsFloat(dtype) ? ParseFloatBits(dtype, text) : ParseInteger(dtype, text);
  }
  if (!bits) return std::nullopt;
  return ScalarValue{dtype, *bits};
}

}  // namespace intent
