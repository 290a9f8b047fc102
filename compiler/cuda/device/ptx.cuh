#pragma once

// What only PTX can say. Every function but the last is pure: the compiler may merge, move and drop
// calls, but folds none, so that inputs which C++ leaves undefined keep the machine's meaning.

#include "intent/types.cuh"

namespace intent {

// f16 and bf16. A NaN becomes the canonical one, finite overflow an infinity.
INTENT_DEVICE float f16_to_f32(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
INTENT_DEVICE f16 f32_to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
INTENT_DEVICE bf16 f32_to_bf16(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

// Rounded once, as f32 arithmetic with one more rounding would be; never contracted.
#define INTENT_PTX_BINARY(name, text, type)                             \
  INTENT_DEVICE type name(type a, type b) {                             \
    type y;                                                             \
    asm(text " %0, %1, %2;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits)); \
    return y;                                                           \
  }
INTENT_PTX_BINARY(ptx_add, "add.rn.f16", f16)
INTENT_PTX_BINARY(ptx_sub, "sub.rn.f16", f16)
INTENT_PTX_BINARY(ptx_mul, "mul.rn.f16", f16)
// NaN propagates, and +0 is greater than -0.
INTENT_PTX_BINARY(ptx_maximum, "max.NaN.f16", f16)
INTENT_PTX_BINARY(ptx_minimum, "min.NaN.f16", f16)
INTENT_PTX_BINARY(ptx_maximum, "max.NaN.bf16", bf16)
INTENT_PTX_BINARY(ptx_minimum, "min.NaN.bf16", bf16)
// One NaN is ignored.
INTENT_PTX_BINARY(ptx_maximum_num, "max.f16", f16)
INTENT_PTX_BINARY(ptx_minimum_num, "min.f16", f16)
INTENT_PTX_BINARY(ptx_maximum_num, "max.bf16", bf16)
INTENT_PTX_BINARY(ptx_minimum_num, "min.bf16", bf16)
#undef INTENT_PTX_BINARY

INTENT_DEVICE bf16 ptx_fma(bf16 a, bf16 b, bf16 c) {
  bf16 y;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return y;
}

#define INTENT_PTX_BINARY(name, text)                    \
  INTENT_DEVICE float name(float a, float b) {           \
    float y;                                             \
    asm(text " %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); \
    return y;                                            \
  }
INTENT_PTX_BINARY(ptx_maximum, "max.NaN.f32")
INTENT_PTX_BINARY(ptx_minimum, "min.NaN.f32")
INTENT_PTX_BINARY(ptx_maximum_num, "max.f32")
INTENT_PTX_BINARY(ptx_minimum_num, "min.f32")
// Chapter 5.1 of seed 000 takes its bounds from these.
INTENT_PTX_BINARY(ptx_divide_approx, "div.approx.f32")
INTENT_PTX_BINARY(ptx_divide_approx_ftz, "div.approx.ftz.f32")
#undef INTENT_PTX_BINARY

#define INTENT_PTX_UNARY(name, text, result, to, argument, from) \
  INTENT_DEVICE result name(argument x) {                        \
    result y;                                                    \
    asm(text " %0, %1;" : to(y) : from(x));                      \
    return y;                                                    \
  }
INTENT_PTX_UNARY(ptx_exp2_approx, "ex2.approx.f32", float, "=f", float, "f")
INTENT_PTX_UNARY(ptx_exp2_approx_ftz, "ex2.approx.ftz.f32", float, "=f", float, "f")
INTENT_PTX_UNARY(ptx_tanh_approx, "tanh.approx.f32", float, "=f", float, "f")
// The least integer stays what it is.
INTENT_PTX_UNARY(ptx_abs, "abs.s32", i32, "=r", i32, "r")
// Truncate and clamp. What NaN gives differs: ask first.
INTENT_PTX_UNARY(ptx_to_i32, "cvt.rzi.s32.f32", i32, "=r", float, "f")
INTENT_PTX_UNARY(ptx_to_u32, "cvt.rzi.u32.f32", u32, "=r", float, "f")
INTENT_PTX_UNARY(ptx_to_i64, "cvt.rzi.s64.f32", i64, "=l", float, "f")
INTENT_PTX_UNARY(ptx_to_u64, "cvt.rzi.u64.f32", u64, "=l", float, "f")
INTENT_PTX_UNARY(ptx_to_i32, "cvt.rzi.s32.f64", i32, "=r", double, "d")
INTENT_PTX_UNARY(ptx_to_u32, "cvt.rzi.u32.f64", u32, "=r", double, "d")
INTENT_PTX_UNARY(ptx_to_i64, "cvt.rzi.s64.f64", i64, "=l", double, "d")
INTENT_PTX_UNARY(ptx_to_u64, "cvt.rzi.u64.f64", u64, "=l", double, "d")
#undef INTENT_PTX_UNARY

#if __CUDA_ARCH__ >= 890
// f8e4m3fn and f8e5m2 by instruction. Encoding clamps what is out of range.
#define INTENT_PTX_FP8 1
INTENT_DEVICE u8 ptx_to_f8e4m3fn(float x) {
  u16 y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
  return u8(y);
}
INTENT_DEVICE u8 ptx_to_f8e5m2(float x) {
  u16 y;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
  return u8(y);
}
INTENT_DEVICE f16 ptx_f8e4m3fn_to_f16(u8 x) {
  u32 y;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(y) : "h"(u16(x)));
  return f16{u16(y)};
}
#endif

// Of the launch, for each block.
INTENT_DEVICE i64 dynamic_shared_bytes() {
  u32 bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

// Sets what is 0 and says whether it was, once for all threads of the device. (The compiler's own
// function would be read from a header of its own.)
INTENT_DEVICE bool ptx_claim(i32* p, i32 value) {
  i32 old;
  asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], 0, %2;"
               : "=r"(old)
               : "l"(p), "r"(value)
               : "memory");
  return old == 0;
}

}  // namespace intent
