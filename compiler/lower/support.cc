#include "compiler/lower/support.h"

#include <algorithm>
#include <string>

namespace intent::lower {
namespace {

bool HasValueOnlyDType(const Type& type) {
  if (type.IsProduct()) {
    return std::any_of(type.fields().begin(), type.fields().end(), HasValueOnlyDType);
  }
  return !type.IsNone() && !type.IsDomain() && !IsAddressable(type.dtype());
}

// Empty if the operation itself is served; otherwise what is not.
std::string Refusal(const Function& function, const Op& op) {
  if (HasValueOnlyDType(function.type(op.result))) {
    return "values of " + std::string(DTypeName(function.type(op.result).dtype()));
  }
  switch (op.kind) {
    case OpKind::kConstant:
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
    case OpKind::kCall:
    case OpKind::kYield:
    case OpKind::kReturn:
    case OpKind::kViewLoad:
    case OpKind::kViewStore:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kBroadcast:
    case OpKind::kFull:
    case OpKind::kJoin:
    case OpKind::kMakeTuple:
    case OpKind::kMakeRecord:
    case OpKind::kExtract:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kMask:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
    case OpKind::kReduce:
    case OpKind::kScan:
    case OpKind::kRegionFold:
    case OpKind::kRegionScan:
    case OpKind::kContract:
    case OpKind::kGather:
    case OpKind::kBuffer:
    case OpKind::kBufferLoad:
    case OpKind::kBufferStore:
    case OpKind::kScaledContract:
    case OpKind::kSparseContract:
    case OpKind::kHistogram:
    case OpKind::kQuantize:
    case OpKind::kQuantizedDot:
    case OpKind::kScatterUnique:
    case OpKind::kScatterReduce:
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
    case OpKind::kAtomicCas:
    case OpKind::kRandomBits:
      return "";
    case OpKind::kUnary: {
      const UnaryAttr& attr = op.attr<UnaryAttr>();
      if (attr.approximate.value != 0)
        return "approximate '" + std::string(NameOf(attr.kind)) + "'";
      if (attr.kind == UnaryKind::kLgamma || attr.kind == UnaryKind::kI0) {
        return "'" + std::string(NameOf(attr.kind)) + "'";
      }
      return "";
    }
    case OpKind::kBinary: {
      const BinaryAttr& attr = op.attr<BinaryAttr>();
      if (attr.approximate.value != 0)
        return "approximate '" + std::string(NameOf(attr.kind)) + "'";
      if (attr.kind == BinaryKind::kIpowTrunc || attr.kind == BinaryKind::kFloatFloorDiv ||
          attr.kind == BinaryKind::kFloatFloorMod) {
        return "'" + std::string(NameOf(attr.kind)) + "'";
      }
      return "";
    }
  }
  return "'" + std::string(InfoOf(op.kind).name) + "'";
}

}  // namespace

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

Diagnostics UnsupportedOperations(const Function& kernel) {
  DiagnosticSink sink;
  ForEachOp(kernel.body, [&](const Op& op) {
    const std::string refusal = Refusal(kernel, op);
    if (refusal.empty()) return;
    sink.Error(DiagnosticCode::kUnsupportedOperation, op.ordinal,
               "the CPU target does not lower " + refusal);
  });
  return sink.Take();
}

}  // namespace intent::lower
