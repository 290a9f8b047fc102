#pragma once

// The plan: what becomes memory, and which stages share their rows. Plain data over KIR, made
// before any code is emitted; describe.h puts it into words. It reads types, effects and uses,
// never names or sizes of particular programs.
//
// Lazy operations are pure tensor operations whose elements are computed where they are used;
// everything else that yields a tensor is a stage. A value is materialised when computing it twice
// would cost more than memory does.

#include <unordered_map>
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

enum class MemoryReason : uint8_t {
  kPlain,       // every operation is a stage of its own
  kLarge,       // the expression would grow beyond the limit
  kShared,      // several stages or gathers need it, and computing it is dear
  kContracted,  // a product reads each element many times, and computing it is dear
  kHoisted,     // it stands outside the loop that needs it
};

struct PlanOptions {
  bool materialize_all = false;
  bool row_groups = true;
  // Elements are computed anew by each stage rather than kept in memory, but where one of them
  // serves many, as in matrix products: arithmetic is cheaper than memory there.
  bool recompute = false;
  int max_expression = 192;  // operations in one lazy expression
};

struct Plan {
  std::unordered_map<ValueId, MemoryReason> materialize;  // results of lazy operations
  std::unordered_map<const Block*, std::vector<RowGroup>> groups;
  // Position in the defining block of the last operation that needs the value, through lazy users.
  std::unordered_map<ValueId, size_t> last_use;
};

// Pure tensor operations whose elements are a function of their operands' elements at known
// coordinates.
bool IsLazy(const Function& function, const Op& op);
// Views that one launch may give overlapping memory.
bool ViewsMayAlias(const Parameter& a, const Parameter& b);

Plan MakePlan(const Function& function, const PlanOptions& options);

}  // namespace intent::plan
