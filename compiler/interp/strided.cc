#include "compiler/interp/strided.h"

#include <algorithm>
#include <cstring>

#include "compiler/diag/check.h"

namespace intent::interp {
namespace {

struct Axis {
  int64_t extent;
  int64_t source_stride, target_stride;
};

// Drops axes of one element and joins neighbours that both arrays step through evenly.
std::vector<Axis> Simplify(std::span<const int64_t> extents, std::span<const int64_t> source,
                           std::span<const int64_t> target) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    const Axis axis{extents[i], source[i], target[i]};
    if (!axes.empty() && axes.back().source_stride == axis.source_stride * axis.extent &&
        axes.back().target_stride == axis.target_stride * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.source_stride, axis.target_stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// The two innermost axes, in tiles, so that a transpose touches each cache line a few times only.
template <size_t kBytes>
void CopyPlane(const Axis& outer, const Axis& inner, const std::byte* source, std::byte* target) {
  constexpr int64_t kTile = 64;
  constexpr int64_t kSize = kBytes;
  if (inner.source_stride == 1 && inner.target_stride == 1) {
    for (int64_t i = 0; i < outer.extent; ++i) {
      std::memcpy(target + i * outer.target_stride * kSize,
                  source + i * outer.source_stride * kSize,
                  static_cast<size_t>(inner.extent) * kBytes);
    }
    return;
  }
  for (int64_t i0 = 0; i0 < outer.extent; i0 += kTile) {
    const int64_t i1 = std::min(outer.extent, i0 + kTile);
    for (int64_t j0 = 0; j0 < inner.extent; j0 += kTile) {
      const int64_t j1 = std::min(inner.extent, j0 + kTile);
      for (int64_t i = i0; i < i1; ++i) {
        const std::byte* from = source + i * outer.source_stride * kSize;
        std::byte* to = target + i * outer.target_stride * kSize;
        for (int64_t j = j0; j < j1; ++j) {
          std::memcpy(to + j * inner.target_stride * kSize, from + j * inner.source_stride * kSize,
                      kBytes);
        }
      }
    }
  }
}

template <size_t kBytes>
void Copy(const std::vector<Axis>& axes, const std::byte* source, std::byte* target) {
  const Axis single{1, 0, 0};
  const size_t rank = axes.size();
  const Axis& inner = rank >= 1 ? axes[rank - 1] : single;
  const Axis& outer = rank >= 2 ? axes[rank - 2] : single;
  const size_t rest = rank >= 2 ? rank - 2 : 0;
  std::vector<int64_t> position(rest, 0);
  while (true) {
    CopyPlane<kBytes>(outer, inner, source, target);
    size_t axis = rest;
    while (axis > 0) {
      --axis;
      source += axes[axis].source_stride * static_cast<int64_t>(kBytes);
      target += axes[axis].target_stride * static_cast<int64_t>(kBytes);
      if (++position[axis] < axes[axis].extent) break;
      position[axis] = 0;
      source -= axes[axis].extent * axes[axis].source_stride * static_cast<int64_t>(kBytes);
      target -= axes[axis].extent * axes[axis].target_stride * static_cast<int64_t>(kBytes);
      if (axis == 0) return;
    }
    if (rest == 0) return;
  }
}

}  // namespace

std::vector<int64_t> DenseStrides(std::span<const int64_t> extents) {
  std::vector<int64_t> strides(extents.size());
  // Unsigned: beside an extent of zero the others may be of any size.
  uint64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(extents[i]);
  }
  return strides;
}

int64_t CountOf(std::span<const int64_t> extents) {
  uint64_t count = 1;
  for (int64_t extent : extents) count *= static_cast<uint64_t>(extent);
  return static_cast<int64_t>(count);
}

void CopyStrided(int64_t element_bytes, std::span<const int64_t> extents, const std::byte* source,
                 std::span<const int64_t> source_strides, std::byte* target,
                 std::span<const int64_t> target_strides) {
  for (int64_t extent : extents) {
    if (extent == 0) return;
  }
  const std::vector<Axis> axes = Simplify(extents, source_strides, target_strides);
  switch (element_bytes) {
    case 1:
      return Copy<1>(axes, source, target);
    case 2:
      return Copy<2>(axes, source, target);
    case 4:
      return Copy<4>(axes, source, target);
    case 8:
      return Copy<8>(axes, source, target);
    case 16:
      return Copy<16>(axes, source, target);
    default:
      INTENT_UNREACHABLE() << element_bytes;
  }
}

}  // namespace intent::interp
