#pragma once

// How many operands the terms of an index relation take, which follow each other in their order.

#include <cstddef>
#include <span>

#include "compiler/ir/op_attributes.h"

namespace intent {

inline size_t IndexOperands(std::span<const IndexTerm> terms) {
  size_t count = 0;
  for (const IndexTerm& term : terms) {
    switch (term.kind) {
      case IndexTermKind::kFull:
      case IndexTermKind::kStatic:
      case IndexTermKind::kNewAxis:
        break;
      case IndexTermKind::kValue:
      case IndexTermKind::kRegion:
        count += 1;
        break;
      case IndexTermKind::kSlice:
        count += 2;
        break;
    }
  }
  return count;
}

}  // namespace intent
