#include "tests/numerics/cast_oracle.h"

#include <cstdlib>

namespace intent::oracle {
namespace {

// One floating format, as the specification describes it.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  enum class Top : uint8_t {
    kIeee,      // the last exponent holds infinity and NaN
    kOneNan,    // FN: all ones is NaN, no infinity
    kZeroNan,   // FNUZ: the code of -0 is NaN
    kNothing,   // neither infinity nor NaN
    kExponent,  // e8m0: powers of two alone, 0xFF is NaN
  } top;
};

const Format* FormatOf(DType dtype) {
  using Top = Format::Top;
  static constexpr Format kF16{5, 10, 15, Top::kIeee};
  static constexpr Format kBF16{8, 7, 127, Top::kIeee};
  static constexpr Format kF32{8, 23, 127, Top::kIeee};
  static constexpr Format kF64{11, 52, 1023, Top::kIeee};
  static constexpr Format kE5M2{5, 2, 15, Top::kIeee};
  static constexpr Format kE4M3{4, 3, 7, Top::kIeee};
  static constexpr Format kE4M3FN{4, 3, 7, Top::kOneNan};
  static constexpr Format kE4M3FNUZ{4, 3, 8, Top::kZeroNan};
  static constexpr Format kE4M3B11{4, 3, 11, Top::kZeroNan};
  static constexpr Format kE8M0{8, 0, 127, Top::kExponent};
  static constexpr Format kE2M3{2, 3, 1, Top::kNothing};
  static constexpr Format kE3M2{3, 2, 3, Top::kNothing};
  static constexpr Format kE2M1{2, 1, 1, Top::kNothing};
  switch (dtype) {
    case DType::kF16:
      return &kF16;
    case DType::kBF16:
      return &kBF16;
    case DType::kF32:
      return &kF32;
    case DType::kF64:
      return &kF64;
    case DType::kF8E5M2:
      return &kE5M2;
    case DType::kF8E4M3:
      return &kE4M3;
    case DType::kF8E4M3FN:
      return &kE4M3FN;
    case DType::kF8E4M3FNUZ:
      return &kE4M3FNUZ;
    case DType::kF8E4M3B11FNUZ:
      return &kE4M3B11;
    case DType::kF8E8M0FNU:
      return &kE8M0;
    case DType::kF6E2M3FN:
      return &kE2M3;
    case DType::kF6E3M2FN:
      return &kE3M2;
    case DType::kF4E2M1FN:
      return &kE2M1;
    default:
      return nullptr;
  }
}

struct IntegerType {
  int bits;
  bool is_signed;
};

std::optional<IntegerType> IntegerOf(DType dtype) {
  switch (dtype) {
    case DType::kIndex:
    case DType::kI64:
      return IntegerType{64, true};
    case DType::kI4:
      return IntegerType{4, true};
    case DType::kI8:
      return IntegerType{8, true};
    case DType::kI16:
      return IntegerType{16, true};
    case DType::kI32:
      return IntegerType{32, true};
    case DType::kI128:
      return IntegerType{128, true};
    case DType::kU8:
      return IntegerType{8, false};
    case DType::kU16:
      return IntegerType{16, false};
    case DType::kU32:
      return IntegerType{32, false};
    case DType::kU64:
      return IntegerType{64, false};
    case DType::kU128:
      return IntegerType{128, false};
    default:
      return std::nullopt;
  }
}

constexpr Bits kOne = 1;
Bits LowBits(int count) { return count >= 128 ? ~Bits{0} : (kOne << count) - 1; }

int Length(Bits value) {
  int bits = 0;
  while (value != 0) ++bits, value >>= 1;
  return bits;
}

// The largest finite magnitude of a format.
Exact Largest(const Format& f) {
  const int last = (1 << f.exponent_bits) - 1;
  Bits significand = LowBits(f.mantissa_bits + 1);
  int field = last;
  switch (f.top) {
    case Format::Top::kIeee:
    case Format::Top::kExponent:
      field = last - 1;
      break;
    case Format::Top::kOneNan:
      significand -= 1;
      break;
    case Format::Top::kZeroNan:
    case Format::Top::kNothing:
      break;
  }
  return {Exact::Kind::kNumber, false, significand, field - f.bias - f.mantissa_bits};
}

// a <=> b of magnitudes: -1, 0 or 1.
int Compare(const Exact& a, const Exact& b) {
  if (a.significand == 0 || b.significand == 0) {
    return (a.significand != 0) - (b.significand != 0);
  }
  const int top_a = a.exponent + Length(a.significand), top_b = b.exponent + Length(b.significand);
  if (top_a != top_b) return top_a < top_b ? -1 : 1;
  // Equal tops: both to 128 bits.
  const Bits x = a.significand << (128 - Length(a.significand));
  const Bits y = b.significand << (128 - Length(b.significand));
  return x == y ? 0 : x < y ? -1 : 1;
}

// value / 2^quantum to the nearest whole number, ties to even. The quotient fits 64 bits.
Bits Quotient(const Exact& value, int quantum) {
  const int shift = quantum - value.exponent;
  if (shift <= 0) return value.significand << -shift;
  if (shift > 128) return 0;
  const Bits whole = shift == 128 ? 0 : value.significand >> shift;
  const Bits rest = value.significand & LowBits(shift);
  const Bits half = kOne << (shift - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

// The code of the nearest magnitude, as if exponents had no upper end.
struct Nearest {
  Exact value;
  Bits code = 0;
};
Nearest RoundMagnitude(const Format& f, const Exact& value) {
  Nearest result;
  if (value.significand == 0) return result;
  const int top = value.exponent + Length(value.significand) - 1;
  if (f.top == Format::Top::kExponent) {
    // Between 2^k and 2^(k + 1); the middle goes to the even code.
    int k = top < -f.bias ? -f.bias : top;
    if (top >= -f.bias) {
      const int against = Compare(value, {Exact::Kind::kNumber, false, 3, k - 1});
      const bool odd = ((k + f.bias) & 1) != 0;
      if (against > 0 || (against == 0 && odd)) ++k;
    }
    result.value = {Exact::Kind::kNumber, false, 1, k};
    result.code = static_cast<Bits>(k + f.bias);
    return result;
  }
  const int least = 1 - f.bias;  // exponent of subnormals
  int quantum = (top > least ? top : least) - f.mantissa_bits;
  Bits n = Quotient(value, quantum);
  const Bits hidden = kOne << f.mantissa_bits;
  if (n == hidden << 1) n = hidden, ++quantum;
  result.value = {Exact::Kind::kNumber, false, n, quantum};
  const int field = n < hidden ? 0 : quantum + f.mantissa_bits + f.bias;
  result.code = (static_cast<Bits>(field) << f.mantissa_bits) | (n & (hidden - 1));
  return result;
}

Bits SignBit(const Format& f) { return kOne << (f.exponent_bits + f.mantissa_bits); }

Bits LargestCode(const Format& f) { return RoundMagnitude(f, Largest(f)).code; }

bool HasNan(const Format& f) { return f.top != Format::Top::kNothing; }

Expectation Any() { return {.any = true}; }
Expectation Code(Bits code) { return {.code = code}; }

Expectation ToFloat(const Format& f, const Exact& value, bool saturate) {
  const bool is_signed = f.top != Format::Top::kExponent;
  if (value.kind == Exact::Kind::kNan) {
    return HasNan(f) ? Expectation{.nan = true} : Any();
  }
  const bool infinite = value.kind == Exact::Kind::kInfinity;
  const bool zero = !infinite && value.significand == 0;
  if (!is_signed && (value.negative || zero)) {
    return saturate ? Code(0) : Any();  // the format holds neither; code 0 is its least value
  }
  const bool minus_zero = f.top != Format::Top::kZeroNan;
  const Bits sign = value.negative && is_signed ? SignBit(f) : 0;
  const Nearest nearest = infinite ? Nearest{} : RoundMagnitude(f, value);
  if (infinite || Compare(nearest.value, Largest(f)) > 0) {
    if (saturate) return Code(sign | LargestCode(f));
    if (f.top == Format::Top::kIeee) return Code(sign | (LargestCode(f) + 1));
    return Any();  // a value that the format does not reach
  }
  return Code(nearest.code == 0 && !minus_zero ? 0 : sign | nearest.code);
}

Bits Wrapped(const IntegerType& type, bool negative, Bits magnitude) {
  return (negative ? Bits{0} - magnitude : magnitude) & LowBits(type.bits);
}

Expectation ToInteger(const IntegerType& type, const Exact& value, bool saturate) {
  const Bits least = type.is_signed ? kOne << (type.bits - 1) : 0;  // its magnitude
  const Bits most = LowBits(type.bits - (type.is_signed ? 1 : 0));
  if (value.kind == Exact::Kind::kNan) return saturate ? Code(0) : Any();
  // Towards zero.
  Bits whole = 0;
  bool huge = value.kind == Exact::Kind::kInfinity;
  if (!huge && value.significand != 0) {
    if (value.exponent >= 0) {
      huge = Length(value.significand) + value.exponent > 128;
      if (!huge) whole = value.significand << value.exponent;
    } else {
      whole = value.exponent <= -128 ? 0 : value.significand >> -value.exponent;
    }
  }
  const Bits limit = value.negative ? least : most;
  if (huge || whole > limit) {
    return saturate ? Code(Wrapped(type, value.negative, limit)) : Any();
  }
  return Code(Wrapped(type, value.negative, whole));
}

}  // namespace

Exact Decode(DType dtype, Bits code) {
  Exact value;
  if (dtype == DType::kBool) {
    value.significand = code != 0 ? 1 : 0;
    return value;
  }
  if (const auto type = IntegerOf(dtype)) {
    value.negative = type->is_signed && ((code >> (type->bits - 1)) & 1) != 0;
    value.significand = value.negative ? (Bits{0} - code) & LowBits(type->bits) : code;
    return value;
  }
  const Format& f = *FormatOf(dtype);
  const auto field = static_cast<int>((code >> f.mantissa_bits) & LowBits(f.exponent_bits));
  const Bits fraction = code & LowBits(f.mantissa_bits);
  const int last = (1 << f.exponent_bits) - 1;
  value.negative = f.top != Format::Top::kExponent && (code & SignBit(f)) != 0;
  switch (f.top) {
    case Format::Top::kIeee:
      if (field == last) {
        value.kind = fraction == 0 ? Exact::Kind::kInfinity : Exact::Kind::kNan;
        return value;
      }
      break;
    case Format::Top::kOneNan:
      if (field == last && fraction == LowBits(f.mantissa_bits)) {
        value.kind = Exact::Kind::kNan;
        return value;
      }
      break;
    case Format::Top::kZeroNan:
      if (code == SignBit(f)) {
        value.kind = Exact::Kind::kNan;
        return value;
      }
      break;
    case Format::Top::kExponent:
      if (field == last) {
        value.kind = Exact::Kind::kNan;
        return value;
      }
      value.significand = 1;
      value.exponent = field - f.bias;
      return value;
    case Format::Top::kNothing:
      break;
  }
  value.significand = field == 0 ? fraction : fraction | (kOne << f.mantissa_bits);
  value.exponent = (field == 0 ? 1 : field) - f.bias - f.mantissa_bits;
  return value;
}

bool Expectation::Admits(DType dtype, Bits got) const {
  if (any) return true;
  if (nan) return Decode(dtype, got).kind == Exact::Kind::kNan;
  return got == code;
}

Expectation Cast(DType from, DType to, Bits code) {
  const Exact value = Decode(from, code);
  if (to == DType::kBool) {
    return Code(value.kind != Exact::Kind::kNumber || value.significand != 0 ? 1 : 0);
  }
  if (const Format* f = FormatOf(to)) return ToFloat(*f, value, false);
  const IntegerType type = *IntegerOf(to);
  if (FormatOf(from) != nullptr) return ToInteger(type, value, false);
  return Code(Wrapped(type, value.negative, value.significand));
}

Expectation SaturatingCast(DType from, DType to, Bits code) {
  const Exact value = Decode(from, code);
  const Format* f = FormatOf(to);
  // Language.md chapter 16 names the formats below f32; f32 and f64 keep infinity.
  const bool clamps = f == nullptr || (to != DType::kF32 && to != DType::kF64);
  return f != nullptr ? ToFloat(*f, value, clamps) : ToInteger(*IntegerOf(to), value, true);
}

}  // namespace intent::oracle
