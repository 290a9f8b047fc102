#pragma once

// How the members of a reduce or scan combine (language.md chapter 7). Private to this folder.

#include <optional>
#include <vector>

#include "compiler/interp/machine.h"

namespace intent::interp {

// The pointwise operation of a builtin combine other than arg_max.
BinaryKind BuiltinOf(CombineKind kind);

class Machine::Combiner {
 public:
  // Region arguments: state, state, captures...
  Combiner(Machine* machine, const Op& op, CombineKind kind, size_t first_capture);

  // True if Combine may be given arrays of independent members: builtins, and regions of pointwise
  // operations on scalars, which then run on whole arrays.
  bool IsLifted() const { return lifted_; }
  // True if components have nothing to do with one another; their retained shapes may differ.
  bool IsComponentwise() const {
    return kind_ != CombineKind::kRegion && kind_ != CombineKind::kArgMax;
  }
  // True if a member is a retained slice, false if it is a scalar of each component.
  bool OnSlices() const { return on_slices_; }

  // Leaves of lhs and rhs correspond. Lifted: tensors of one count and rank 1. Empty if failed.
  Leaves Combine(const Leaves& lhs, const Leaves& rhs) const;

 private:
  Leaves CombineRegion(const Leaves& lhs, const Leaves& rhs) const;
  Leaves CombineArgMax(const Leaves& lhs, const Leaves& rhs) const;

  Machine* machine_;
  const Op& op_;
  CombineKind kind_;
  Fields captures_;
  bool lifted_ = true;
  bool on_slices_ = false;
};

}  // namespace intent::interp
