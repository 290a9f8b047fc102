#pragma once

// Accumulators of one thread. Floating sums are taken in three levels, so that no accumulator adds
// long stretches serially (docs/decisions/0005-contractions-sum-in-runs.md): a run over one step of
// the inner axis from zero, the sum of up to `block` runs, and the sum of blocks. The last lies in
// local memory that the caller lends, is touched once a block, and by short inner axes never.
// Integers wrap exactly in one level.

#include "intent/contract_ptx.cuh"

namespace intent::machine {

template <class Acc, int count, int block>
struct Sums {
  static constexpr bool kFloats = kIsReal<Acc>;
  static constexpr int kTotals = kFloats ? count : 1;

  Acc run[count];  // what a step adds to

  // `total` is for kTotals numbers.
  INTENT_DEVICE void clear(Acc* total) {
    total_ = in_memory(total);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      run[i] = Acc(0);
      if constexpr (kFloats) sum_[i] = Acc(0);
    }
    runs_ = 0;
    blocks_ = false;
  }
  INTENT_DEVICE void begin_step() {
    if constexpr (kFloats) {
#pragma unroll
      for (int i = 0; i < count; ++i) run[i] = Acc(0);
    }
  }
  INTENT_DEVICE void end_step() {
    if constexpr (kFloats) {
      if (runs_ == block) end_block();
      ++runs_;
#pragma unroll
      for (int i = 0; i < count; ++i) sum_[i] += run[i];
    }
  }
  // Leaves the whole sums in `run`.
  INTENT_DEVICE void end() {
    if constexpr (kFloats) {
#pragma unroll
      for (int i = 0; i < count; ++i) run[i] = sum_[i];
      if (blocks_) {
#pragma unroll
        for (int i = 0; i < count; ++i) run[i] += total_[i];
      }
    }
  }

 private:
  INTENT_DEVICE void end_block() {
    if (!blocks_) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) total_[i] = Acc(0);
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      total_[i] += sum_[i];
      sum_[i] = Acc(0);
    }
    runs_ = 0;
    blocks_ = true;
  }

  Acc sum_[kTotals];
  Acc* total_;
  int runs_ = 0;
  bool blocks_ = false;
};

}  // namespace intent::machine
