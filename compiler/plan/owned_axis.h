#pragma once

// The owned axis of a `parallel` body (codegen.md 3): one that everything in the body leaves alone,
// so that a task may be a point and a tile of that axis instead of a whole point.
//
// Its class (axis_classes.h) is in every store, and in all that each tile would repeat.

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace intent::plan {

// Two views of one launch through which tiles of one point may meet, where they overlap.
struct TileConflict {
  ValueId written = kNoValue;
  ValueId other = kNoValue;  // read or written
  // Both are accessed at the tile's own places of one axis: no harm if they are the same view.
  bool aligned = false;
};

struct OwnedAxis {
  Extent extent;
  const Op* store = nullptr;  // a write of the body, and the axis there of what it writes
  int64_t store_axis = 0;
  std::vector<TileConflict> conflicts;
  // By place among the axes of a value's tensors, in order: whether it is of the class. Only values
  // and uses with one that is.
  std::unordered_map<ValueId, std::vector<bool>> values;           // made in the body
  std::map<std::pair<const Op*, size_t>, std::vector<bool>> uses;  // operands made outside of it
  // Accesses of what lies outside: the position of the term that takes the whole axis.
  std::unordered_map<const Op*, size_t> whole_terms;
};

struct Ownership {
  std::optional<OwnedAxis> owned;
  std::string refusal;  // otherwise: why the first axis of the first store is not owned
};

// `parallel` is an operation of `function`, which is specialised.
Ownership FindOwnedAxis(const Function& function, const Op& parallel);

}  // namespace intent::plan
