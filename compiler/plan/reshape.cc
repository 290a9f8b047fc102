#include "compiler/plan/reshape.h"

#include <algorithm>

namespace intent::plan {

std::vector<AxisRun> MatchRuns(const std::vector<Extent>& from, const std::vector<Extent>& to) {
  std::vector<AxisRun> runs;
  int i = 0, j = 0;
  const int n = static_cast<int>(from.size()), m = static_cast<int>(to.size());
  while (i < n || j < m) {
    // The shortest pair of prefixes that agree; failing that, all the rest.
    AxisRun best{i, n, j, m};
    bool found = false;
    for (int total = 1; total <= (n - i) + (m - j) && !found; ++total) {
      for (int p = std::max(0, total - (m - j)); p <= std::min(total, n - i) && !found; ++p) {
        const int q = total - p;
        Extent a(1), c(1);
        for (int k = 0; k < p; ++k) a = a * from[i + k];
        for (int k = 0; k < q; ++k) c = c * to[j + k];
        if (a == c) {
          best = {i, i + p, j, j + q};
          found = true;
        }
      }
    }
    runs.push_back(best);
    i = best.from_end;
    j = best.to_end;
  }
  return runs;
}

bool SplitsOnly(const std::vector<Extent>& from, const std::vector<Extent>& to) {
  for (const AxisRun& run : MatchRuns(from, to)) {
    int wide = 0;
    for (int i = run.from_begin; i < run.from_end; ++i) wide += from[i].IsConstant(1) ? 0 : 1;
    if (wide > 1) return false;
  }
  return true;
}

}  // namespace intent::plan
