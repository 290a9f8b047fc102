#include "compiler/interp/pointwise.h"

#include <algorithm>

namespace intent::interp {
namespace {

constexpr int kMaxCallDepth = 64;

}  // namespace

bool AllScalar(const Type& type) {
  if (type.IsScalar()) return true;
  if (!type.IsProduct()) return false;
  return std::all_of(type.fields().begin(), type.fields().end(), AllScalar);
}

bool PointwiseRegions::Check(const Function& function, const Block& block, int depth) {
  if (depth > kMaxCallDepth) return false;
  for (ValueId argument : block.arguments) {
    if (!AllScalar(function.type(argument))) return false;
  }
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
      case OpKind::kYield:
      case OpKind::kReturn:
        break;
      case OpKind::kCall: {
        const uint32_t callee = op->attr<CallAttr>().function;
        std::optional<bool>& known = functions_[callee];
        if (!known) {
          const Function& body = *module_.functions[callee];
          known = Check(body, body.body, depth + 1);
        }
        if (!*known) return false;
        break;
      }
      case OpKind::kConstexpr:
      case OpKind::kDim:
      case OpKind::kDomain:
      case OpKind::kDomainProduct:
      case OpKind::kSubregion:
      case OpKind::kIndices:
      case OpKind::kRegionEnd:
      case OpKind::kAssumeInBounds:
      case OpKind::kParallel:
      case OpKind::kIf:
      case OpKind::kConstexprIf:
      case OpKind::kFor:
      case OpKind::kWhile:
      case OpKind::kViewLoad:
      case OpKind::kViewStore:
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kBroadcast:
      case OpKind::kFull:
      case OpKind::kJoin:
      case OpKind::kReduce:
      case OpKind::kScan:
      case OpKind::kRegionFold:
      case OpKind::kRegionScan:
      case OpKind::kContract:
      case OpKind::kScaledContract:
      case OpKind::kSparseContract:
      case OpKind::kHistogram:
      case OpKind::kQuantize:
      case OpKind::kQuantizedDot:
      case OpKind::kGather:
      case OpKind::kScatterUnique:
      case OpKind::kScatterReduce:
      case OpKind::kBuffer:
      case OpKind::kBufferLoad:
      case OpKind::kBufferStore:
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
      case OpKind::kRandomBits:
        return false;
    }
  }
  return true;
}

}  // namespace intent::interp
