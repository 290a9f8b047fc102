#pragma once

// Integer arithmetic. Chapters are those of seed 000, powers and abs those of language.md (L) and
// ipow_trunc that of arithmetic.md. Every function is total:
// invalid input gives some value of the type, never a trap and never undefined behaviour.

#include "compiler/numerics/element.h"

namespace intent::numerics {

// 4: add, subtract, multiply wrap modulo 2^width.
template <typename T>
T WrapAdd(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T WrapSub(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <typename T>
T WrapMul(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
// 4, L 16: negation and abs wrap at the minimum.
template <typename T>
T WrapNegate(T a) {
  return WrapSub(T{0}, a);
}
template <typename T>
T WrapAbs(T a) {
  return a < T{0} ? WrapNegate(a) : a;
}

// 4: q = floor(a / b). Invalid: b == 0 gives 0, MIN // -1 gives MIN.
template <typename T>
T FloorDiv(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (kIsSigned<T>) {
    if (b == T{-1}) return WrapNegate(a);
    const T quotient = static_cast<T>(a / b);
    const bool inexact = static_cast<T>(quotient * b) != a;
    return inexact && (a < T{0}) != (b < T{0}) ? static_cast<T>(quotient - 1) : quotient;
  }
  return static_cast<T>(a / b);
}

// 4, L 16: a - floor(a / b) * b: zero or of the divisor's sign. MIN % -1 is 0; invalid: b == 0
// gives 0.
template <typename T>
T FloorMod(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (kIsSigned<T>) {
    if (b == T{-1}) return T{0};
    const T remainder = static_cast<T>(a % b);
    return remainder != T{0} && (remainder < T{0}) != (b < T{0}) ? static_cast<T>(remainder + b)
                                                                 : remainder;
  }
  return static_cast<T>(a % b);
}

// L 16: a^b modulo 2^width by squaring. Invalid: b < 0 gives 0.
template <typename T>
T WrapPow(T a, T b) {
  if (b < T{0}) return T{0};
  Wrapping<T> exponent = static_cast<Wrapping<T>>(b);
  T result = T{1};
  for (T base = a; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = WrapMul(result, base);
    base = WrapMul(base, base);
  }
  return result;
}

// arithmetic.md: as WrapPow, and a negative exponent truncates the true value. Invalid: 0 to a
// negative power: 0.
template <typename T>
T TruncatedPow(T a, T b) {
  if (b < T{0}) {
    if (a == T{1}) return T{1};
    if (kIsSigned<T> && a == static_cast<T>(-1)) return (b & T{1}) != T{0} ? a : T{1};
    return T{0};
  }
  return WrapPow(a, b);
}

// 4: amounts lie in [0, width); an invalid one gives 0. The width is the dtype's: i4 computes in int8_t.
template <typename T>
bool ValidShift(T amount, int width) {
  return !(amount < T{0}) && static_cast<Wrapping<T>>(amount) < static_cast<Wrapping<T>>(width);
}
// 4: the low width bits stay.
template <typename T>
T ShiftLeft(T a, T amount, int width) {
  if (!ValidShift(amount, width)) return T{0};
  return static_cast<T>(static_cast<Wrapping<T>>(a) << static_cast<int>(amount));
}
// 4: arithmetic if signed, logical if unsigned.
template <typename T>
T ShiftRight(T a, T amount, int width) {
  if (!ValidShift(amount, width)) return T{0};
  return static_cast<T>(a >> static_cast<int>(amount));
}

}  // namespace intent::numerics
