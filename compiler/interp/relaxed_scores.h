#pragma once

// Which operations of a kernel are a normalised summary in the sense of seed 000 chapter 5.6: an
// exponential of scores less their maximum along the reduced axis, and contractions weighted by it.
// relaxed_normalization asks its caller for finite valid scores and finite weighted values; the
// checked mode looks at them where this finds them.
//
// Found: exp or exp2 of s - max(s), where max(s) is a reduce with the builtin maximum and s may be
// scaled, cast, reshaped or broadcast on the way; a select or mask that makes s from scores and a
// constant, whose condition then says which are valid; contractions, and products that are summed,
// with a factor that follows from the exponential pointwise. Not found: what goes through loop
// carries, buffers, views or generic combines.

#include <unordered_map>

#include "compiler/ir/module.h"

namespace intent::interp {

struct RelaxedScores {
  struct Operand {
    size_t position;       // the operand that has to be finite
    int valid = -1;        // the operand that says where; -1: everywhere
    bool is_score = true;  // otherwise a weighted value
  };
  std::unordered_map<const Op*, Operand> operands;  // looked at when the operation runs
};

// Of the kernel of a specialised module.
RelaxedScores FindRelaxedScores(const Module& module);

}  // namespace intent::interp
