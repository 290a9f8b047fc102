#pragma once

// Types of the device library. A dtype of KIR is a C++ type of the same name: index is i64, f32 is
// float, f64 is double. A format that C++ lacks is a struct whose one member is the element as it
// lies in memory. A bool in memory is a u8, and any other than 0 is true.
//
// Nothing in the library includes a header of the toolkit or of the standard library.

#define INTENT_DEVICE __device__ __forceinline__

namespace intent {

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef i64 index;
typedef float f32;
typedef double f64;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;
template <class C>
constexpr bool kIsReal = kSame<C, float> || kSame<C, double>;

}  // namespace intent
