#pragma once

// The plan: what becomes memory, and which stages share their rows. Plain data over KIR, made
// before any code is emitted, printable for the compile report. It reads types, effects and uses,
// never names or sizes of particular programs.
//
// Lazy operations are pure tensor operations whose elements are computed where they are used;
// everything else that yields a tensor is a stage. A value is materialised when computing it twice
// would cost more than memory does.

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"

namespace intent::plan {

// Consecutive operations of a block whose stages are independent along axis 0 of a common extent:
// they run row block by row block, so that a row is read from memory once (codegen.md 2, "row
// groups").
struct RowGroup {
  size_t first = 0, end = 0;  // positions in the block
  Extent rows;
  std::vector<size_t> stages;  // positions of the operations that are stages
};

struct PlanOptions {
  bool materialize_all = false;
  bool row_groups = true;
  int max_expression = 192;  // operations in one lazy expression
};

struct Plan {
  std::unordered_set<ValueId> materialize;  // results of lazy operations
  std::unordered_map<const Block*, std::vector<RowGroup>> groups;
  // Position in the defining block of the last operation that needs the value, through lazy users.
  std::unordered_map<ValueId, size_t> last_use;

  std::string ToString(const Function& function) const;
};

// Pure tensor operations whose elements are a function of their operands' elements at known
// coordinates.
bool IsLazy(const Function& function, const Op& op);
// Views that one launch may give overlapping memory.
bool ViewsMayAlias(const Parameter& a, const Parameter& b);

Plan MakePlan(const Function& function, const PlanOptions& options);

}  // namespace intent::plan
