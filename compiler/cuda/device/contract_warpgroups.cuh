#pragma once

// The engine of sm_90a: warpgroups, each with 64 rows of the block's tile and all of its columns.

#include "intent/contract_engines.cuh"
#include "intent/contract_wgmma.cuh"

namespace intent::machine {

// Lines in panels of 128 bytes, one panel's lines after the other's.
template <class E, int lines, int extent>
struct PanelTile {
  static constexpr int kPanel = 128 / int(sizeof(E));  // elements
  static constexpr int kPanelBytes = lines * 128;
  static constexpr int kBytes = extent / kPanel * kPanelBytes;
  static_assert(extent % kPanel == 0 && lines % 8 == 0, "whole panels of whole swizzles");

  static INTENT_DEVICE u32 at(int line, int element) {
    const int byte = element % kPanel * int(sizeof(E));
    return u32(element / kPanel * kPanelBytes + line * 128 + (((byte >> 4) ^ (line & 7)) << 4) +
               (byte & 15));
  }
};

template <class L, class R, class Acc, int rows, int columns, int depth, int block, Axis left_fast,
          Axis right_fast>
struct WarpgroupEngine {
  static_assert(sizeof(L) == sizeof(R) && depth * sizeof(L) == 128, "lines of 128 bytes");
  static constexpr bool kAsync = true;
  static constexpr int kSize = int(sizeof(L));
  static constexpr Axis kLeftAlong = kSize == 2 ? left_fast : Axis::kInner;
  static constexpr Axis kRightAlong = kSize == 2 ? right_fast : Axis::kInner;
  static constexpr bool kLeftTurns = kLeftAlong == Axis::kOwn;
  static constexpr bool kRightTurns = kRightAlong == Axis::kOwn;
  typedef PanelTile<L, kLeftTurns ? depth : rows, kLeftTurns ? rows : depth> LeftTile;
  typedef PanelTile<R, kRightTurns ? depth : columns, kRightTurns ? columns : depth> RightTile;
  typedef Sums<Acc, columns / 2, block> SumsOf;

  INTENT_DEVICE void clear(Acc* total) { sums_.clear(total); }
  INTENT_DEVICE void start(const char* left_tile, const char* right_tile) {
    // Both ways of lying begin a warpgroup's 64 rows after 64 lines of 128 bytes.
    const u64 left = matrix_descriptor(shared_address(left_tile) + row_ / 64 * 8192,
                                       LeftTile::kPanelBytes, 1024);
    const u64 right = matrix_descriptor(shared_address(right_tile), RightTile::kPanelBytes, 1024);
    warpgroup_own(sums_.run);
    warpgroup_begin();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // The next 32 bytes of every line, or the next 16 lines.
      warpgroup_mma<kLeftTurns, kRightTurns>(L{}, R{}, sums_.run, left + k * (kLeftTurns ? 128 : 2),
                                             right + k * (kRightTurns ? 128 : 2),
                                             k > 0 || !kIsReal<Acc>);
    }
    warpgroup_end_group();
  }
  INTENT_DEVICE void finish(const char*, const char*) {
    warpgroup_wait();
    warpgroup_own(sums_.run);
    sums_.end_step();
  }
  INTENT_DEVICE void end() { sums_.end(); }
  INTENT_DEVICE void spill(Acc* out, int pitch) const {
    spill_fragments<1, columns / 8>(sums_.run, out + row_ * pitch, pitch);
  }

 private:
  const int row_ = int(threadIdx.x) / 32 * 16;
  SumsOf sums_;
};

}  // namespace intent::machine
