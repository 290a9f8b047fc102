#pragma once

#include "compiler/ir/module.h"

namespace intent::plan {

// Operations that compute every element of their result from the elements at the same place.
inline bool IsElementwise(const Op& op) {
  switch (op.kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kMask:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
      return true;
    default:
      return false;
  }
}

// Operations that compute elements, rather than move or name them.
inline bool IsArithmetic(const Op& op) {
  return op.kind == OpKind::kRandomBits || (IsElementwise(op) && op.kind != OpKind::kBitcast);
}

// Sums of products of two operands, whatever their format.
inline bool IsContraction(const Op& op) {
  return op.kind == OpKind::kContract || op.kind == OpKind::kScaledContract ||
         op.kind == OpKind::kSparseContract;
}

}  // namespace intent::plan
