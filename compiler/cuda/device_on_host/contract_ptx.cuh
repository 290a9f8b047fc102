#pragma once

// Test support: intent/contract_ptx.cuh for this machine's compiler. Each thread of a block is a
// fiber (block.h). Asynchronous copies happen when they are waited for, as late as the machine may
// make them.

#include <cmath>
#include <cstring>

#include "compiler/cuda/device_on_host/grid.h"
#include "intent/ptx.cuh"

namespace intent::machine {

struct alignas(16) Chunk {
  u32 word[4];
};

inline u32 shared_address(const void* shared) { return emulation::SharedOffset(shared); }

template <int bytes>
void copy_async(u32 to, const void* from, int valid) {
  emulation::CopyLater(to, from, bytes, valid);
}
inline void copies_end_group() { emulation::EndCopyGroup(); }
template <int pending>
void wait_copies() {
  emulation::WaitCopies(pending);
}

template <class T>
T* in_memory(T* pointer) {
  return pointer;
}
inline Chunk load_global(const void* from) {
  emulation::CheckAligned(from, 16);
  Chunk x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
inline void store_shared_word(u32 to, u32 x) { std::memcpy(emulation::Shared(to, 4), &x, 4); }
inline double load_shared_f64(u32 from) {
  double x;
  std::memcpy(&x, emulation::Shared(from, 8), 8);
  return x;
}
inline u32 permute(u32 a, u32 b, u32 selector) {
  const u64 both = u64(b) << 32 | a;
  u32 y = 0;
  for (int i = 0; i < 4; ++i) y |= u32(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return y;
}

template <bool transposed>
void load_matrices(u32 (&x)[4], u32 row) {
  const auto rows = emulation::Exchange(row);
  const int lane = emulation::Lane(), g = lane / 4, t = lane % 4;
  for (int i = 0; i < 4; ++i) {
    u16 pair[2];
    for (int e = 0; e < 2; ++e) {
      const int line = transposed ? 2 * t + e : g, column = transposed ? g : 2 * t + e;
      std::memcpy(&pair[e], emulation::Shared(rows[8 * i + line], 16) + 2 * column, 2);
    }
    std::memcpy(&x[i], pair, 4);
  }
}

namespace emulated {
struct Fragments {
  u32 a[4], b[2];
};
inline double value(f16 x) { return f16_to_f32(x); }
inline double value(bf16 x) { return bf16_to_f32(x); }
inline i64 value(i8 x) { return x; }
inline i64 value(u8 x) { return x; }
inline float to_sum(float, double x) { return float(x); }
inline i32 to_sum(i32, i64 x) { return i32(u32(u64(x))); }
}  // namespace emulated

template <class L, class R, class Acc>
void mma(L, R, Acc& c0, Acc& c1, Acc& c2, Acc& c3, const u32 (&a)[4], u32 b0, u32 b1) {
  const auto all = emulation::Exchange(emulated::Fragments{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const int lane = emulation::Lane(), g = lane / 4, t = lane % 4;
  constexpr int kEach = 4 / sizeof(L);
  Acc* const sums[] = {&c0, &c1, &c2, &c3};
  for (int i = 0; i < 4; ++i) {
    const int half = i / 2, column = 2 * t + i % 2;
    auto sum = decltype(emulated::value(L{}) * emulated::value(R{}))(*sums[i]);
    for (int k = 0; k < 8 * kEach; ++k) {
      const int piece = k / kEach % 4, upper = k / kEach / 4;
      L left;
      R right;
      std::memcpy(&left,
                  reinterpret_cast<const char*>(&all[4 * g + piece].a[half + 2 * upper]) +
                      k % kEach * sizeof(L),
                  sizeof(L));
      std::memcpy(
          &right,
          reinterpret_cast<const char*>(&all[4 * column + piece].b[upper]) + k % kEach * sizeof(R),
          sizeof(R));
      sum += emulated::value(left) * emulated::value(right);
    }
    *sums[i] = emulated::to_sum(Acc{}, sum);
  }
}

inline void mma(double& c0, double& c1, double& c2, double& c3, const double (&a)[4], double b0,
                double b1) {
  struct Fragments {
    double a[4], b[2];
  };
  const auto all = emulation::Exchange(Fragments{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const int lane = emulation::Lane(), g = lane / 4, t = lane % 4;
  double* const sums[] = {&c0, &c1, &c2, &c3};
  for (int i = 0; i < 4; ++i) {
    const int half = i / 2, column = 2 * t + i % 2;
    for (int k = 0; k < 8; ++k) {
      *sums[i] = std::fma(all[4 * g + k % 4].a[half + 2 * (k / 4)],
                          all[4 * column + k % 4].b[k / 4], *sums[i]);
    }
  }
}

inline void fence_async_proxy() {}
inline u64 matrix_descriptor(u32 address, u32 panels, u32 eight_lines) {
  if (address % 1024 != 0) std::abort();
  return u64(address >> 4 & 0x3fff) | u64(panels >> 4) << 16 | u64(eight_lines >> 4) << 32 |
         u64(1) << 62;
}
inline void warpgroup_begin() {}
inline void warpgroup_end_group() {}
inline void warpgroup_wait() {}
template <class Acc, int n>
void warpgroup_own(Acc (&)[n]) {}

}  // namespace intent::machine
