#pragma once

// Test support: intent/contract_wgmma.cuh for this machine's compiler. Reads both operands from
// shared memory through their descriptors, as the instruction set documents them for swizzles of
// 128 bytes.

#include "intent/contract_ptx.cuh"

namespace intent::machine {

namespace emulated {
// Element (own, inner) of the operand. Addresses swizzle after everything else is added up.
template <class E, bool turns>
E Element(u64 descriptor, int own, int inner) {
  constexpr int kSize = int(sizeof(E)), kLine = 128 / kSize;
  const u32 start = u32(descriptor & 0x3fff) << 4;
  const u32 leading = u32(descriptor >> 16 & 0x3fff) << 4;
  const u32 stride = u32(descriptor >> 32 & 0x3fff) << 4;
  u32 address = start;
  if (turns) {
    address += own / kLine * leading + own % kLine * kSize + inner / 8 * stride + inner % 8 * 128;
  } else {
    address += own / 8 * stride + own % 8 * 128 + inner * kSize;
  }
  address ^= (address >> 7 & 7) << 4;
  E x;
  std::memcpy(&x, emulation::Shared(address, kSize), kSize);
  return x;
}
}  // namespace emulated

template <bool left_turns, bool right_turns, class L, class R, class Acc, int count>
void warpgroup_mma(L, R, Acc (&c)[count], u64 a, u64 b, bool adds) {
  const int warp = emulation::Thread() / 32 % 4, lane = emulation::Lane();
  for (int i = 0; i < count; ++i) {
    const int row = 16 * warp + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    auto sum = decltype(emulated::value(L{}) * emulated::value(R{}))(adds ? c[i] : Acc(0));
    for (int k = 0; k < 32 / int(sizeof(L)); ++k) {
      sum += emulated::value(emulated::Element<L, left_turns>(a, row, k)) *
             emulated::value(emulated::Element<R, right_turns>(b, column, k));
    }
    c[i] = emulated::to_sum(Acc{}, sum);
  }
}

}  // namespace intent::machine
