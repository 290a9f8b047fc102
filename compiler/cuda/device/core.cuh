#pragma once

// Scalar arithmetic on bool, integers of up to 64 bits, f16, bf16, f32 and f64, and the rules that
// the other headers extend to their types. Every function means what compiler/numerics means, bit
// for bit (seed 000 chapters 4 and 5): invalid input gives the same value and never traps.
//
//   u_<unary>(x)  b_<binary>(a, b)  c_<compare>(a, b)   one for each kind of KIR
//   rn_b_<add|sub|mul>(a, b)         rounds by itself, whatever stands around it
//   fma_(a, b, c)                    f32, f64: rounded once
//   cast<To>(x)  saturating_cast<To>(x)  bitcast<To>(x)
//   select_(c, a, b)  from_bits<T>(low, high)  zero<T>()  load_bool(stored)
//
// To be compiled without contraction (--fmad=false) and without flushing (--ftz=false).

#include "intent/arithmetic.cuh"
#include "intent/convert.cuh"

namespace intent {

template <class T>
INTENT_DEVICE T select_(bool condition, T a, T b) {
  return condition ? a : b;
}

// A literal from its storage bits.
template <class T>
INTENT_DEVICE T from_bits(u64 low, u64 high = 0) {
  if constexpr (kSame<T, float>) {
    return __int_as_float(i32(low));
  } else if constexpr (kSame<T, double>) {
    return __longlong_as_double(i64(low));
  } else if constexpr (sizeof(T) == 16) {
    return Wide<T>::from_words(low, high);
  } else if constexpr (kSame<T, Compute<T>>) {
    return T(low);
  } else {
    T x;
    x.bits = static_cast<decltype(x.bits)>(low);
    return x;
  }
}
template <class T>
INTENT_DEVICE T zero() {
  return from_bits<T>(0);
}

INTENT_DEVICE bool load_bool(u8 stored) { return stored != 0; }

// The end of a call: intent_error of compiler/driver/intent_call.h. The first failure stays.
struct Error {
  i32 status;
  u32 ordinal;
  i32 parameter;
  i32 axis;
  i64 value;
  i64 limit;
};
INTENT_DEVICE void fail(Error* error, i32 status, u32 ordinal, i32 parameter, i32 axis, i64 value,
                        i64 limit) {
  if (!ptx_claim(&error->status, status)) return;
  error->ordinal = ordinal;
  error->parameter = parameter;
  error->axis = axis;
  error->value = value;
  error->limit = limit;
}

}  // namespace intent
