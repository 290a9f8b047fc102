#pragma once

// Operands of 8-bit floats for products of f16, whose sums are f32. The matrix unit's own products
// of 8-bit floats keep fewer bits of a sum than f32 has.

#include "intent/contract_operand.cuh"
#include "intent/narrow.cuh"

namespace intent {

INTENT_DEVICE f16 widen_to_f16(f8e5m2 x) { return f16{u16(x.bits << 8)}; }
INTENT_DEVICE f16 widen_to_f16(f8e4m3fn x) {
#if INTENT_PTX_FP8
  return ptx_f8e4m3fn_to_f16(x.bits);
#else
  return f32_to_f16(open(x));
#endif
}

// A direct operand of f8e4m3fn or f8e5m2, widened on its way to shared memory to f16, which holds
// each of their values.
template <class Code, Axis fast>
struct Widened {
  typedef f16 Element;
  static constexpr Axis kFast = fast;
  static constexpr bool kDirect = false;
  template <int n>
  using Fetched = machine::Packed<Code, n>;

  Direct<Code, fast> codes;

  template <int n>
  INTENT_DEVICE void fetch(i64 own, i64 inner, int valid, Fetched<n>& out) const {
    codes.template fetch<n>(own, inner, valid, out);
  }
  template <int n>
  INTENT_DEVICE void finish(const Fetched<n>& in, int, f16 (&out)[n]) const {
#pragma unroll
    for (int i = 0; i < n; ++i) out[i] = widen_to_f16(in.element(i));
  }
};

}  // namespace intent
