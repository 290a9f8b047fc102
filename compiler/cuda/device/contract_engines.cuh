#pragma once

// What multiplies tiles that lie in shared memory and keeps the sums of a block in registers. An
// engine has
//
//   LeftTile, RightTile, kLeftAlong, kRightAlong   how it wants its operands
//   SumsOf, clear(total), end()                    the sums
//   start(left, right), finish(left, right)        a step, which adds a tile's products; what is
//                                                  asynchronous starts first
//   spill(sums, pitch)                             writes them to shared memory, row by row
//   kAsync                                         whether the matrix unit reads tiles by itself
//
// Engines are for a block of warps_m * warps_n warps, numbered from 0 by threadIdx.x / 32.

#include "intent/contract_fill.cuh"
#include "intent/contract_sums.cuh"

namespace intent::machine {

// Fragments of 16 x 8 sums, `tall` by `wide` of them, to memory.
template <int tall, int wide, class Acc>
INTENT_DEVICE void spill_fragments(const Acc* sums, Acc* out, int pitch) {
  const int g = int(threadIdx.x) % 32 >> 2, t = int(threadIdx.x) & 3;
#pragma unroll
  for (int i = 0; i < tall; ++i) {
#pragma unroll
    for (int j = 0; j < wide; ++j) {
      const Acc* const c = &sums[(i * wide + j) * 4];
      Acc* const to = out + (i * 16 + g) * pitch + j * 8 + 2 * t;
      to[0] = c[0];
      to[1] = c[1];
      to[8 * pitch] = c[2];
      to[8 * pitch + 1] = c[3];
    }
  }
}

// The place of this thread's warp in the tile of a block, and of its lane in fragments.
template <int warp_rows, int warp_columns, int warps_n>
struct WarpPlace {
  const int lane = int(threadIdx.x) & 31;
  const int row = int(threadIdx.x) / 32 / warps_n * warp_rows;
  const int column = int(threadIdx.x) / 32 % warps_n * warp_columns;
  const int g = lane >> 2, t = lane & 3;
};

// Matrix instructions on elements of 1 or 2 bytes. Elements of 2 bytes lie in whichever way the
// operand is contiguous, for ldmatrix turns them; bytes always along the inner axis.
template <class L, class R, class Acc, int rows, int columns, int depth, int warps_m, int warps_n,
          int block, Axis left_fast, Axis right_fast>
struct MatrixEngine {
  static_assert(sizeof(L) == sizeof(R), "elements of one size");
  static constexpr bool kAsync = false;
  static constexpr int kSize = int(sizeof(L));
  static constexpr Axis kLeftAlong = kSize == 2 ? left_fast : Axis::kInner;
  static constexpr Axis kRightAlong = kSize == 2 ? right_fast : Axis::kInner;
  static constexpr bool kLeftTurns = kLeftAlong == Axis::kOwn;
  static constexpr bool kRightTurns = kRightAlong == Axis::kOwn;
  typedef SwizzledTile<L, kLeftTurns ? depth : rows, kLeftTurns ? rows : depth, 1> LeftTile;
  typedef SwizzledTile<R, kRightTurns ? depth : columns, kRightTurns ? columns : depth, 1>
      RightTile;

  static constexpr int kWarpRows = rows / warps_m, kWarpColumns = columns / warps_n;
  static constexpr int kTall = kWarpRows / 16, kWide = kWarpColumns / 8;
  static constexpr int kSteps = depth * kSize / 32;
  static constexpr int kPiece = 16 / kSize;  // elements
  static_assert(kTall * 16 == kWarpRows && kWide % 2 == 0 && kWide * 8 == kWarpColumns,
                "a warp's tile is whole fragments");
  typedef Sums<Acc, kTall * kWide * 4, block> SumsOf;

  INTENT_DEVICE MatrixEngine() {
    // Four matrices of 8 x 8: two along the lines by two across.
    const int l = place_.lane;
    const int across = l & 15, next = l >> 4;
    const int upper = (l & 7) + ((l >> 4) << 3), side = (l >> 3) & 1;
    left_ = kLeftTurns ? LeftTile::at(upper, place_.row + side * kPiece)
                       : LeftTile::at(place_.row + across, next * kPiece);
    right_ = kRightTurns ? RightTile::at(across, place_.column + next * kPiece)
                         : RightTile::at(place_.column + upper, side * kPiece);
  }

  INTENT_DEVICE void clear(Acc* total) { sums_.clear(total); }
  INTENT_DEVICE void start(const char*, const char*) {}
  INTENT_DEVICE void finish(const char* left_tile, const char* right_tile) {
    const u32 left_base = shared_address(left_tile), right_base = shared_address(right_tile);
    sums_.begin_step();
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      u32 a[kTall][4], b[kWide / 2][4];
#pragma unroll
      for (int i = 0; i < kTall; ++i) {
        load_matrices<kLeftTurns>(
            a[i], left_base + (kLeftTurns ? k * 16 * LeftTile::kLineBytes + (left_ ^ (i << 5))
                                          : i * 16 * LeftTile::kLineBytes + (left_ ^ (k << 5))));
      }
#pragma unroll
      for (int j = 0; j < kWide / 2; ++j) {
        load_matrices<kRightTurns>(
            b[j],
            right_base + (kRightTurns ? k * 16 * RightTile::kLineBytes + (right_ ^ (j << 5))
                                      : j * 16 * RightTile::kLineBytes + (right_ ^ (k << 5))));
      }
#pragma unroll
      for (int i = 0; i < kTall; ++i) {
#pragma unroll
        for (int j = 0; j < kWide; ++j) {
          Acc* c = &sums_.run[(i * kWide + j) * 4];
          mma(L{}, R{}, c[0], c[1], c[2], c[3], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    sums_.end_step();
  }
  INTENT_DEVICE void end() { sums_.end(); }
  INTENT_DEVICE void spill(Acc* out, int pitch) const {
    spill_fragments<kTall, kWide>(sums_.run, out + place_.row * pitch + place_.column, pitch);
  }

 private:
  const WarpPlace<kWarpRows, kWarpColumns, warps_n> place_;
  u32 left_, right_;
  SumsOf sums_;
};

// Matrix instructions on f64.
template <int rows, int columns, int depth, int warps_m, int warps_n, int block, Axis left_fast,
          Axis right_fast>
struct DoubleEngine {
  static constexpr bool kAsync = false;
  static constexpr Axis kLeftAlong = left_fast, kRightAlong = right_fast;
  static constexpr bool kLeftTurns = left_fast == Axis::kOwn;
  static constexpr bool kRightTurns = right_fast == Axis::kOwn;
  typedef SwizzledTile<double, kLeftTurns ? depth : rows, kLeftTurns ? rows : depth, 2> LeftTile;
  typedef SwizzledTile<double, kRightTurns ? depth : columns, kRightTurns ? columns : depth, 2>
      RightTile;

  static constexpr int kWarpRows = rows / warps_m, kWarpColumns = columns / warps_n;
  static constexpr int kTall = kWarpRows / 16, kWide = kWarpColumns / 8;
  static_assert(kTall * 16 == kWarpRows && kWide * 8 == kWarpColumns, "whole fragments");
  static_assert(depth == 16, "lines of 128 bytes along the inner axis");
  typedef Sums<double, kTall * kWide * 4, block> SumsOf;

  INTENT_DEVICE DoubleEngine() {
    left_ = kLeftTurns ? LeftTile::at(place_.t, place_.row + place_.g)
                       : LeftTile::at(place_.row + place_.g, place_.t);
    right_ = kRightTurns ? RightTile::at(place_.t, place_.column + place_.g)
                         : RightTile::at(place_.column + place_.g, place_.t);
  }

  INTENT_DEVICE void clear(double* total) { sums_.clear(total); }
  INTENT_DEVICE void start(const char*, const char*) {}
  INTENT_DEVICE void finish(const char* left_tile, const char* right_tile) {
    const u32 left_base = shared_address(left_tile), right_base = shared_address(right_tile);
    sums_.begin_step();
#pragma unroll
    for (int k = 0; k < depth / 8; ++k) {
      double a[kTall][4], b[kWide][2];
#pragma unroll
      for (int i = 0; i < kTall; ++i) {
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          a[i][part] = load_shared_f64(
              left_base + at<LeftTile, kLeftTurns>(left_, 2 * i + part % 2, 2 * k + part / 2));
        }
      }
#pragma unroll
      for (int j = 0; j < kWide; ++j) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          b[j][part] =
              load_shared_f64(right_base + at<RightTile, kRightTurns>(right_, j, 2 * k + part));
        }
      }
#pragma unroll
      for (int i = 0; i < kTall; ++i) {
#pragma unroll
        for (int j = 0; j < kWide; ++j) {
          double* c = &sums_.run[(i * kWide + j) * 4];
          mma(c[0], c[1], c[2], c[3], a[i], b[j][0], b[j][1]);
        }
      }
    }
    sums_.end_step();
  }
  INTENT_DEVICE void end() { sums_.end(); }
  INTENT_DEVICE void spill(double* out, int pitch) const {
    spill_fragments<kTall, kWide>(sums_.run, out + place_.row * pitch + place_.column, pitch);
  }

 private:
  // From the element (g, t), `own8` times 8 along the own axis and `inner4` times 4 along the
  // inner.
  template <class Tile, bool turns>
  static INTENT_DEVICE u32 at(u32 first, int own8, int inner4) {
    return turns ? inner4 * 4 * Tile::kLineBytes + (first ^ u32(own8 << 6))
                 : own8 * 8 * Tile::kLineBytes + (first ^ u32(inner4 << 5));
  }

  const WarpPlace<kWarpRows, kWarpColumns, warps_n> place_;
  u32 left_, right_;
  SumsOf sums_;
};

// What a product adds to a sum. Floats fuse, as chapters 5.3 and 5.4 of seed 000 permit in a
// contraction; integers wrap.
template <class Acc>
struct MultiplyAdd {
  static INTENT_DEVICE Acc apply(Acc sum, Acc a, Acc b) {
    if constexpr (kSame<Acc, float>) {
      return __fmaf_rn(a, b, sum);
    } else if constexpr (kSame<Acc, double>) {
      return __fma_rn(a, b, sum);
    } else {
      typedef unsigned long long Wide;
      return Acc(Wide(sum) + Wide(a) * Wide(b));
    }
  }
};

// Scalar arithmetic on registers: threads_m x threads_n threads, each with groups of neighbouring
// rows and columns, 16 bytes a group, spread evenly over the tile. For accumulators of 4 or 8
// bytes.
template <class Acc, int rows, int columns, int depth, int threads_m, int threads_n, int block,
          class Step>
struct ScalarEngine {
  static constexpr bool kAsync = false;
  static constexpr Axis kLeftAlong = Axis::kOwn, kRightAlong = Axis::kOwn;
  typedef PaddedTile<Acc, depth, rows> LeftTile;
  typedef PaddedTile<Acc, depth, columns> RightTile;
  static constexpr int kGroup = 16 / int(sizeof(Acc));
  static constexpr int kTall = rows / threads_m, kWide = columns / threads_n;
  static_assert(kTall % kGroup == 0 && kWide % kGroup == 0, "whole groups");
  typedef Sums<Acc, kTall * kWide, block> SumsOf;

  INTENT_DEVICE void clear(Acc* total) { sums_.clear(total); }
  INTENT_DEVICE void start(const char*, const char*) {}
  INTENT_DEVICE void finish(const char* left_tile, const char* right_tile) {
    sums_.begin_step();
#pragma unroll 2
    for (int k = 0; k < depth; ++k) {
      Acc a[kTall], b[kWide];
      load<LeftTile, rows / (kTall / kGroup), kTall>(left_tile, k, row_, a);
      load<RightTile, columns / (kWide / kGroup), kWide>(right_tile, k, column_, b);
#pragma unroll
      for (int i = 0; i < kTall; ++i) {
#pragma unroll
        for (int j = 0; j < kWide; ++j) {
          Acc& sum = sums_.run[i * kWide + j];
          sum = Step::apply(sum, a[i], b[j]);
        }
      }
    }
    sums_.end_step();
  }
  INTENT_DEVICE void end() { sums_.end(); }
  INTENT_DEVICE void spill(Acc* out, int pitch) const {
#pragma unroll
    for (int i = 0; i < kTall; ++i) {
      const int row = row_ + i / kGroup * (rows / (kTall / kGroup)) + i % kGroup;
#pragma unroll
      for (int j = 0; j < kWide; j += kGroup) {
        Piece<Acc> piece;
#pragma unroll
        for (int e = 0; e < kGroup; ++e) piece.x[e] = sums_.run[i * kWide + j + e];
        const int column = column_ + j / kGroup * (columns / (kWide / kGroup));
        *reinterpret_cast<Piece<Acc>*>(out + row * pitch + column) = piece;
      }
    }
  }

 private:
  template <class Tile, int spacing, int n>
  static INTENT_DEVICE void load(const char* tile, int k, int first, Acc (&x)[n]) {
#pragma unroll
    for (int i = 0; i < n; i += kGroup) {
      const Piece<Acc> piece =
          *reinterpret_cast<const Piece<Acc>*>(tile + Tile::at(k, first + i / kGroup * spacing));
#pragma unroll
      for (int e = 0; e < kGroup; ++e) x[i + e] = piece.x[e];
    }
  }

  // In a warp 4 x 8 threads, so that its loads repeat few addresses.
  static constexpr int kAcross = threads_n < 8 ? threads_n : 8, kDown = 32 / kAcross;
  static_assert(threads_m % kDown == 0 && threads_n % kAcross == 0, "whole warps");
  const int warp_ = int(threadIdx.x) / 32, lane_ = int(threadIdx.x) % 32;
  const int row_ = (warp_ / (threads_n / kAcross) * kDown + lane_ / kAcross) * kGroup;
  const int column_ = (warp_ % (threads_n / kAcross) * kAcross + lane_ % kAcross) * kGroup;
  SumsOf sums_;
};

}  // namespace intent::machine
