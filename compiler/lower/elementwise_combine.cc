#include "compiler/lower/elementwise_combine.h"

namespace intent::lower {

bool IsElementwiseCombine(const Function& function, const Block& block) {
  for (const Op* op : block.ops) {
    switch (op->kind) {
      case OpKind::kConstant:
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kSelect:
      case OpKind::kMask:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
      case OpKind::kMakeTuple:
      case OpKind::kMakeRecord:
      case OpKind::kExtract:
      case OpKind::kFull:
      case OpKind::kYield:
        break;
      case OpKind::kBroadcast:
        if (!function.type(op->operands[0]).IsScalar()) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace intent::lower
