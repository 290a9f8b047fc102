#pragma once

// The device library: what generated kernels call, as CUDA C++ without headers. Arithmetic follows
// seed 000 chapters 4 and 5 as compiler/numerics does.

namespace intent::cuda {

inline constexpr char kPrelude[] = R"cuda(
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

template <class T> struct Unsigned { typedef T type; };
template <> struct Unsigned<i8> { typedef u8 type; };
template <> struct Unsigned<i16> { typedef u16 type; };
template <> struct Unsigned<i32> { typedef u32 type; };
template <> struct Unsigned<i64> { typedef u64 type; };
template <class T> constexpr bool kSigned = T(-1) < T(0);
template <class T> constexpr int kWidth = 8 * sizeof(T);
template <class T> __device__ T lowest() { return kSigned<T> ? T(T(1) << (kWidth<T> - 1)) : T(0); }
template <class T> __device__ T greatest() { return T(~lowest<T>()); }

// Integers wrap; invalid input gives a value and never traps.
template <class T> __device__ T add(T a, T b) { return T(u64(a) + u64(b)); }
template <class T> __device__ T sub(T a, T b) { return T(u64(a) - u64(b)); }
template <class T> __device__ T mul(T a, T b) { return T(u64(a) * u64(b)); }
template <class T> __device__ T negate(T a) { return T(0 - u64(a)); }
template <class T> __device__ T absolute(T a) { return kSigned<T> && a < T(0) ? negate(a) : a; }
template <class T> __device__ T floordiv(T a, T b) {
  if (b == T(0)) return T(0);
  if (kSigned<T> && b == T(-1)) return negate(a);
  const T q = T(a / b);
  return kSigned<T> && T(q * b) != a && (a < T(0)) != (b < T(0)) ? T(q - 1) : q;
}
template <class T> __device__ T floormod(T a, T b) {
  if (b == T(0) || (kSigned<T> && b == T(-1))) return T(0);
  const T r = T(a % b);
  return kSigned<T> && r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}
template <class T> __device__ T power(T a, T b) {
  if (kSigned<T> && b < T(0)) return T(0);
  T result = T(1);
  for (u64 e = typename Unsigned<T>::type(b); e != 0; e >>= 1, a = mul(a, a)) {
    if (e & 1) result = mul(result, a);
  }
  return result;
}
template <class T> __device__ bool shifts(T n) { return u64(n) < u64(kWidth<T>); }
template <class T> __device__ T shl(T a, T n) { return shifts(n) ? T(u64(a) << int(n)) : T(0); }
template <class T> __device__ T shr(T a, T n) { return shifts(n) ? T(a >> int(n)) : T(0); }
template <class T> __device__ T largest(T a, T b) { return a > b ? a : b; }
template <class T> __device__ T smallest(T a, T b) { return a < b ? a : b; }

// IEEE 754-2019 maximum and minimum: NaN propagates, +0 is greater than -0.
__device__ bool negative(float x) { return __float_as_int(x) < 0; }
__device__ bool negative(double x) { return __double_as_longlong(x) < 0; }
template <class T> __device__ T maximum(T a, T b) {
  if (a != a || b != b) return a + b;
  return a == b ? (negative(a) ? b : a) : (a > b ? a : b);
}
template <class T> __device__ T minimum(T a, T b) {
  if (a != a || b != b) return a + b;
  return a == b ? (negative(a) ? a : b) : (a < b ? a : b);
}
template <class T> __device__ T maximum_num(T a, T b) { return a != a ? b : b != b ? a : maximum(a, b); }
template <class T> __device__ T minimum_num(T a, T b) { return a != a ? b : b != b ? a : minimum(a, b); }

__device__ float sigmoid(float x) {
  const float t = expf(-fabsf(x));
  return (x < 0 ? t : 1.0f) / (1.0f + t);
}
__device__ double sigmoid(double x) {
  const double t = exp(-fabs(x));
  return (x < 0 ? t : 1.0) / (1.0 + t);
}

// Narrow floats compute in f32 and round once.
__device__ float open(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ float open(bf16 x) { return __int_as_float(int(u32(x.bits) << 16)); }
// f64 to f32, so that a second rounding to a narrower format is the only one.
__device__ float to_odd(double x) {
  const float y = __double2float_rz(x);
  return double(y) != x && x == x ? __int_as_float(__float_as_int(y) | 1) : y;
}
template <class T> struct Close;
template <> struct Close<f16> {
  static __device__ f16 of(float x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
};
template <> struct Close<bf16> {
  static __device__ bf16 of(float x) {
    const u32 bits = u32(__float_as_int(x));
    bf16 y;
    y.bits = x != x ? u16(0x7fc0) : u16((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    return y;
  }
};

// Out of range clamps, NaN gives 0.
template <class T> __device__ T to_integer(double x) {
  if (x != x) return T(0);
  if (x <= double(lowest<T>())) return lowest<T>();
  if (x >= double(greatest<T>())) return greatest<T>();
  return T(x);
}

struct Error { i32 status; u32 ordinal; i32 parameter; i32 axis; i64 value; i64 limit; };
__device__ void fail(Error* error, i32 status, u32 ordinal, i32 parameter, i32 axis, i64 value,
                     i64 limit) {
  if (atomicCAS(&error->status, 0, status) != 0) return;
  error->ordinal = ordinal;
  error->parameter = parameter;
  error->axis = axis;
  error->value = value;
  error->limit = limit;
}
)cuda";

}  // namespace intent::cuda
