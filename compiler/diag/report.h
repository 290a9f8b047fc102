#pragma once

// The compile report (docs/report.md): what a compile decided, and why not otherwise. Like a
// diagnostic, a line names operations by ordinal, in its text as "op 12"; clients put the author's
// lines in their place. Texts are lower case, without a full stop.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace intent {

enum class ReportTopic : uint8_t {
  kOptions,   // what was asked for and what that licenses
  kFusion,    // what is computed where it is needed, and what runs together
  kMemory,    // what is kept in memory, and what was hoisted
  kLoops,     // lanes, tiles, tasks
  kNumerics,  // where roundings were saved, and where not
  kBounds,    // what is guarded, proven, assumed or trusted
  kCode,      // totals of the generated code
};
std::string_view NameOf(ReportTopic topic);

struct ReportLine {
  ReportTopic topic = ReportTopic::kLoops;
  uint32_t ordinal = kNoOrdinal;  // of the operation; kNoOrdinal: the kernel as a whole
  std::string text;
  bool operator==(const ReportLine&) const = default;
};
using Report = std::vector<ReportLine>;

// A report has at most this many lines; the last then says how many were left out.
inline constexpr size_t kMostReportLines = 2000;

// In reading order: options, then operations by ordinal, then what holds for the kernel, by topic.
// Lines about one operation keep their order; repeated ones go.
Report Ordered(Report report);

// "loops    op 12  reduce: 16 lanes along the members", a line each.
std::string ToString(const Report& report);

// "op 3, op 5, op 9"; beyond eight, "... and 4 more".
std::string OpList(const std::vector<uint32_t>& ordinals);

}  // namespace intent
