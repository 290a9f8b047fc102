#pragma once

// One kernel of the harness: a product with its own configuration, walked over tiles in grouped
// order by a grid that stays.

#include "intent/contract.cuh"
#include "intent/contract_widened.cuh"

namespace harness {
using namespace intent;

template <class T, Axis fast>
struct OperandOf {
  typedef Direct<T, fast> Type;
};
template <Axis fast>
struct OperandOf<f8e4m3fn, fast> {
  typedef Widened<f8e4m3fn, fast> Type;
};
template <Axis fast>
struct OperandOf<f8e5m2, fast> {
  typedef Widened<f8e5m2, fast> Type;
};

template <class T>
struct Rows {
  static constexpr int kWidth = 16 / int(sizeof(T));
  T* base;
  i64 stride;
  template <int n>
  INTENT_DEVICE void put(i64 row, i64 column, int valid, const T (&x)[n]) const {
    T* const to = base + row * stride + column;
    if (valid == n && u64(to) % 16 == 0) {
      machine::Piece<T> piece;
#pragma unroll
      for (int i = 0; i < n; ++i) piece.x[i] = x[i];
      *reinterpret_cast<machine::Piece<T>*>(to) = piece;
      return;
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i < valid) to[i] = x[i];
    }
  }
};

}  // namespace harness

extern __shared__ __align__(1024) char shared_memory[];

// The facts that the host needs: rows and columns of a tile, threads, bytes of shared memory.
#define HARNESS_KERNEL(CONFIG, L, R, left_fast, right_fast)                                      \
  typedef CONFIG Config;                                                                         \
  extern "C" __constant__ int facts[4] = {Config::kRows, Config::kColumns, Config::kThreads,     \
                                          Config::kSharedBytes};                                 \
  extern "C" __global__ void __launch_bounds__(Config::kThreads, 1) product(                     \
      intent::i64 m, intent::i64 n, intent::i64 k, harness::OperandOf<L, left_fast>::Type a,     \
      harness::OperandOf<R, right_fast>::Type b, harness::Rows<Config::Acc> out) {               \
    const intent::TileWalk walk(m, n, Config::kRows, Config::kColumns);                          \
    for (intent::i64 tile = blockIdx.x; tile < walk.tiles(); tile += gridDim.x) {                \
      const intent::TilePlace place = walk.at(tile);                                             \
      intent::contract_tile<Config>(m, n, k, place.row, place.column, a, b, out, shared_memory); \
    }                                                                                            \
  }
