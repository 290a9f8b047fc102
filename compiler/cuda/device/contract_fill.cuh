#pragma once

// From operands to tiles in shared memory. A tile consists of lines, along whichever axis its
// readers want contiguous; it is filled for one step of the inner axis at a time, in one of three
// ways:
//
//   by asynchronous copies of 16 bytes, where the operand allows and the axes agree;
//   by asynchronous copies of elements of 4 or 8 bytes, whatever the strides, where axes agree;
//   through registers: fetched before the products of an earlier step, stored after them, or at
//   once where elements of 1 or 2 bytes are direct and only their place is in the way.
//
// What lies outside of the operand is zero.

#include "intent/contract_operand.cuh"

namespace intent::machine {

// Lines of `extent` elements without gaps, whose pieces of 16 bytes are permuted so that readers of
// the same piece of eight neighbouring lines meet eight different banks. twist is 1 for ldmatrix, 2
// for readers of 8 bytes, which go through four lines at a time.
template <class E, int lines, int extent, int twist>
struct SwizzledTile {
  static constexpr int kLineBytes = extent * int(sizeof(E));
  static constexpr int kPieces = kLineBytes / 16;
  static constexpr int kMask = (kPieces < 8 ? kPieces : 8) - 1;
  static constexpr int kLinesPerRow = kLineBytes < 128 ? 128 / kLineBytes : 1;
  static constexpr int kBytes = lines * kLineBytes;
  static_assert((kPieces & (kPieces - 1)) == 0 && kPieces > 0, "not a power of two");

  static INTENT_DEVICE u32 at(int line, int element) {
    const int byte = element * int(sizeof(E));
    const int piece = (byte >> 4) ^ ((line / kLinesPerRow * twist) & kMask);
    return u32(line * kLineBytes + (piece << 4) + (byte & 15));
  }
};

// Lines with a gap behind each, for readers of whole lines: what is stored across lines meets other
// banks.
template <class E, int lines, int extent>
struct PaddedTile {
  static constexpr int kPitch = extent + 16 / int(sizeof(E));
  static constexpr int kBytes = lines * kPitch * int(sizeof(E));

  static INTENT_DEVICE u32 at(int line, int element) {
    return u32((line * kPitch + element) * int(sizeof(E)));
  }
};

INTENT_DEVICE int clamp_to(i64 x, int most) { return x < 0 ? 0 : x > most ? most : int(x); }

template <class E>
struct alignas(16) Piece {
  E x[16 / sizeof(E)];
};

// Fills tiles of own_extent x inner_extent with lines along `along`.
template <class Tile, Axis along, int own_extent, int inner_extent, int threads, class Operand>
struct Filler {
  typedef typename Operand::Element E;
  static constexpr int kSize = int(sizeof(E));
  static constexpr int kVector = 16 / kSize;
  static constexpr bool kInnerFast = Operand::kFast == Axis::kInner;
  static constexpr bool kSameAxis = Operand::kFast == along;
  // The operand's lines: along its fast axis.
  static constexpr int kExtent = kInnerFast ? inner_extent : own_extent;
  static constexpr int kLines = kInnerFast ? own_extent : inner_extent;
  // Bytes that must turn are fetched as patches of 4 lines by 16.
  static constexpr bool kPatches = kSize == 1 && !kSameAxis;
  static constexpr bool kHolds = !Operand::kDirect || !kSameAxis;
  static constexpr int kPieces = kLines * kExtent / kVector;
  static constexpr int kPiecesPerLine = kExtent / kVector;
  static constexpr int kEach = (kPieces + threads - 1) / threads;
  static constexpr int kPatchCount = kPieces / 4;
  static constexpr int kPatchesEach = (kPatchCount + threads - 1) / threads;
  static constexpr int kHeld = !kHolds ? 1 : kPatches ? 4 * kPatchesEach : kEach;
  // Whether a thread's pieces lie at one position of lines at equal distances.
  static constexpr bool kEqualDistances = threads % kPiecesPerLine == 0;
  static_assert(kExtent % kVector == 0, "a line is not whole pieces");
  static_assert(!kPatches || (kInnerFast == false && kLines % 64 == 0), "patches do not fit");

  INTENT_DEVICE Filler(const Operand& operand, i64 own_limit, i64 inner_limit, i64 own0)
      : operand_(operand), inner_limit_(inner_limit), own0_(own0) {
    own_left_ = clamp_to(own_limit - own0, own_extent);
    if constexpr (Operand::kDirect && kSameAxis) {
      in_chunks_ = operand.in_chunks();
      const int line = int(threadIdx.x) / kPiecesPerLine;
      const int position = int(threadIdx.x) % kPiecesPerLine * kVector;
      from_ = reinterpret_cast<const char*>(
          operand.at(own_of(line, position), inner_of(0, line, position)));
      pace_ = threads / kPiecesPerLine * operand.line_stride() * kSize;
    }
  }

  // Before the products: starts what takes long. Steps come in order.
  INTENT_DEVICE void begin(i64 inner0, char* tile) {
    const int inner_left = clamp_to(inner_limit_ - inner0, inner_extent);
    if constexpr (Operand::kDirect && kSameAxis) {
      if (in_chunks_) return copy_pieces(inner0, inner_left, tile);
    }
    if constexpr (Operand::kDirect && kSameAxis && kSize >= 4) {
      copy_elements(inner0, inner_left, tile);
    } else if constexpr (kPatches) {
#pragma unroll
      for (int i = 0; i < kPatchesEach; ++i) {
        const int patch = int(threadIdx.x) + i * threads;
#pragma unroll
        for (int line = 0; line < 4; ++line) {
          fetch(patch_line(patch) + line, patch_position(patch), inner0, inner_left,
                held_[4 * i + line]);
        }
      }
    } else if constexpr (kHolds) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int piece = int(threadIdx.x) + i * threads;
        fetch(piece / kPiecesPerLine, piece % kPiecesPerLine * kVector, inner0, inner_left,
              held_[i]);
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < kEach; ++i) {
        const int piece = int(threadIdx.x) + i * threads;
        const int line = piece / kPiecesPerLine, position = piece % kPiecesPerLine * kVector;
        Held one;
        fetch(line, position, inner0, inner_left, one);
        store(line, position, inner_left, one, tile);
      }
    }
  }

  // After the products: what came through registers goes into the tile.
  INTENT_DEVICE void finish(i64 inner0, char* tile) {
    const int inner_left = clamp_to(inner_limit_ - inner0, inner_extent);
    if constexpr (kPatches) {
#pragma unroll
      for (int i = 0; i < kPatchesEach; ++i) {
        store_patch(int(threadIdx.x) + i * threads, inner_left, i, tile);
      }
    } else if constexpr (kHolds) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int piece = int(threadIdx.x) + i * threads;
        store(piece / kPiecesPerLine, piece % kPiecesPerLine * kVector, inner_left, held_[i], tile);
      }
    }
  }

 private:
  typedef typename Operand::template Fetched<kVector> Held;

  static INTENT_DEVICE u32 place(int own, int inner) {
    return along == Axis::kInner ? Tile::at(own, inner) : Tile::at(inner, own);
  }
  // How many of `most` elements from `position` of a line exist.
  INTENT_DEVICE int valid(int line, int position, int inner_left, int most) const {
    const int lines_left = kInnerFast ? own_left_ : inner_left;
    const int left = (kInnerFast ? inner_left : own_left_) - position;
    return line < lines_left ? (left < 0 ? 0 : left > most ? most : left) : 0;
  }
  INTENT_DEVICE i64 own_of(int line, int position) const {
    return own0_ + (kInnerFast ? line : position);
  }
  static INTENT_DEVICE i64 inner_of(i64 inner0, int line, int position) {
    return inner0 + (kInnerFast ? position : line);
  }

  INTENT_DEVICE void copy_pieces(i64 inner0, int inner_left, char* tile) {
    const u32 to = shared_address(tile);
    if constexpr (kEqualDistances) {
      const int first = int(threadIdx.x) / kPiecesPerLine;
      const int position = int(threadIdx.x) % kPiecesPerLine * kVector;
      const int lines_left = kInnerFast ? own_left_ : inner_left;
      const int left = (kInnerFast ? inner_left : own_left_) - position;
      const int bytes = (left < 0 ? 0 : left > kVector ? kVector : left) * kSize;
      const char* from = from_;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int line = first + i * (threads / kPiecesPerLine);
        if (kPieces % threads != 0 && line >= kLines) break;
        copy_async<16>(to + Tile::at(line, position), from, line < lines_left ? bytes : 0);
        from += pace_;
      }
      from_ += inner_extent * operand_.inner_stride * kSize;
    } else {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int piece = int(threadIdx.x) + i * threads;
        const int line = piece / kPiecesPerLine, position = piece % kPiecesPerLine * kVector;
        if (kPieces % threads != 0 && piece >= kPieces) break;
        copy_async<16>(to + Tile::at(line, position),
                       operand_.at(own_of(line, position), inner_of(inner0, line, position)),
                       valid(line, position, inner_left, kVector) * kSize);
      }
    }
  }
  INTENT_DEVICE void copy_elements(i64 inner0, int inner_left, char* tile) {
    const u32 to = shared_address(tile);
#pragma unroll 4
    for (int element = int(threadIdx.x); element < kLines * kExtent; element += threads) {
      const int line = element / kExtent, position = element % kExtent;
      const bool exists = valid(line, position, inner_left, 1) != 0;
      const E* from = exists ? operand_.at(own_of(line, position), inner_of(inner0, line, position))
                             : operand_.base;
      const u32 at = kInnerFast ? place(line, position) : place(position, line);
      copy_async < kSize<4 ? 4 : kSize>(to + at, from, exists ? kSize : 0);
    }
  }
  INTENT_DEVICE void fetch(int line, int position, i64 inner0, int inner_left, Held& out) const {
    const int elements = valid(line, position, inner_left, kVector);
    if (elements > 0) {
      operand_.template fetch<kVector>(own_of(line, position), inner_of(inner0, line, position),
                                       elements, out);
    }
  }
  INTENT_DEVICE Piece<E> finished(int line, int position, int inner_left, const Held& in) const {
    Piece<E> piece;
    const int elements = valid(line, position, inner_left, kVector);
    operand_.template finish<kVector>(in, elements, piece.x);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i >= elements) piece.x[i] = E{};
    }
    return piece;
  }
  INTENT_DEVICE void store(int line, int position, int inner_left, const Held& in, char* tile) {
    if (kPieces % threads != 0 && line >= kLines) return;
    const Piece<E> piece = finished(line, position, inner_left, in);
    if constexpr (kSameAxis) {
      *reinterpret_cast<Piece<E>*>(tile + Tile::at(line, position)) = piece;
    } else {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const u32 at = kInnerFast ? place(line, position + i) : place(position + i, line);
        *reinterpret_cast<E*>(tile + at) = piece.x[i];
      }
    }
  }

  // Patches: 16 neighbouring ones follow each other along the inner axis, so that a store of a warp
  // fills halves of two lines.
  static INTENT_DEVICE int patch_line(int patch) {
    return 4 * ((patch & 15) + 16 * (patch / kExtent));
  }
  static INTENT_DEVICE int patch_position(int patch) { return patch % kExtent / 16 * 16; }
  INTENT_DEVICE void store_patch(int patch, int inner_left, int first, char* tile) {
    if (kPatchCount % threads != 0 && patch >= kPatchCount) return;
    const int line = patch_line(patch), position = patch_position(patch);
    const u32 to = shared_address(tile);
    Piece<E> piece[4];
    Chunk chunk[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      piece[i] = finished(line + i, position, inner_left, held_[4 * first + i]);
      chunk[i] = reinterpret_cast<const Chunk&>(piece[i]);
    }
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      // Four lines by four columns of bytes, turned.
      const u32 low0 = permute(chunk[0].word[word], chunk[1].word[word], 0x5140);
      const u32 low1 = permute(chunk[2].word[word], chunk[3].word[word], 0x5140);
      const u32 high0 = permute(chunk[0].word[word], chunk[1].word[word], 0x7362);
      const u32 high1 = permute(chunk[2].word[word], chunk[3].word[word], 0x7362);
      const int own = position + 4 * word;
      store_shared_word(to + place(own, line), permute(low0, low1, 0x5410));
      store_shared_word(to + place(own + 1, line), permute(low0, low1, 0x7632));
      store_shared_word(to + place(own + 2, line), permute(high0, high1, 0x5410));
      store_shared_word(to + place(own + 3, line), permute(high0, high1, 0x7632));
    }
  }

  const Operand& operand_;
  const i64 inner_limit_, own0_;
  int own_left_;
  bool in_chunks_ = false;
  // Of pieces at equal distances: this thread's first one of the next step, and how far the next
  // is.
  const char* from_ = nullptr;
  i64 pace_ = 0;
  Held held_[kHeld];
};

}  // namespace intent::machine
