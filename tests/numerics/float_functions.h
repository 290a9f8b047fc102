#pragma once

// The floating functions whose errors are measured, and the bounds that docs/numerics.md promises.

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/op_attributes.h"

namespace intent::numerics {

// Errors in units in the last place of the result's format.
struct Bounds {
  double f32, f64;

  // Formats below f32 compute in f32 and round once more, which adds half a unit to what f32's
  // error amounts to.
  double For(DType dtype) const;
};

struct FloatFunction {
  std::string name;  // of the tile operation: "unary.exp"
  std::optional<UnaryKind> unary;
  BinaryKind binary = BinaryKind::kAdd;  // if not unary
  Bounds interpreter, cpu, cuda;
};

// Unary functions first.
const std::vector<FloatFunction>& FloatFunctions();

}  // namespace intent::numerics
