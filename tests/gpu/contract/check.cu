// Inputs and judgement of the harness, on the device.

#include "intent/narrow.cuh"

using namespace intent;

struct Verdict {
  u32 wrong, stray;
  u32 worst_bits;  // of a float: error over u * sum |a b|
  u32 unused;
  i64 first_wrong;
  double got, want, sum_of_magnitudes;
};

__device__ u32 hash(u64 x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return u32(x >> 32);
}

template <class T>
struct Format;
template <>
struct Format<float> {
  __device__ static float of(double x) { return float(x); }
  __device__ static double value(float x) { return x; }
  static constexpr double kTiny = 1.4e-45, kHuge = 3.0e38;
};
template <>
struct Format<double> {
  __device__ static double of(double x) { return x; }
  __device__ static double value(double x) { return x; }
  static constexpr double kTiny = 4.9e-324, kHuge = 1.7e308;
};
template <>
struct Format<f16> {
  __device__ static f16 of(double x) {
    f16 y;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
    return y;
  }
  __device__ static double value(f16 x) {
    double y;
    asm("cvt.f64.f16 %0, %1;" : "=d"(y) : "h"(x.bits));
    return y;
  }
  static constexpr double kTiny = 6e-8, kHuge = 65504;
};
template <>
struct Format<bf16> {
  __device__ static bf16 of(double x) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(float(x)));
    return y;
  }
  __device__ static double value(bf16 x) { return __int_as_float(i32(u32(x.bits) << 16)); }
  static constexpr double kTiny = 1e-40, kHuge = 3.0e38;
};
template <>
struct Format<f8e4m3fn> {
  __device__ static f8e4m3fn of(double x) {
    u16 y;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(float(x)));
    return f8e4m3fn{u8(y)};
  }
  __device__ static double value(f8e4m3fn x) {
    const int e = x.bits >> 3 & 15, f = x.bits & 7;
    if ((x.bits & 0x7f) == 0x7f) return __longlong_as_double(0x7ff8000000000000);
    const double y = e == 0 ? f * 0x1p-9 : (8 + f) * exp2(double(e - 10));
    return x.bits >> 7 ? -y : y;
  }
  static constexpr double kTiny = 0x1p-9, kHuge = 448;
};
template <>
struct Format<f8e5m2> {
  __device__ static f8e5m2 of(double x) {
    u16 y;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(float(x)));
    return f8e5m2{u8(y)};
  }
  __device__ static double value(f8e5m2 x) { return Format<f16>::value(f16{u16(x.bits << 8)}); }
  static constexpr double kTiny = 0x1p-16, kHuge = 57344;
};

enum Kind { kRandom, kPositive, kConstant, kSpecial, kCancelling };

template <class T>
__device__ void fill_all(T* to, i64 count, u64 seed, int kind) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x) {
    const u32 r = hash(u64(i) + seed * 0x9e3779b97f4a7c15ull);
    const double unit = r * 0x1p-32;
    double x = 2 * unit - 1;
    if (kind == kPositive) x = unit;
    if (kind == kConstant) x = 0.1;
    if (kind == kCancelling) x = (i & 1 ? 1 : -1) * (1 + unit * 0x1p-3) * (r & 1 ? 64.0 : 0x1p-4);
    if (kind == kSpecial) {
      const u32 pick = hash(u64(i) * 31 + seed);
      if (pick % 4096 == 0) x = __longlong_as_double(0x7ff0000000000000);
      if (pick % 4096 == 1) x = __longlong_as_double(0xfff0000000000000);
      if (pick % 4096 == 2) x = __longlong_as_double(0x7ff8000000000000);
      if (pick % 8 == 3) x = x < 0 ? -Format<T>::kTiny : Format<T>::kTiny;
      if (pick % 8 == 4) x = 0;
    }
    to[i] = Format<T>::of(x);
  }
}
template <>
__device__ void fill_all<i8>(i8* to, i64 count, u64 seed, int kind) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x) {
    to[i] = kind == kConstant ? i8(-128) : i8(hash(u64(i) + seed * 0x9e3779b97f4a7c15ull));
  }
}
template <>
__device__ void fill_all<u8>(u8* to, i64 count, u64 seed, int kind) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x) {
    to[i] = kind == kConstant ? u8(255) : u8(hash(u64(i) + seed * 0x9e3779b97f4a7c15ull));
  }
}
#define FILL(name, T)                                                            \
  extern "C" __global__ void fill_##name(T* to, i64 count, u64 seed, int kind) { \
    fill_all<T>(to, count, seed, kind);                                          \
  }
FILL(f32, float)
FILL(f64, double)
FILL(f16, f16)
FILL(bf16, bf16)
FILL(f8e4m3fn, f8e4m3fn)
FILL(f8e5m2, f8e5m2)
FILL(i8, i8)
FILL(u8, u8)

__device__ bool is_finite(double x) { return x - x == 0; }

// One warp judges one element of the result. Members are summed exactly enough: each product and
// each sum with its error (a dot product in twice the precision of f64).
template <class L, class R, class Acc>
__device__ void judge(i64 m, i64 n, i64 k, const L* a, i64 a_row, i64 a_inner, const R* b,
                      i64 b_column, i64 b_inner, const Acc* out, i64 out_stride, i64 samples,
                      double unit, double floor, Verdict* verdict) {
  const int lane = threadIdx.x % 32;
  const i64 warps = i64(gridDim.x) * blockDim.x / 32;
  for (i64 s = (blockIdx.x * i64(blockDim.x) + threadIdx.x) / 32; s < samples; s += warps) {
    const i64 index =
        samples == m * n ? s : i64((u64(s) * 0x9e3779b97f4a7c15ull >> 8) % u64(m * n));
    const i64 row = index / n, column = index % n;
    const Acc got = out[row * out_stride + column];
    if constexpr (kSame<Acc, i32>) {
      i32 sum = 0;
      for (i64 i = lane; i < k; i += 32) {
        sum += i32(a[row * a_row + i * a_inner]) * i32(b[column * b_column + i * b_inner]);
      }
      for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
      if (lane == 0 && got != sum && atomicAdd(&verdict->wrong, 1u) == 0) {
        verdict->first_wrong = index;
        verdict->got = got;
        verdict->want = sum;
      }
    } else {
      double high = 0, low = 0, magnitudes = 0;
      for (i64 i = lane; i < k; i += 32) {
        const double x = Format<L>::value(a[row * a_row + i * a_inner]);
        const double y = Format<R>::value(b[column * b_column + i * b_inner]);
        const double product = __dmul_rn(x, y);
        const double error = __fma_rn(x, y, -product);
        const double sum = __dadd_rn(high, product), part = __dsub_rn(sum, high);
        low += error + __dadd_rn(__dsub_rn(high, __dsub_rn(sum, part)), __dsub_rn(product, part));
        high = sum;
        magnitudes += fabs(product);
      }
      for (int d = 16; d > 0; d /= 2) {
        const double other = __shfl_xor_sync(~0u, high, d);
        const double sum = __dadd_rn(high, other), part = __dsub_rn(sum, high);
        low += __shfl_xor_sync(~0u, low, d);
        low += __dadd_rn(__dsub_rn(high, __dsub_rn(sum, part)), __dsub_rn(other, part));
        high = sum;
        magnitudes += __shfl_xor_sync(~0u, magnitudes, d);
      }
      if (lane != 0) continue;
      const double want = is_finite(high) ? high + low : high;
      bool right;
      if (!is_finite(want)) {
        right = want != want ? got != got : double(got) == want;
      } else {
        const double error = fabs(double(got) - want);
        right = error <= (32 + log2(double(k < 1 ? 1 : k))) * unit * magnitudes + floor;
        const float ratio = magnitudes > 0 ? float(error / (unit * magnitudes + floor)) : 0;
        if (right) atomicMax(&verdict->worst_bits, __float_as_uint(ratio));
      }
      if (!right && atomicAdd(&verdict->wrong, 1u) == 0) {
        verdict->first_wrong = index;
        verdict->got = got;
        verdict->want = want;
        verdict->sum_of_magnitudes = magnitudes;
      }
    }
  }
  // Between the rows the poison must lie untouched.
  if (samples == m * n) {
    for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < m * (out_stride - n);
         i += i64(gridDim.x) * blockDim.x) {
      const Acc x = out[i / (out_stride - n) * out_stride + n + i % (out_stride - n)];
      const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&x);
      if (bytes[0] != 0xff || bytes[sizeof(Acc) - 1] != 0xff) atomicAdd(&verdict->stray, 1u);
    }
  }
}
#define JUDGE(name, L, R, Acc, unit, floor)                                                        \
  extern "C" __global__ void judge_##name(i64 m, i64 n, i64 k, const L* a, i64 a_row, i64 a_inner, \
                                          const R* b, i64 b_column, i64 b_inner, const Acc* out,   \
                                          i64 out_stride, i64 samples, Verdict* verdict) {         \
    judge<L, R, Acc>(m, n, k, a, a_row, a_inner, b, b_column, b_inner, out, out_stride, samples,   \
                     unit, floor, verdict);                                                        \
  }
JUDGE(f32_f32, float, float, float, 0x1p-24, 0x1p-149 * 4)
JUDGE(f64_f64, double, double, double, 0x1p-53, 0)
JUDGE(f16_f16, f16, f16, float, 0x1p-24, 0x1p-149 * 4)
JUDGE(bf16_bf16, bf16, bf16, float, 0x1p-24, 0x1p-126 * 0x1p-20)
JUDGE(f8e4m3fn_f8e4m3fn, f8e4m3fn, f8e4m3fn, float, 0x1p-24, 0)
JUDGE(f8e5m2_f8e5m2, f8e5m2, f8e5m2, float, 0x1p-24, 0)
JUDGE(i8_i8, i8, i8, i32, 0, 0)
JUDGE(u8_i8, u8, i8, i32, 0, 0)
JUDGE(i8_u8, i8, u8, i32, 0, 0)
JUDGE(u8_u8, u8, u8, i32, 0, 0)
