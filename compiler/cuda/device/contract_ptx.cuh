#pragma once

// The machine below matrix products: asynchronous copies to shared memory, matrix loads and matrix
// instructions, one function each. Shared memory is addressed by its 32-bit window address. Every
// function of a warp is called by all 32 lanes together.

#include "intent/types.cuh"

namespace intent::machine {

// 16 bytes as they move between memories.
struct alignas(16) Chunk {
  u32 word[4];
};

INTENT_DEVICE u32 shared_address(const void* shared) {
  u32 address;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }"
      : "=r"(address)
      : "l"(shared));
  return address;
}

// Copies the first `valid` of `bytes` (4, 8 or 16) and zeros the rest. Both sides are aligned to
// `bytes`; with valid == 0 nothing is read.
template <int bytes>
INTENT_DEVICE void copy_async(u32 to, const void* from, int valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async has no such size");
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(bytes),
                 "r"(valid)
                 : "memory");
  }
}
INTENT_DEVICE void copies_end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` of this thread's latest groups are unfinished.
template <int pending>
INTENT_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// The same pointer, of which the compiler knows nothing: what it points to stays in memory.
template <class T>
INTENT_DEVICE T* in_memory(T* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}
INTENT_DEVICE Chunk load_global(const void* from) {
  Chunk x;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.word[0]), "=r"(x.word[1]), "=r"(x.word[2]), "=r"(x.word[3])
               : "l"(from)
               : "memory");
  return x;
}
INTENT_DEVICE void store_shared(u32 to, const Chunk& x) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.word[0]), "r"(x.word[1]),
               "r"(x.word[2]), "r"(x.word[3])
               : "memory");
}
INTENT_DEVICE void store_shared_word(u32 to, u32 x) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
INTENT_DEVICE double load_shared_f64(u32 from) {
  double x;
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(from) : "memory");
  return x;
}
// Byte i of the result is byte (selector >> 4i & 7) of b:a.
INTENT_DEVICE u32 permute(u32 a, u32 b, u32 selector) {
  u32 y;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(selector));
  return y;
}
// The low word of b:a >> bits, for 0 <= bits < 32.
INTENT_DEVICE u32 funnel(u32 a, u32 b, u32 bits) {
  u32 y;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(bits));
  return y;
}

// Four 8x8 matrices of 16-bit elements; lane l names row l % 8 of matrix l / 8 (16 bytes). Register
// i of lane l holds the elements (l / 4, 2 * (l % 4) + {0, 1}) of matrix i, of its transpose if
// `transposed`.
template <bool transposed>
INTENT_DEVICE void load_matrices(u32 (&x)[4], u32 row) {
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
  }
}

// c += a b for a 16 x 8 tile of c. With g = lane / 4 and t = lane % 4, c0 to c3 are (g, 2t),
// (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). The inner axis is 32 bytes: a holds the 4-byte pieces
// t of rows g and g + 8 in its first half, then in its second; b0 and b1 those of column g. 16-bit
// products are exact and their sums f32; integer sums wrap.
#define INTENT_MMA(left, right, sum, letter, shape, types)                                  \
  INTENT_DEVICE void mma(left, right, sum& c0, sum& c1, sum& c2, sum& c3, const u32(&a)[4], \
                         u32 b0, u32 b1) {                                                  \
    asm("mma.sync.aligned." shape ".row.col." types                                         \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                  \
        : "+" letter(c0), "+" letter(c1), "+" letter(c2), "+" letter(c3)                    \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                    \
  }
INTENT_MMA(f16, f16, float, "f", "m16n8k16", "f32.f16.f16.f32")
INTENT_MMA(bf16, bf16, float, "f", "m16n8k16", "f32.bf16.bf16.f32")
INTENT_MMA(i8, i8, i32, "r", "m16n8k32", "s32.s8.s8.s32")
INTENT_MMA(i8, u8, i32, "r", "m16n8k32", "s32.s8.u8.s32")
INTENT_MMA(u8, i8, i32, "r", "m16n8k32", "s32.u8.s8.s32")
INTENT_MMA(u8, u8, i32, "r", "m16n8k32", "s32.u8.u8.s32")
#undef INTENT_MMA

// The same on f64, each step rounded as by fma; the inner axis is 8 elements. a holds (g, t),
// (g + 8, t), (g, t + 4), (g + 8, t + 4), b0 and b1 hold (t, g) and (t + 4, g).
INTENT_DEVICE void mma(double& c0, double& c1, double& c2, double& c3, const double (&a)[4],
                       double b0, double b1) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
#define INTENT_MMA(c0, c1, a, b)                                                        \
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" \
      : "+d"(c0), "+d"(c1)                                                              \
      : "d"(a), "d"(b))
  INTENT_MMA(c0, c1, a[0], b0);
  INTENT_MMA(c2, c3, a[1], b0);
  INTENT_MMA(c0, c1, a[2], b1);
  INTENT_MMA(c2, c3, a[3], b1);
#undef INTENT_MMA
#endif
}

#if __CUDA_ARCH_FEAT_SM90_ALL
#define INTENT_WARPGROUPS 1
#endif

// Warpgroups of sm_90a: four warps that start at a multiple of four issue one matrix instruction on
// operands in shared memory, asynchronously.

// Orders this thread's ordinary writes to shared memory before what the matrix unit reads.
INTENT_DEVICE void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// How the matrix unit finds an operand whose lines of 128 bytes are swizzled as SwizzledTile does,
// eight lines to 1024 bytes. Where lines run along the inner axis, eight_lines is what lies between
// eight lines and the next; where they run along the own axis, panels is what lies between 64
// elements of a line and the next 64.
INTENT_DEVICE u64 matrix_descriptor(u32 address, u32 panels, u32 eight_lines) {
  return u64(address >> 4 & 0x3fff) | u64(panels >> 4) << 16 | u64(eight_lines >> 4) << 32 |
         u64(1) << 62;
}

INTENT_DEVICE void warpgroup_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Instructions on these registers stay on their side of this line: the matrix unit uses them
// between warpgroup_begin and warpgroup_wait.
template <int n>
INTENT_DEVICE void warpgroup_own(float (&c)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(c[i])::"memory");
}
template <int n>
INTENT_DEVICE void warpgroup_own(i32 (&c)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(c[i])::"memory");
}
INTENT_DEVICE void warpgroup_end_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
INTENT_DEVICE void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

}  // namespace intent::machine
