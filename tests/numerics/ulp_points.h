#pragma once

// Arguments on which floating functions are measured.

#include <cstddef>

#include "compiler/numerics/sample_values.h"

namespace intent::numerics {

// About `count` values of f32 or f64: special values; neighbours of places where a function bends,
// overflows or has a zero (those of lgamma between its poles among them); every exponent with
// random fractions; even spreads over several ranges. The same for the same arguments.
Scalars UnaryPoints(DType dtype, size_t count);

// Pairs of a floating format: every pair of special values, then random ones, some of near
// magnitude, some with whole second members.
struct PointPairs {
  Scalars xs, ys;
};
PointPairs BinaryPoints(DType dtype, size_t count);

// Every pair of codes of a format of at most 8 bits.
PointPairs EveryPair(DType dtype);

}  // namespace intent::numerics
