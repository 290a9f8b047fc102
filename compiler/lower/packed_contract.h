#pragma once

// Contractions where both sides keep an axis of their own: how axes become rows, columns, members
// and points.

#include <vector>

#include "compiler/lower/lowerer.h"

namespace intent::lower {

// One operand: which of its axes is its own, which are summed over, and how the others find
// coordinates.
struct Lowerer::PackedSide {
  Binding value;
  DType element = DType::kF32;  // as which its elements enter the products of units
  int own = -1;                 // the axis of rows (left) or columns (right)
  std::vector<int> inner;       // reduced axes, in the order of the pairs
  std::vector<int> outer;       // by axis: position among the outer coordinates, or -1
  bool lanes_along_inner = false;
  std::vector<Id> watch;
};

struct Lowerer::PackedProblem {
  PackedSide left, right;
  TensorPtr output;
  int row_axis = 0, column_axis = 0;  // of the output
  std::vector<int> outer_axes;        // of the output, by outer coordinate
  std::vector<Id> inner_extents, outer_extents;
  Id rows = kNoId, columns = kNoId, inner = kNoId;
  DType dtype = DType::kF32;
  int32_t lanes = 1;
};

}  // namespace intent::lower
