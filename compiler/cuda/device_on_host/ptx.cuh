#pragma once

// Test support: intent/ptx.cuh for this machine's compiler, so that the device library runs without
// a GPU. The same functions, with the meaning that the PTX manual gives the instructions.

#include <cmath>
#include <limits>

#include "compiler/cuda/device_on_host/grid.h"
#include "compiler/numerics/float_format.h"
#include "compiler/numerics/float_rules.h"
#include "intent/types.cuh"

namespace intent {

inline u64 encode(DType dtype, double x) {
  return numerics::EncodeDouble(numerics::FormatOf(dtype), x);
}
inline float decode(DType dtype, u64 bits) {
  return static_cast<float>(numerics::DecodeToDouble(numerics::FormatOf(dtype), bits));
}
inline float f16_to_f32(f16 x) { return decode(DType::kF16, x.bits); }
inline f16 f32_to_f16(float x) { return {u16(encode(DType::kF16, x))}; }
inline float bf16_to_f32(bf16 x) { return decode(DType::kBF16, x.bits); }
inline bf16 f32_to_bf16(float x) { return {u16(encode(DType::kBF16, x))}; }

inline f16 ptx_add(f16 a, f16 b) { return f32_to_f16(f16_to_f32(a) + f16_to_f32(b)); }
inline f16 ptx_sub(f16 a, f16 b) { return f32_to_f16(f16_to_f32(a) - f16_to_f32(b)); }
inline f16 ptx_mul(f16 a, f16 b) { return f32_to_f16(f16_to_f32(a) * f16_to_f32(b)); }
// Exact in f64 where one operand is 1 or the addend a zero, as here.
inline bf16 ptx_fma(bf16 a, bf16 b, bf16 c) {
  const double exact =
      std::fma(double(bf16_to_f32(a)), double(bf16_to_f32(b)), double(bf16_to_f32(c)));
  return {u16(encode(DType::kBF16, exact))};
}

#define INTENT_EXTREME(name, rule)                                      \
  inline f16 name(f16 a, f16 b) {                                       \
    return f32_to_f16(numerics::rule(f16_to_f32(a), f16_to_f32(b)));    \
  }                                                                     \
  inline bf16 name(bf16 a, bf16 b) {                                    \
    return f32_to_bf16(numerics::rule(bf16_to_f32(a), bf16_to_f32(b))); \
  }                                                                     \
  inline float name(float a, float b) { return numerics::rule(a, b); }
INTENT_EXTREME(ptx_maximum, Maximum)
INTENT_EXTREME(ptx_minimum, Minimum)
INTENT_EXTREME(ptx_maximum_num, MaximumNum)
INTENT_EXTREME(ptx_minimum_num, MinimumNum)
#undef INTENT_EXTREME

inline float ptx_divide_approx(float a, float b) { return numerics::ApproximateDivide(a, b); }
inline float ptx_divide_approx_ftz(float a, float b) {
  using numerics::FlushToZero;
  return FlushToZero(numerics::ApproximateDivide(FlushToZero(a), FlushToZero(b)));
}
inline float ptx_exp2_approx(float x) { return std::exp2(x); }
inline float ptx_exp2_approx_ftz(float x) {
  return numerics::FlushToZero(std::exp2(numerics::FlushToZero(x)));
}
inline float ptx_tanh_approx(float x) { return std::tanh(x); }

inline i32 ptx_abs(i32 x) { return x < 0 ? i32(0u - u32(x)) : x; }

// NaN gives 0 where both sides have 32 bits, otherwise the integer's highest bit alone.
template <class To, class From>
To truncate_and_clamp(From x) {
  using Limits = std::numeric_limits<To>;
  if (x != x) {
    return sizeof(From) == 4 && sizeof(To) == 4 ? To(0) : To(u64(1) << (8 * sizeof(To) - 1));
  }
  const double whole = std::trunc(double(x));
  if (whole >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  if (whole < double(Limits::min())) return Limits::min();
  return To(whole);
}
#define INTENT_TRUNCATE(type)                                                       \
  inline type ptx_to_##type(float x) { return truncate_and_clamp<type, float>(x); } \
  inline type ptx_to_##type(double x) { return truncate_and_clamp<type, double>(x); }
INTENT_TRUNCATE(i32)
INTENT_TRUNCATE(u32)
INTENT_TRUNCATE(i64)
INTENT_TRUNCATE(u64)
#undef INTENT_TRUNCATE

inline i64 dynamic_shared_bytes() { return emulation::Grid().shared_bytes; }

inline bool ptx_claim(i32* p, i32 value) {
  i32 zero = 0;
  return __atomic_compare_exchange_n(p, &zero, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

}  // namespace intent
