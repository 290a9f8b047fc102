#include "compiler/numerics/sample_values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"

namespace intent::numerics {
namespace {

Uint128 Mask(DType dtype) {
  return BitWidth(dtype) == 128 ? ~Uint128{0} : (Uint128{1} << BitWidth(dtype)) - 1;
}

// Around powers of two and the middles between numbers of every format's precision, both signs.
void AddIntegers(DType dtype, Scalars* values) {
  const auto add = [&](Uint128 code) { values->push_back({dtype, code & Mask(dtype)}); };
  for (int top = 0; top < BitWidth(dtype); ++top) {
    const Uint128 base = Uint128{1} << top;
    for (int offset = -2; offset <= 2; ++offset) {
      add(base + static_cast<Uint128>(offset));
      add(Uint128{0} - base + static_cast<Uint128>(offset));
    }
    for (int precision : {1, 2, 3, 4, 8, 11, 24, 53}) {
      if (precision > top) continue;
      const Uint128 half = Uint128{1} << (top - precision);
      for (Uint128 middle : {base + half, base + 3 * half, 2 * base - half}) {
        for (int offset = -1; offset <= 1; ++offset) {
          add(middle + static_cast<Uint128>(offset));
          add(Uint128{0} - middle + static_cast<Uint128>(offset));
        }
      }
    }
  }
}

// Codes of f32 or f64 around a magnitude whose bits lie in the top of the significand.
void AddAround(DType dtype, Uint128 code, Scalars* values) {
  const Uint128 sign = Uint128{1} << (BitWidth(dtype) - 1);
  for (int offset = -2; offset <= 2; ++offset) {
    const Uint128 near = code + static_cast<Uint128>(offset);
    if (near >= sign) continue;
    values->push_back({dtype, near});
    values->push_back({dtype, near | sign});
  }
}

// Around numbers and middles of every narrower format, and of integers: every exponent with every
// pattern of a few leading significand bits, and patterns that end in a half.
void AddFloats(DType dtype, Scalars* values) {
  const int mantissa = dtype == DType::kF32 ? 23 : 52;
  const int exponents = dtype == DType::kF32 ? 255 : 2047;
  const int bias = exponents / 2;
  std::mt19937_64 random(3);
  for (int field = 0; field <= exponents; ++field) {
    const Uint128 base = Uint128(field) << mantissa;
    AddAround(dtype, base, values);
    // Beyond every narrow format and integer only the ends matter.
    const bool dense = std::abs(field - bias) <= 30;
    const int patterns = dense ? 32 : std::abs(field - bias) <= 160 ? 4 : 0;
    for (int lead = 0; lead < patterns; ++lead) {
      AddAround(dtype, base | (Uint128(lead) << (mantissa - 5)), values);
    }
    // The middles between neighbours of f16, bf16 and f32.
    for (int precision : {7, 10, 23}) {
      if (patterns == 0 || precision >= mantissa) continue;
      const Uint128 kept = Uint128(random()) & ((Uint128{1} << precision) - 1);
      AddAround(
          dtype,
          base | (kept << (mantissa - precision)) | (Uint128{1} << (mantissa - precision - 1)),
          values);
    }
  }
}

}  // namespace

ScalarValue RandomValue(DType dtype, uint64_t high, uint64_t low) {
  const int width = BitWidth(dtype);
  unsigned __int128 bits = static_cast<unsigned __int128>(high) << 64 | low;
  if (width < 128) bits &= (static_cast<unsigned __int128>(1) << width) - 1;
  return {dtype, bits};
}

Scalars InterestingValues(DType dtype, uint64_t seed) {
  std::mt19937_64 random(seed);
  Scalars values;
  const auto add = [&](double number) {
    if (IsFloat(dtype)) {
      values.push_back(MakeFloat(dtype, number));
    } else {
      values.push_back(MakeInteger(dtype, static_cast<int64_t>(number)));
    }
  };
  for (double number : {0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 13.0, 31.0, 63.0, 100.0, 127.0}) {
    add(number);
    if (dtype != DType::kBool) add(-number);
  }
  values.push_back(LowestOf(dtype));
  values.push_back(GreatestOf(dtype));
  if (IsFloat(dtype)) {
    for (double number :
         {0.5, 1.5, 2.5, 448.0, 464.0, 57344.0, 61440.0, 65504.0, 65520.0, 3e38, 1e300}) {
      add(number);
      add(-number);
    }
    for (double number :
         {5e-324, 1e-310, 1e-45, 1e-40, 6e-8, 3e-8, 1e-5, 9e-41, 2147483648.0, 9.3e18}) {
      add(number);
      add(-number);
    }
    add(std::nan(""));
  }
  while (values.size() < 96) {
    const uint64_t high = random();
    values.push_back(RandomValue(dtype, high, random()));
    // Dividends and divisors of unequal length.
    if (BitWidth(dtype) == 128) values.push_back({dtype, values.back().bits >> (high % 128)});
  }
  return values;
}

void AddHalfways(DType dtype, Scalars* values) {
  const int bits = BitWidth(dtype) - (IsSignedInteger(dtype) ? 1 : 0);
  for (int precision : {4, 8, 11, 24, 53}) {
    for (int top = precision; top < std::min(bits, 125); ++top) {
      const __int128 half = __int128{1} << (top - precision), base = __int128{1} << top;
      for (__int128 midpoint : {base + half, base + 3 * half, 2 * base - half}) {
        for (int offset : {-1, 0, 1}) {
          values->push_back(MakeInteger(dtype, midpoint + offset));
          values->push_back(MakeInteger(dtype, -(midpoint + offset)));
        }
      }
    }
  }
}

Scalars EveryCode(DType dtype) {
  Scalars values;
  for (uint32_t code = 0; code < uint32_t{1} << BitWidth(dtype); ++code) {
    values.push_back({dtype, code});
  }
  return values;
}

Scalars CastSources(DType dtype) {
  if (BitWidth(dtype) <= 16) return EveryCode(dtype);
  Scalars values;
  if (IsFloat(dtype)) {
    AddFloats(dtype, &values);
  } else {
    AddIntegers(dtype, &values);
  }
  std::mt19937_64 random(4);
  for (int i = 0; i < 4096; ++i) {
    const uint64_t high = random(), low = random();
    values.push_back(RandomValue(dtype, high, low));
    if (IsInteger(dtype)) values.push_back({dtype, values.back().bits >> (high % 128)});
  }
  return values;
}

std::vector<uint8_t> Stored(const Scalars& values) {
  const auto size = static_cast<size_t>(StorageBytes(values[0].dtype));
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) StoreScalar(values[i], &bytes[i * size]);
  return bytes;
}

Pairs::Pairs(DType dtype) {
  Scalars values = InterestingValues(dtype, static_cast<uint64_t>(dtype) + 1);
  if (!IsAddressable(dtype) && BitWidth(dtype) <= 8) {
    // Every second: tests/numerics/ulp_test.cc takes every pair of these.
    for (size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
    values.resize((values.size() + 1) / 2);
  }
  for (const ScalarValue& x : values) {
    for (const ScalarValue& y : values) {
      xs.push_back(x);
      ys.push_back(y);
      zs.push_back(values[xs.size() * 7 % values.size()]);
    }
  }
}

}  // namespace intent::numerics
