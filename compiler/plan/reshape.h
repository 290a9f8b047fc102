#pragma once

// How the axes of a reshape correspond.

#include <vector>

#include "compiler/ir/extent.h"

namespace intent::plan {

// Axes [from_begin, from_end) hold the same elements as axes [to_begin, to_end).
struct AxisRun {
  int from_begin, from_end, to_begin, to_end;
};

// The shortest runs whose element counts provably agree, in order; what does not match is the last.
std::vector<AxisRun> MatchRuns(const std::vector<Extent>& from, const std::vector<Extent>& to);

// No run has more than one axis of the source that is not of extent 1, so a coordinate of the
// source is found without division. Otherwise a reshape goes through dense memory.
bool SplitsOnly(const std::vector<Extent>& from, const std::vector<Extent>& to);

}  // namespace intent::plan
