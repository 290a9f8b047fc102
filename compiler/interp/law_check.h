#pragma once

// Samples the laws that an author promises (seed 000 chapter 6) on values that the run produces:
// neutral identities, combines that associate and, where members may be permuted, commute, and the
// equations of region folds and scans. Private to this folder.
//
// States are folds of short contiguous runs of the actual members, cut at places drawn with a fixed
// seed, so every state is one that a legal execution reaches. Two results agree if they are equal,
// both NaN, or floats that differ by at most 64 u M: u is the unit roundoff of their dtype, M the
// largest finite magnitude among the states and results of the sample. Where M is so large that
// another order may overflow, infinities and NaNs are not held against a law.
//
// Agreement proves nothing; a counterexample is one.

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/interp/combiner.h"
#include "compiler/interp/machine.h"

namespace intent::interp {

class Machine::Laws {
 public:
  explicit Laws(Machine* machine) : machine_(machine) {}

  // Each returns false after a counterexample or another error; the machine has failed then.

  // Reduce and scan: members lie first axis first, `retained` as in fold_ops.cc.
  bool SampleCombine(const Op& op, const Combiner& combiner, const Leaves& members, int64_t count,
                     const Leaves& identity, const std::vector<Shape>& retained, bool commutes);
  // Updates of one element: by the operation's region, in either order, alone or combined before.
  bool SampleUpdates(const Op& op, const ScalarValue& old, const ScalarValue& a,
                     const ScalarValue& b, std::span<const RuntimeValue> captures);
  bool SampleRegion(const Op& op, const RegionSource& source);

  // Whether samples are left for this operation; takes one.
  bool Take(const Op& op);
  // A number in [0, bound) of the operation's sequence.
  int64_t Draw(const Op& op, int64_t bound);

 private:
  struct Samples {
    uint64_t state;
    int left;
  };
  struct Named {
    std::string name;
    Leaves leaves;
  };
  Samples& SamplesOf(const Op& op);
  RuntimeValue CallOnSlice(const Op& op, const Block& region, const RegionSource& source,
                           int64_t first, int64_t extent, const RuntimeValue* state,
                           size_t first_capture);
  // Reports `kind` if left and right differ; `states` are what they were made of.
  bool Compare(const Op& op, ErrorKind kind, const Named& left, const Named& right,
               const std::vector<Named>& states);
  bool SampleScan(const Op& op, const RegionSource& source, int64_t first, int64_t middle,
                  int64_t last, const RuntimeValue& a, const RuntimeValue& b);

  Machine* machine_;
  std::unordered_map<uint32_t, Samples> samples_;  // by ordinal
  bool by_lane_ = false;  // elements of the states at hand are states of their own: show one
};

}  // namespace intent::interp
