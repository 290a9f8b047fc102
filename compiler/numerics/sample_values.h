#pragma once

// Test support: values of every dtype on which arithmetic is tried.

#include <cstdint>
#include <vector>

#include "compiler/ir/op_attributes.h"

namespace intent::numerics {

using Scalars = std::vector<ScalarValue>;

// Edges of the dtype, then random bits: at least 96 values.
Scalars InterestingValues(DType dtype, uint64_t seed);
// One value of random bits.
ScalarValue RandomValue(DType dtype, uint64_t high, uint64_t low);
// Integers at, just below and just above the midpoints of the floating formats, both signs.
void AddHalfways(DType dtype, Scalars* values);
// Every code of a dtype of at most 16 bits.
Scalars EveryCode(DType dtype);
// What casts are tried on: every code of at most 16 bits; for others the neighbourhood of every
// boundary of every destination, and random bits.
Scalars CastSources(DType dtype);

// Elements as they lie in memory, one after the other. Not empty.
std::vector<uint8_t> Stored(const Scalars& values);

// Every pair of the interesting values, and a third beside each.
struct Pairs {
  Scalars xs, ys, zs;
  explicit Pairs(DType dtype);
};

}  // namespace intent::numerics
