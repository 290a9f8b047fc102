#pragma once

// Loads and stores of lanes. A masked-out lane touches no memory on any target; accesses are
// aligned to their element only. A bool in memory is a byte: read as != 0, written as 0 or 1.

#include "compiler/cpu/lanes.h"

namespace intent::cpu {

// Lane l of an access lies at base[offset + l * stride], counted in elements. The stride is
// `dynamic_stride` if set. A null mask means every lane.
struct StridedAccess {
  DType dtype;
  int lanes;
  V base;
  V offset;
  int64_t stride;
  V dynamic_stride;
  V mask;
};

// Masked lanes give `fill` (a value of the access's lanes), or zero if that is null.
V LoadStrided(const Lanes& l, const StridedAccess& access, V fill);
void StoreStrided(const Lanes& l, const StridedAccess& access, V value);

// Lane l at base[offsets[l]]. Scatters of equal offsets leave the highest lane.
V Gather(const Lanes& l, DType dtype, V base, V offsets, V mask, V fill);
void Scatter(const Lanes& l, DType dtype, V base, V offsets, V value, V mask);

}  // namespace intent::cpu
