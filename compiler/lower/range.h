#pragma once

// Bounds of integer values, as extents (codegen.md 1, "predicates attached to ranges"): what lets
// accesses be proven in bounds. Answers nothing rather than guess.

#include <optional>
#include <unordered_map>

#include "compiler/ir/module.h"
#include "compiler/verify/value_extents.h"

namespace intent::lower {

struct Range {
  Extent low;   // inclusive
  Extent high;  // inclusive; below low only where no element exists
};

// One analysis serves one function, which must not change meanwhile.
class RangeAnalysis {
 public:
  RangeAnalysis(const Module& module, const Function& function);
  // The range of every element of an index-like scalar or tensor value.
  std::optional<Range> Of(ValueId value) const { return Of(value, 0); }
  // True if every element lies in [0, extent).
  bool Inside(ValueId value, const Extent& extent) const;
  // The polynomial an index scalar stands for.
  Extent ExtentOf(ValueId value) const { return extents_.Of(value); }

 private:
  std::optional<Range> Of(ValueId id, int depth) const;
  std::optional<Range> OfArgument(const Value& value) const;
  std::optional<Range> OfDomain(ValueId id, uint32_t axis) const;
  std::optional<Range> OfOp(const Op& op, int depth) const;
  std::optional<Range> OfBinary(const Op& op, int depth) const;
  Extent LowOf(ValueId id) const;
  Extent HighOf(ValueId id) const;

  const Function& function_;
  mutable ValueExtents extents_;                        // remembers
  std::unordered_map<const Block*, const Op*> owners_;  // of region blocks
};

}  // namespace intent::lower
