#pragma once

// A plan in words, for the compile report: for each stage what is computed where it needs it, for
// each value in memory why, and which stages share their rows.

#include <string>

#include "compiler/diag/report.h"
#include "compiler/plan/plan.h"

namespace intent::plan {

// "exp", "mul", "reduce": an operation's name, or that of its kind if it is elementwise.
std::string Label(const Op& op);

// Linear in the size of the function.
Report Describe(const Plan& plan, const Function& function);

// A maximum over an axis, differences to it under an exponential, and their sum or contraction over
// the same axis: what CompileOptions::numerics = relaxed_normalization is about (seed 000 chapter
// 5.6).
struct NormalizedSummary {
  uint32_t maximum = kNoOrdinal;  // ordinals of the operations
  std::vector<uint32_t> sums;     // of the exponentials, or contractions with them
};
std::vector<NormalizedSummary> FindNormalizedSummaries(const Function& function);

}  // namespace intent::plan
