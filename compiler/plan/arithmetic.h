#pragma once

#include "compiler/ir/module.h"

namespace intent::plan {

// Operations that compute elements, rather than move or name them.
inline bool IsArithmetic(const Op& op) {
  switch (op.kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kMask:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kRandomBits:
      return true;
    default:
      return false;
  }
}

}  // namespace intent::plan
