#pragma once

// The matrix product of a block of threads: one tile of
//
//   result(m, n) = sum over k of left(m, k) * right(n, k)
//
// from operands of any strides and alignment, or computed ones, to a functor that takes finished
// sums. The kernel walks over tiles and batches; every thread of the block calls contract_tile with
// the same arguments. Extents may be anything from 0 on; without members every sum is zero.
//
//   Config   TensorCores, WarpgroupCores, DoubleCores or ScalarCores below: instructions and tile.
//            A block has Config::kThreads threads and Config::kSharedBytes of shared memory,
//            aligned to 1024.
//   A, B     Direct, Computed or Widened (contract_operand.cuh); rows of the result are the left
//            side's own axis, columns the right side's.
//   Store    takes the result:
//              static constexpr int kWidth                        1, 2, 4 or 8 columns at a time
//              template <int n> void put(i64 row, i64 column, int valid, const Acc (&sums)[n])
//            for n = kWidth neighbouring columns, of which the first 0 < valid <= n exist.
//
// Sums keep the language's bound on their error: contract_sums.cuh.

#include "intent/contract_warpgroups.cuh"

namespace intent {

// f16 with f16 and bf16 with bf16 to float, and 8-bit integers of any signs to i32, by mma.sync.
// depth is the step of the inner axis and the length of a run: 64 elements of 2 bytes, 128 of 1.
template <class L, class R, class Acc_, int rows, int columns, int depth, int warps_m, int warps_n,
          int stages>
struct TensorCores {
  typedef Acc_ Acc;
  static constexpr int kRows = rows, kColumns = columns, kDepth = depth, kStages = stages;
  static constexpr int kThreads = 32 * warps_m * warps_n;
  static constexpr int kPitch = columns + 8;  // of sums in shared memory
  template <Axis left_fast, Axis right_fast>
  using Engine = machine::MatrixEngine<L, R, Acc, rows, columns, depth, warps_m, warps_n, 32,
                                       left_fast, right_fast>;
  static constexpr int kStageBytes = (rows + columns) * depth * int(sizeof(L));
  static constexpr int kSumBytes = rows * kPitch * int(sizeof(Acc));
  static constexpr int kSharedBytes =
      stages * kStageBytes > kSumBytes ? stages* kStageBytes : kSumBytes;
};

// The same by wgmma, on sm_90a only: tiles of 64 rows for each warpgroup by 64, 128 or 192 columns.
template <class L, class R, class Acc_, int warpgroups, int columns, int stages>
struct WarpgroupCores {
  typedef Acc_ Acc;
  static constexpr int kRows = 64 * warpgroups, kColumns = columns, kStages = stages;
  static constexpr int kDepth = 128 / int(sizeof(L));
  static constexpr int kThreads = 128 * warpgroups;
  static constexpr int kPitch = columns + 8;
  template <Axis left_fast, Axis right_fast>
  using Engine =
      machine::WarpgroupEngine<L, R, Acc, kRows, columns, kDepth, 32, left_fast, right_fast>;
  static constexpr int kStageBytes = (kRows + columns) * 128;
  static constexpr int kSumBytes = kRows * kPitch * int(sizeof(Acc));
  static constexpr int kSharedBytes =
      stages * kStageBytes > kSumBytes ? stages* kStageBytes : kSumBytes;
};

// f64 by matrix instructions; every step of a sum is a fused multiply-add.
template <int rows, int columns, int warps_m, int warps_n, int stages>
struct DoubleCores {
  typedef double Acc;
  static constexpr int kRows = rows, kColumns = columns, kDepth = 16, kStages = stages;
  static constexpr int kThreads = 32 * warps_m * warps_n;
  static constexpr int kPitch = columns + 4;
  template <Axis left_fast, Axis right_fast>
  using Engine =
      machine::DoubleEngine<rows, columns, kDepth, warps_m, warps_n, 16, left_fast, right_fast>;
  static constexpr int kStageBytes = (rows + columns) * kDepth * 8;
  static constexpr int kSumBytes = rows * kPitch * 8;
  static constexpr int kSharedBytes =
      stages * kStageBytes > kSumBytes ? stages* kStageBytes : kSumBytes;
};

// Any accumulator of 4 or 8 bytes; both operands' Element is Acc. Step::apply(sum, a, b) adds a
// product.
template <class Acc_, int rows, int columns, int threads_m, int threads_n, int stages,
          class Step = machine::MultiplyAdd<Acc_>>
struct ScalarCores {
  typedef Acc_ Acc;
  static constexpr int kRows = rows, kColumns = columns, kDepth = 16, kStages = stages;
  static constexpr int kThreads = threads_m * threads_n;
  static constexpr int kPitch = columns + 16 / int(sizeof(Acc));
  template <Axis, Axis>
  using Engine = machine::ScalarEngine<Acc, rows, columns, kDepth, threads_m, threads_n, 16, Step>;
  static constexpr int kStageBytes =
      kDepth * (rows * int(sizeof(Acc)) + columns * int(sizeof(Acc)) + 32);
  static constexpr int kSumBytes = rows * kPitch * int(sizeof(Acc));
  static constexpr int kSharedBytes =
      stages * kStageBytes > kSumBytes ? stages* kStageBytes : kSumBytes;
};

// The first place from `shared` on that contract_tile may use.
INTENT_DEVICE char* contract_shared_from(char* shared) {
  return shared + (1024 - machine::shared_address(shared) % 1024) % 1024;
}

// A store of value(row, column, sum) at base + row * row_stride + column * column_stride; whole
// lines of 16 bytes where they lie so. All values of a line are computed before one is stored.
template <class T, class F>
struct PlacedSums {
  static constexpr int kWidth = sizeof(T) == 1 ? 8 : 16 / int(sizeof(T));

  T* base;
  i64 row_stride, column_stride;
  F value;

  template <int n, class Acc>
  INTENT_DEVICE void put(i64 row, i64 column, int valid, const Acc (&sums)[n]) const {
    struct alignas(n * sizeof(T)) Line {
      T x[n];
    };
    T* const to = base + row * row_stride + column * column_stride;
    Line line;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i < valid) line.x[i] = value(row, column + i, sums[i]);
    }
    if (valid == n && column_stride == 1 && u64(to) % sizeof(Line) == 0) {
      *reinterpret_cast<Line*>(to) = line;
      return;
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i < valid) to[i * column_stride] = line.x[i];
    }
  }
};
template <class T, class F>
INTENT_DEVICE PlacedSums<T, F> placed_sums(T* base, i64 row_stride, i64 column_stride,
                                           const F& value) {
  return {base, row_stride, column_stride, value};
}

// The order in which a kernel walks over the tiles of a result: groups of rows of tiles, column by
// column, so that tiles in work at one time share operands in L2.
struct TilePlace {
  i64 row, column;
};
class TileWalk {
 public:
  INTENT_DEVICE TileWalk(i64 rows, i64 columns, int tile_rows, int tile_columns)
      : tall_((rows + tile_rows - 1) / tile_rows),
        wide_((columns + tile_columns - 1) / tile_columns),
        tile_rows_(tile_rows),
        tile_columns_(tile_columns) {}

  INTENT_DEVICE i64 tiles() const { return tall_ * wide_; }
  INTENT_DEVICE TilePlace at(i64 tile) const {
    const i64 first = tile / (kGroup * wide_) * kGroup;
    const i64 group = tall_ - first < kGroup ? tall_ - first : i64(kGroup);
    const i64 within = tile - first * wide_;
    return {(first + within % group) * tile_rows_, within / group * tile_columns_};
  }

 private:
  enum : int { kGroup = 8 };  // a member variable would lie in every module
  const i64 tall_, wide_;
  const int tile_rows_, tile_columns_;
};

template <class Config, class A, class B, class Store>
INTENT_DEVICE void contract_tile(i64 rows, i64 columns, i64 depth, i64 row, i64 column, const A& a,
                                 const B& b, const Store& store, char* shared) {
  typedef typename Config::Acc Acc;
  typedef typename Config::template Engine<A::kFast, B::kFast> Engine;
  typedef typename Engine::LeftTile LeftTile;
  typedef typename Engine::RightTile RightTile;
  constexpr int kStages = Config::kStages, kDepth = Config::kDepth;
  static_assert(LeftTile::kBytes + RightTile::kBytes == Config::kStageBytes, "sizes disagree");

  machine::Filler<LeftTile, Engine::kLeftAlong, Config::kRows, kDepth, Config::kThreads, A> left(
      a, rows, depth, row);
  machine::Filler<RightTile, Engine::kRightAlong, Config::kColumns, kDepth, Config::kThreads, B>
      right(b, columns, depth, column);
  Acc total[Engine::SumsOf::kTotals];
  Engine engine;
  engine.clear(total);

  // While a step multiplies, what comes kStages - 1 steps later is on its way.
  const auto begin = [&](i64 inner, int slot) {
    char* const tile = shared + slot * Config::kStageBytes;
    if (inner < depth) {
      left.begin(inner, tile);
      right.begin(inner, tile + LeftTile::kBytes);
    }
    machine::copies_end_group();
  };
  const auto finish = [&](i64 inner, int slot) {
    char* const tile = shared + slot * Config::kStageBytes;
    if (inner < depth) {
      left.finish(inner, tile);
      right.finish(inner, tile + LeftTile::kBytes);
    }
  };
  i64 next = 0;
#pragma unroll 1
  for (int slot = 0; slot < kStages - 1; ++slot, next += kDepth) {
    begin(next, slot);
    finish(next, slot);
  }
  int slot = 0, free = kStages - 1;
#pragma unroll 1
  for (i64 inner = 0; inner < depth; inner += kDepth, next += kDepth) {
    machine::wait_copies<kStages - 2>();
    if constexpr (Engine::kAsync) machine::fence_async_proxy();
    __syncthreads();
    const char* const tile = shared + slot * Config::kStageBytes;
    engine.start(tile, tile + LeftTile::kBytes);
    begin(next, free);
    engine.finish(tile, tile + LeftTile::kBytes);
    finish(next, free);
    free = slot;
    if (++slot == kStages) slot = 0;
  }
  engine.end();

  // Through shared memory, so that neighbouring threads hand out neighbouring columns.
  machine::wait_copies<0>();
  __syncthreads();
  Acc* const sums = reinterpret_cast<Acc*>(shared);
  engine.spill(sums, Config::kPitch);
  __syncthreads();
  constexpr int kWidth = Store::kWidth, kPerRow = Config::kColumns / kWidth;
#pragma unroll 1
  for (int i = int(threadIdx.x); i < Config::kRows * kPerRow; i += Config::kThreads) {
    const int r = i / kPerRow, c = i % kPerRow * kWidth;
    const int valid = machine::clamp_to(columns - column - c, kWidth);
    if (row + r >= rows || valid == 0) continue;
    alignas(16) Acc x[kWidth];
    const Acc* const from = sums + r * Config::kPitch + c;
    if constexpr (kWidth * sizeof(Acc) % 16 == 0) {
      typedef machine::Piece<Acc> Piece;
#pragma unroll
      for (int e = 0; e < kWidth; e += int(16 / sizeof(Acc)))
        reinterpret_cast<Piece&>(x[e]) = reinterpret_cast<const Piece&>(from[e]);
    } else {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) x[e] = from[e];
    }
    store.template put<kWidth>(row + r, column + c, valid, x);
  }
  __syncthreads();
}

}  // namespace intent
