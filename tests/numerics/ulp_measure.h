#pragma once

// Measures every floating function of the interpreter and of compiled code, for every runnable CPU
// level, against MPFR, and holds the bounds that docs/numerics.md promises.

#include <string>
#include <vector>

#include "tests/numerics/float_functions.h"

namespace intent::numerics {

struct Worst {
  std::string implementation;  // "interpreter", or a CPU level with its number of lanes
  double bound = 0;
  double ulps = 0;
  ScalarValue x, y, got;
};

struct Measurement {
  const FloatFunction* function = nullptr;
  DType dtype = DType::kF32;
  size_t points = 0;
  bool exhaustive = false;
  std::vector<Worst> worst;  // one for each implementation
};

// All unary or all binary functions of one format. Unary functions of formats of at most 16 bits
// and binary ones of at most 8 are measured on every argument, others on about `points`. Formats
// below f32 compute in f32 and round once more, which adds half a unit to what f32's error amounts
// to.
std::vector<Measurement> Measure(DType dtype, bool unary, size_t points);

// From the environment variable INTENT_ULP_POINTS; otherwise 2^14.
size_t PointsFromEnvironment();

}  // namespace intent::numerics
