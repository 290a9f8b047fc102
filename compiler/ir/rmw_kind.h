#pragma once

// What an atomic read-modify-write makes of the old value and its operand (seed 000 chapter 11).

#include "compiler/diag/check.h"
#include "compiler/ir/op_attributes.h"

namespace intent {

// `kind` is not an exchange, which combines nothing.
inline BinaryKind CombineOf(RmwKind kind) {
  switch (kind) {
    case RmwKind::kAdd:
      return BinaryKind::kAdd;
    case RmwKind::kMax:
      return BinaryKind::kMaximum;
    case RmwKind::kMin:
      return BinaryKind::kMinimum;
    case RmwKind::kAnd:
      return BinaryKind::kAnd;
    case RmwKind::kOr:
      return BinaryKind::kOr;
    case RmwKind::kXor:
      return BinaryKind::kXor;
    case RmwKind::kExchange:
      break;
  }
  INTENT_UNREACHABLE() << "an exchange combines nothing";
  return BinaryKind::kAdd;
}

}  // namespace intent
