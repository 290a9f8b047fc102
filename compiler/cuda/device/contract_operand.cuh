#pragma once

// Operands of a matrix product, as contract_tile reads them. An operand is a matrix of `own` rows
// of the result (for the left side; columns for the right side) by `inner`, the axis that is summed
// over. It says
//
//   Element     what lies in shared memory and enters the products
//   kFast       the axis along which neighbours are cheap to load together
//   kDirect     whether elements lie in global memory as they are
//   Fetched<n>  n neighbours along kFast on their way, in registers
//   fetch(own, inner, valid, Fetched<n>&)       starts loading; 0 < valid <= n of them exist
//   finish(Fetched<n>, valid, Element (&)[n])   elements; past `valid` they may be anything
//
// and, if kDirect, base, at() and in_chunks(). n neighbours are at least 4 bytes.

#include "intent/contract_ptx.cuh"

namespace intent {

enum class Axis { kOwn, kInner };

namespace machine {

// n elements as words: in registers an array of narrow elements would take a register each.
template <class E, int n>
struct Packed {
  static constexpr int kWords = n * int(sizeof(E)) / 4;
  u32 word[kWords];

  INTENT_DEVICE void pack(const E* aligned) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) word[i] = reinterpret_cast<const u32*>(aligned)[i];
  }
  INTENT_DEVICE E element(int i) const { return reinterpret_cast<const E*>(word)[i]; }
};

// `valid` elements of n at from, from + stride, ...
template <class E, int n>
INTENT_DEVICE void fetch_packed(const E* from, i64 stride, int valid, Packed<E, n>& out) {
  constexpr int kBytes = n * int(sizeof(E));
  if (valid == n && stride == 1 && u64(from) % kBytes == 0) {
    if constexpr (kBytes == 16) {
      const Chunk chunk = load_global(from);
      out.pack(reinterpret_cast<const E*>(chunk.word));
    } else {
      out.pack(from);
    }
    return;
  }
  alignas(kBytes) E x[n];
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = i < valid ? from[i * stride] : E{};
  out.pack(x);
}

}  // namespace machine

// Elements in global memory at base + own * own_stride + inner * inner_stride. Where the stride of
// `fast` is 1 and every line begins at a multiple of 16 bytes, copies are asynchronous; any other
// strides and alignments are right, too, and slower.
template <class T, Axis fast>
struct Direct {
  typedef T Element;
  static constexpr Axis kFast = fast;
  static constexpr bool kDirect = true;
  template <int n>
  using Fetched = machine::Packed<T, n>;

  const T* base;
  i64 own_stride, inner_stride;

  INTENT_DEVICE i64 fast_stride() const { return fast == Axis::kOwn ? own_stride : inner_stride; }
  INTENT_DEVICE i64 line_stride() const { return fast == Axis::kOwn ? inner_stride : own_stride; }
  INTENT_DEVICE bool in_chunks() const {
    return fast_stride() == 1 && ((u64(base) | u64(line_stride() * i64(sizeof(T)))) & 15) == 0;
  }
  INTENT_DEVICE const T* at(i64 own, i64 inner) const {
    return base + own * own_stride + inner * inner_stride;
  }
  template <int n>
  INTENT_DEVICE void fetch(i64 own, i64 inner, int valid, Fetched<n>& out) const {
    machine::fetch_packed<T, n>(at(own, inner), fast_stride(), valid, out);
  }
  template <int n>
  INTENT_DEVICE void finish(const Fetched<n>& in, int, T (&out)[n]) const {
#pragma unroll
    for (int i = 0; i < n; ++i) out[i] = in.element(i);
  }
};

// What a functor computes. F has Element, kFast and
//   template <int n> void load(i64 own, i64 inner, int valid, Element (&out)[n]) const
// which gives the first `valid` of n neighbours along kFast, 0 < valid <= n.
template <class F>
struct Computed {
  typedef typename F::Element Element;
  static constexpr Axis kFast = F::kFast;
  static constexpr bool kDirect = false;
  template <int n>
  using Fetched = machine::Packed<Element, n>;

  F functor;

  template <int n>
  INTENT_DEVICE void fetch(i64 own, i64 inner, int valid, Fetched<n>& out) const {
    alignas(n * sizeof(Element)) Element x[n];
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] = Element{};
    functor.template load<n>(own, inner, valid, x);
    out.pack(x);
  }
  template <int n>
  INTENT_DEVICE void finish(const Fetched<n>& in, int, Element (&out)[n]) const {
#pragma unroll
    for (int i = 0; i < n; ++i) out[i] = in.element(i);
  }
};

// What element(own, inner) gives.
template <class E, Axis fast, class F>
struct Elements {
  typedef E Element;
  static constexpr Axis kFast = fast;

  F element;

  template <int n>
  INTENT_DEVICE void load(i64 own, i64 inner, int valid, E (&out)[n]) const {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i < valid)
        out[i] = fast == Axis::kOwn ? element(own + i, inner) : element(own, inner + i);
    }
  }
};
template <class E, Axis fast, class F>
INTENT_DEVICE Computed<Elements<E, fast, F>> computed(const F& element) {
  return {{element}};
}

}  // namespace intent
