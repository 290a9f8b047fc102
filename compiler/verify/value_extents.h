#pragma once

// The extents that index-typed SSA values stand for (decisions.md A.5): constants, dims, constexprs
// and integer arithmetic on them become polynomials, anything else an opaque value atom. Answers
// are remembered, so that chains and diamonds of any size cost linear time and no stack.
//
// One object serves one function that may grow but whose operations do not change. Not thread-safe.

#include <optional>
#include <unordered_map>

#include "compiler/ir/module.h"

namespace intent {

class ValueExtents {
 public:
  ValueExtents(const Module& module, const Function& function)
      : module_(module), function_(function) {}

  // `value` is a scalar of type index.
  Extent Of(ValueId value);

  // The extent of an integer constexpr expression; invalid if it has no polynomial form. Parameters
  // that are fixed count as their value.
  Extent OfConstexpr(ConstexprId id);

  // What is known of a rank-1 domain from the operations that made it; nullopt for arguments.
  struct Bounds {
    Extent begin, end, step;
  };
  std::optional<Bounds> BoundsOf(ValueId domain);

 private:
  static constexpr int kMaxNesting = 64;  // subregions of subregions that are followed

  struct BoundValues {
    ValueId begin, end, step;
  };
  std::optional<BoundValues> BoundValuesOf(ValueId domain) const;

  // nullopt: an operand further up the stack of a walk (a malformed module's cycle).
  using Memo = std::unordered_map<uint32_t, std::optional<Extent>>;

  // Uses in malformed modules may refer to nothing.
  bool Exists(ValueId value) const { return value < function_.value_count(); }
  static Extent Known(const Memo& memo, uint32_t key, const Extent& otherwise);
  Extent Compute(ValueId value, const Op& op);
  Extent ComputeConstexpr(const ConstexprNode& node);

  const Module& module_;
  const Function& function_;
  Memo values_;
  Memo constexprs_;
};

}  // namespace intent
