#pragma once

// How an element is computed: as what it is opened, and how the result is closed again; what is
// known of its type.

#include "intent/ptx.cuh"

namespace intent {

// An element and the type it is computed in. This one is for types that compute in themselves.
template <class T>
struct Element {
  typedef T Compute;
  static INTENT_DEVICE T open(T x) { return x; }
  static INTENT_DEVICE T close(T x) { return x; }
};
template <class T>
using Compute = typename Element<T>::Compute;
template <class T>
INTENT_DEVICE Compute<T> open(T x) {
  return Element<T>::open(x);
}
template <class T>
INTENT_DEVICE T close(Compute<T> x) {
  return Element<T>::close(x);
}

// A format below f32 computes in f32 and rounds once. saturate clamps, infinities too.
INTENT_DEVICE float clamp_magnitude(float x, float greatest) {
  return fabsf(x) > greatest ? copysignf(greatest, x) : x;
}
template <>
struct Element<f16> {
  typedef float Compute;
  static INTENT_DEVICE float open(f16 x) { return f16_to_f32(x); }
  static INTENT_DEVICE f16 close(float x) { return f32_to_f16(x); }
  static INTENT_DEVICE f16 saturate(float x) { return close(clamp_magnitude(x, 65504.0f)); }
};
template <>
struct Element<bf16> {
  typedef float Compute;
  static INTENT_DEVICE float open(bf16 x) { return __int_as_float(i32(u32(x.bits) << 16)); }
  static INTENT_DEVICE bf16 close(float x) { return f32_to_bf16(x); }
  static INTENT_DEVICE bf16 saturate(float x) {
    return close(clamp_magnitude(x, __int_as_float(0x7f7f0000)));
  }
};

// The unsigned type in which integers of so many bytes wrap.
template <int bytes>
struct WrapOf {
  typedef u32 type;
};
template <>
struct WrapOf<8> {
  typedef u64 type;
};
template <class C>
using Wrap = typename WrapOf<sizeof(C)>::type;

template <class C>
constexpr bool kIsSigned = C(-1) < C(0);
// Bits of a value.
template <class T>
struct WidthOf {
  enum : int { value = 8 * sizeof(T) };
};
template <>
struct WidthOf<bool> {
  enum : int { value = 1 };
};
template <class T>
constexpr int kWidth = WidthOf<T>::value;
// Bits beside the sign.
template <class T>
constexpr int kDigits = kWidth<T> - (kIsSigned<Compute<T>> ? 1 : 0);
template <class T>
INTENT_DEVICE constexpr Compute<T> greatest() {
  typedef Compute<T> C;
  return C(((Wrap<C>(1) << (kDigits<T> - 1)) - 1) * 2 + 1);
}
template <class T>
INTENT_DEVICE constexpr Compute<T> lowest() {
  typedef Compute<T> C;
  return kIsSigned<C> ? C(-greatest<T>() - 1) : C(0);
}

}  // namespace intent
