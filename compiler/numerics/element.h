#pragma once

// The bridge from a dtype to C++: how an element lies in memory and in which C++ type it is
// computed. Formats below f32 compute in float (seed 000 chapter 5): for + - * / and sqrt the
// second rounding never shows, since 24 >= 2 * 11 + 2 bits. i4 computes in int8_t; storing wraps
// it.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "compiler/diag/check.h"
#include "compiler/ir/dtype.h"
#include "compiler/numerics/float_format.h"

namespace intent::numerics {

template <typename T>
inline constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <typename T>
inline constexpr bool kIsSigned =
    kIsFloat<T> || std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, Int128>;
template <typename T>
inline constexpr int kBits = std::is_same_v<T, bool> ? 1 : static_cast<int>(8 * sizeof(T));

// The unsigned type in which arithmetic on T wraps without undefined behaviour or promotion.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, uint32_t,
                                    std::conditional_t<sizeof(T) == 8, uint64_t, Uint128>>;

namespace internal {

// Element whose C++ type is its storage.
template <typename T>
struct Plain {
  using Storage = T;
  using Compute = T;
  static constexpr bool kIdentity = true;
  static T Load(T stored) { return stored; }
  static T Store(T value) { return value; }
};

struct Boolean {
  using Storage = uint8_t;
  using Compute = bool;
  static constexpr bool kIdentity = false;
  static bool Load(uint8_t stored) { return stored != 0; }
  static uint8_t Store(bool value) { return value ? 1 : 0; }
};

struct Int4 {
  using Storage = uint8_t;
  using Compute = int8_t;
  static constexpr bool kIdentity = false;
  static int8_t Load(uint8_t stored) {
    return static_cast<int8_t>(static_cast<int8_t>(stored << 4) >> 4);
  }
  static uint8_t Store(int8_t value) { return static_cast<uint8_t>(value & 0xf); }
};

template <DType D>
struct Narrow {
  using Storage = std::conditional_t<FormatOf(D).MagnitudeBits() >= 8 && FormatOf(D).has_sign,
                                     uint16_t, uint8_t>;
  using Compute = float;
  static constexpr bool kIdentity = false;
  static float Load(Storage stored) {
    if constexpr (D == DType::kBF16) {
      return std::bit_cast<float>(static_cast<uint32_t>(stored) << 16);
    }
    return static_cast<float>(DecodeToDouble(FormatOf(D), stored));
  }
  static Storage Store(float value) {
    return static_cast<Storage>(EncodeDouble(FormatOf(D), value));
  }
};

}  // namespace internal

template <DType D>
struct Element : internal::Narrow<D> {};
template <>
struct Element<DType::kBool> : internal::Boolean {};
template <>
struct Element<DType::kIndex> : internal::Plain<int64_t> {};
template <>
struct Element<DType::kI8> : internal::Plain<int8_t> {};
template <>
struct Element<DType::kI16> : internal::Plain<int16_t> {};
template <>
struct Element<DType::kI32> : internal::Plain<int32_t> {};
template <>
struct Element<DType::kI64> : internal::Plain<int64_t> {};
template <>
struct Element<DType::kU8> : internal::Plain<uint8_t> {};
template <>
struct Element<DType::kU16> : internal::Plain<uint16_t> {};
template <>
struct Element<DType::kU32> : internal::Plain<uint32_t> {};
template <>
struct Element<DType::kU64> : internal::Plain<uint64_t> {};
template <>
struct Element<DType::kF32> : internal::Plain<float> {};
template <>
struct Element<DType::kF64> : internal::Plain<double> {};
template <>
struct Element<DType::kI4> : internal::Int4 {};
template <>
struct Element<DType::kI128> : internal::Plain<Int128> {};
template <>
struct Element<DType::kU128> : internal::Plain<Uint128> {};

// Calls body.template operator()<D>() for the dtype's compile-time twin.
template <typename Body>
auto Dispatch(DType dtype, Body body) {
  switch (dtype) {
#define INTENT_DTYPE(name, text, bits, bytes, cls) \
  case DType::name:                                \
    return body.template operator()<DType::name>();
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
  }
  INTENT_UNREACHABLE() << "dtype";
  return body.template operator()<DType::kBool>();
}

// Storage may lie anywhere in a caller's allocation: element access goes through memcpy.
template <DType D>
typename Element<D>::Compute LoadElement(const void* address) {
  typename Element<D>::Storage stored;
  std::memcpy(&stored, address, sizeof(stored));
  return Element<D>::Load(stored);
}
template <DType D>
void StoreElement(void* address, typename Element<D>::Compute value) {
  const typename Element<D>::Storage stored = Element<D>::Store(value);
  std::memcpy(address, &stored, sizeof(stored));
}

}  // namespace intent::numerics
