#pragma once

// Which combine regions may run on whole arrays of states at once.

#include <optional>
#include <vector>

#include "compiler/ir/module.h"

namespace intent::interp {

// A scalar, or a product of nothing but scalars.
bool AllScalar(const Type& type);

class PointwiseRegions {
 public:
  explicit PointwiseRegions(const Module& module)
      : module_(module), functions_(module.functions.size()) {}

  // True if the block takes scalars and holds only operations that mean the same on an array as on
  // each of its elements, calls included. Long chains of calls count as not pointwise.
  bool IsPointwise(const Function& function, const Block& block) {
    return Check(function, block, 0);
  }

 private:
  bool Check(const Function& function, const Block& block, int depth);

  const Module& module_;
  std::vector<std::optional<bool>> functions_;  // answers already known
};

}  // namespace intent::interp
