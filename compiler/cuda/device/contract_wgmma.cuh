#pragma once

// The warpgroup's matrix instruction, once for each width and type: c += a b, or c = a b unless
// `adds`. Of the 64 rows of c a warp holds 16, as mma() in contract_ptx.cuh lays them out for each
// 8 columns. The inner axis is 32 bytes. left_turns and right_turns say that an operand's lines run
// along its own axis, which 8-bit elements cannot.

#include "intent/contract_ptx.cuh"

namespace intent::machine {

#define INTENT_4(letter, i) \
  "+" letter(c[i]), "+" letter(c[i + 1]), "+" letter(c[i + 2]), "+" letter(c[i + 3])
#define INTENT_16(letter, i) \
  INTENT_4(letter, i), INTENT_4(letter, i + 4), INTENT_4(letter, i + 8), INTENT_4(letter, i + 12)
#define INTENT_32(letter) INTENT_16(letter, 0), INTENT_16(letter, 16)
#define INTENT_64(letter) INTENT_32(letter), INTENT_16(letter, 32), INTENT_16(letter, 48)
#define INTENT_96(letter) INTENT_64(letter), INTENT_16(letter, 64), INTENT_16(letter, 80)
#define INTENT_NAMES_32                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
  "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define INTENT_NAMES_64                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
  "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, " \
  "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define INTENT_NAMES_96                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
  "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, " \
  "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, " \
  "%66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"

#define INTENT_WGMMA_64(left, right, types)                                                    \
  template <bool left_turns, bool right_turns>                                                 \
  INTENT_DEVICE void warpgroup_mma(left, right, float(&c)[32], u64 a, u64 b, bool adds) {      \
    asm volatile(                                                                              \
        "{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16." types \
        " {" INTENT_NAMES_32 "}, %32, %33, p, 1, 1, %35, %36; }"                               \
        : INTENT_32("f")                                                                       \
        : "l"(a), "l"(b), "r"(int(adds)), "n"(int(left_turns)), "n"(int(right_turns)));        \
  }
INTENT_WGMMA_64(bf16, bf16, "f32.bf16.bf16")
INTENT_WGMMA_64(f16, f16, "f32.f16.f16")
#undef INTENT_WGMMA_64

#define INTENT_WGMMA_64(left, right, types)                                                    \
  template <bool left_turns, bool right_turns>                                                 \
  INTENT_DEVICE void warpgroup_mma(left, right, i32(&c)[32], u64 a, u64 b, bool adds) {        \
    static_assert(!left_turns && !right_turns, "bytes do not turn");                           \
    asm volatile(                                                                              \
        "{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k32." types \
        " {" INTENT_NAMES_32 "}, %32, %33, p; }"                                               \
        : INTENT_32("r")                                                                       \
        : "l"(a), "l"(b), "r"(int(adds)));                                                     \
  }
INTENT_WGMMA_64(i8, i8, "s32.s8.s8")
INTENT_WGMMA_64(i8, u8, "s32.s8.u8")
INTENT_WGMMA_64(u8, i8, "s32.u8.s8")
INTENT_WGMMA_64(u8, u8, "s32.u8.u8")
#undef INTENT_WGMMA_64

#define INTENT_WGMMA_128(left, right, types)                                                    \
  template <bool left_turns, bool right_turns>                                                  \
  INTENT_DEVICE void warpgroup_mma(left, right, float(&c)[64], u64 a, u64 b, bool adds) {       \
    asm volatile(                                                                               \
        "{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16." types \
        " {" INTENT_NAMES_64 "}, %64, %65, p, 1, 1, %67, %68; }"                                \
        : INTENT_64("f")                                                                        \
        : "l"(a), "l"(b), "r"(int(adds)), "n"(int(left_turns)), "n"(int(right_turns)));         \
  }
INTENT_WGMMA_128(bf16, bf16, "f32.bf16.bf16")
INTENT_WGMMA_128(f16, f16, "f32.f16.f16")
#undef INTENT_WGMMA_128

#define INTENT_WGMMA_128(left, right, types)                                                    \
  template <bool left_turns, bool right_turns>                                                  \
  INTENT_DEVICE void warpgroup_mma(left, right, i32(&c)[64], u64 a, u64 b, bool adds) {         \
    static_assert(!left_turns && !right_turns, "bytes do not turn");                            \
    asm volatile(                                                                               \
        "{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k32." types \
        " {" INTENT_NAMES_64 "}, %64, %65, p; }"                                                \
        : INTENT_64("r")                                                                        \
        : "l"(a), "l"(b), "r"(int(adds)));                                                      \
  }
INTENT_WGMMA_128(i8, i8, "s32.s8.s8")
INTENT_WGMMA_128(i8, u8, "s32.s8.u8")
INTENT_WGMMA_128(u8, i8, "s32.u8.s8")
INTENT_WGMMA_128(u8, u8, "s32.u8.u8")
#undef INTENT_WGMMA_128

#define INTENT_WGMMA_192(left, right, types)                                                    \
  template <bool left_turns, bool right_turns>                                                  \
  INTENT_DEVICE void warpgroup_mma(left, right, float(&c)[96], u64 a, u64 b, bool adds) {       \
    asm volatile(                                                                               \
        "{ .reg .pred p; setp.ne.b32 p, %98, 0; wgmma.mma_async.sync.aligned.m64n192k16." types \
        " {" INTENT_NAMES_96 "}, %96, %97, p, 1, 1, %99, %100; }"                               \
        : INTENT_96("f")                                                                        \
        : "l"(a), "l"(b), "r"(int(adds)), "n"(int(left_turns)), "n"(int(right_turns)));         \
  }
INTENT_WGMMA_192(bf16, bf16, "f32.bf16.bf16")
INTENT_WGMMA_192(f16, f16, "f32.f16.f16")
#undef INTENT_WGMMA_192

#define INTENT_WGMMA_192(left, right, types)                                                    \
  template <bool left_turns, bool right_turns>                                                  \
  INTENT_DEVICE void warpgroup_mma(left, right, i32(&c)[96], u64 a, u64 b, bool adds) {         \
    static_assert(!left_turns && !right_turns, "bytes do not turn");                            \
    asm volatile(                                                                               \
        "{ .reg .pred p; setp.ne.b32 p, %98, 0; wgmma.mma_async.sync.aligned.m64n192k32." types \
        " {" INTENT_NAMES_96 "}, %96, %97, p; }"                                                \
        : INTENT_96("r")                                                                        \
        : "l"(a), "l"(b), "r"(int(adds)));                                                      \
  }
INTENT_WGMMA_192(i8, i8, "s32.s8.s8")
INTENT_WGMMA_192(i8, u8, "s32.s8.u8")
INTENT_WGMMA_192(u8, i8, "s32.u8.s8")
INTENT_WGMMA_192(u8, u8, "s32.u8.u8")
#undef INTENT_WGMMA_192

}  // namespace intent::machine
