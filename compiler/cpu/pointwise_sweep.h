#pragma once

// Test support: elementwise tile programs over every dtype, run by the tile interpreter and by
// compiled code, and compared element by element (NaNs are equal to NaNs). Dtypes that no view may
// have come from views of others: i4 and f4e2m1fn from bytes, byte formats from u8 by bitcast,
// 6-bit floats from f32, 128-bit integers from two words.

#include <string>
#include <utility>
#include <vector>

#include "compiler/numerics/sample_values.h"

namespace intent::cpu {

using numerics::AddHalfways;
using numerics::CastSources;
using numerics::EveryCode;
using numerics::InterestingValues;
using numerics::Pairs;
using numerics::RandomValue;
using numerics::Scalars;

// A target with an optimisation level.
using SweepTarget = std::pair<std::string, int>;
// Every target at the level that ships; the widest one also at the quick level, and alone with
// values wider than its registers.
std::vector<SweepTarget> SweepTargets(int lanes);

// One elementwise program: inputs %x, %y and %z of one dtype, one output for each expression.
class Sweep {
 public:
  Sweep(DType dtype, int lanes) : dtype_(dtype), lanes_(lanes) {}

  // An operation of a tile program on %x, %y and %z.
  void Add(const std::string& expression, DType result);
  // The sizes of xs, ys and zs are equal and multiples of the number of lanes.
  void Check(const Scalars& xs, const Scalars& ys, const Scalars& zs,
             const std::vector<SweepTarget>& targets) const;

  // The outputs, one list for each expression, of compiled code, or of the tile interpreter if the
  // target's name is empty.
  std::vector<Scalars> Run(const Scalars& xs, const Scalars& ys, const Scalars& zs,
                           const SweepTarget& target) const;

  std::string Text() const;

 private:
  std::string Type(DType dtype) const;

  DType dtype_;
  int lanes_;
  std::vector<std::string> expressions_;
  std::vector<DType> outputs_;
};

}  // namespace intent::cpu
