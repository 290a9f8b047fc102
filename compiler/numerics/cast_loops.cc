// Casts (seed 000 chapter 5.2, saturation language.md chapter 16) in two steps, so that every pair
// of dtypes has one meaning: the source exactly as an integer of 128 bits or a double (both hold
// every source value), then one conversion into the destination.

#include <cmath>
#include <limits>

#include "compiler/numerics/blocks.h"
#include "compiler/numerics/loops.h"

namespace intent::numerics {
namespace {

enum class Mode : uint8_t { kOrdinary, kSaturate };

// An integer source: the magnitude needs its sign beside it, since u128 does not fit Int128.
template <typename T>
constexpr bool IsNegative(T value) {
  if constexpr (std::is_same_v<T, bool>) return false;
  return value < T{0};
}
template <typename T>
Uint128 Magnitude(T value) {
  const Uint128 bits = static_cast<Uint128>(value);
  return IsNegative(value) ? Uint128{0} - bits : bits;
}

template <typename T>
constexpr T GreatestInteger() {
  if constexpr (kIsSigned<T>) {
    return static_cast<T>((Wrapping<T>{1} << (kBits<T> - 1)) - 1);
  }
  return static_cast<T>(~Wrapping<T>{0});
}
template <typename T>
constexpr T LeastInteger() {
  if constexpr (kIsSigned<T>) return static_cast<T>(-GreatestInteger<T>() - 1);
  return T{0};
}

// The destination's limits; those of i4 are not those of the type it is computed in.
template <DType D>
struct Limits {
  using T = typename Element<D>::Compute;
  static constexpr T kLeast = D == DType::kI4 ? static_cast<T>(-8) : LeastInteger<T>();
  static constexpr T kGreatest = D == DType::kI4 ? static_cast<T>(7) : GreatestInteger<T>();
};

// 5.2: the mathematical integer modulo 2^width; saturating: clamped. To bool: whether nonzero.
template <DType To, typename T>
typename Element<To>::Compute IntegerToInteger(T value, Mode mode) {
  using R = typename Element<To>::Compute;
  if constexpr (std::is_same_v<R, bool>) {
    return value != T{0};
  } else {
    if (mode == Mode::kSaturate) {
      constexpr R kLeast = Limits<To>::kLeast, kGreatest = Limits<To>::kGreatest;
      const Uint128 magnitude = Magnitude(value);
      if (IsNegative(value)) {
        if (magnitude > Magnitude(kLeast)) return kLeast;
      } else if (magnitude > Magnitude(kGreatest)) {
        return kGreatest;
      }
    }
    return static_cast<R>(static_cast<Uint128>(value));
  }
}

// 5.2: truncates toward zero. Out of range is invalid for the ordinary cast: it clamps, and NaN
// gives 0.
template <DType To>
typename Element<To>::Compute FloatToInteger(double value) {
  using R = typename Element<To>::Compute;
  if constexpr (std::is_same_v<R, bool>) {
    return value != 0;
  } else {
    constexpr R kLeast = Limits<To>::kLeast, kGreatest = Limits<To>::kGreatest;
    if (std::isnan(value)) return R{0};
    const double whole = std::trunc(value);
    // Both limits plus one are powers of two or zero, hence exact.
    const double above = 2.0 * static_cast<double>(kGreatest / 2 + 1);
    if (whole >= above) return kGreatest;
    if (whole < static_cast<double>(kLeast)) return kLeast;
    return static_cast<R>(whole);
  }
}

// 5.2: nearest even; finite overflow is infinity where the format has one; saturating: clamped.
template <DType To>
typename Element<To>::Storage EncodeAs(double value, Mode mode) {
  using Storage = typename Element<To>::Storage;
  const Overflow overflow = mode == Mode::kSaturate ? Overflow::kSaturate : Overflow::kOrdinary;
  if constexpr (To == DType::kF64) {
    return value;
  } else if constexpr (To == DType::kF32) {
    return static_cast<float>(value);
  } else {
    return static_cast<Storage>(EncodeDouble(FormatOf(To), value, overflow));
  }
}

// 5.2: integers round to nearest even.
template <DType To, typename T>
typename Element<To>::Storage EncodeIntegerAs(T value, Mode mode) {
  using Storage = typename Element<To>::Storage;
  if constexpr (sizeof(T) <= 8 && (To == DType::kF64 || To == DType::kF32)) {
    return static_cast<Storage>(value);  // one rounding in hardware
  } else {
    // f32 and f64 keep infinity: u128 near 2^128 as every source.
    const bool clamps = mode == Mode::kSaturate && To != DType::kF32 && To != DType::kF64;
    const Overflow overflow = clamps ? Overflow::kSaturate : Overflow::kOrdinary;
    const uint64_t code =
        EncodeInteger(FormatOf(To), IsNegative(value), Magnitude(value), overflow);
    if constexpr (To == DType::kF64) return std::bit_cast<double>(code);
    if constexpr (To == DType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(code));
    return static_cast<Storage>(code);
  }
}

template <DType To, typename T>
typename Element<To>::Storage Convert(T value, Mode mode) {
  if constexpr (kIsFloat<T>) {
    if constexpr (kIsFloat<typename Element<To>::Compute>)
      return EncodeAs<To>(value, mode);
    else
      return Element<To>::Store(FloatToInteger<To>(value));
  } else {
    if constexpr (kIsFloat<typename Element<To>::Compute>)
      return EncodeIntegerAs<To>(value, mode);
    else
      return Element<To>::Store(IntegerToInteger<To>(value, mode));
  }
}

// The carrier between the two steps: exact for every source.
template <typename T>
using Carrier = std::conditional_t<
    kIsFloat<T>, double,
    std::conditional_t<(sizeof(T) > 8), T, std::conditional_t<kIsSigned<T>, int64_t, uint64_t>>>;

template <typename C>
void Finish(DType to, Mode mode, const C* carried, void* out, size_t first, size_t count) {
  Dispatch(to, [&]<DType To>() {
    auto* stored = static_cast<typename Element<To>::Storage*>(out) + first;
    for (size_t i = 0; i < count; ++i) stored[i] = Convert<To>(carried[i], mode);
  });
}

void Loop(DType from, DType to, Mode mode, const void* in, void* out, size_t count) {
  Dispatch(from, [&]<DType From>() {
    using C = Carrier<typename Element<From>::Compute>;
    const auto* stored = static_cast<const typename Element<From>::Storage*>(in);
    C carried[kBlock];
    ForEachBlock(count, [&](size_t first, size_t size) {
      for (size_t i = 0; i < size; ++i) {
        carried[i] = static_cast<C>(Element<From>::Load(stored[first + i]));
      }
      Finish(to, mode, carried, out, first, size);
    });
  });
}

}  // namespace

void CastLoop(DType from, DType to, const void* in, void* out, size_t count) {
  Loop(from, to, Mode::kOrdinary, in, out, count);
}

void SaturatingCastLoop(DType from, DType to, const void* in, void* out, size_t count) {
  // Language.md chapter 16 saturates integers and the formats below f32 only.
  Loop(from, to, Mode::kSaturate, in, out, count);
}

}  // namespace intent::numerics
