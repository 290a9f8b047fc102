#include <set>

#include "compiler/verify/verify_internal.h"

namespace intent::verify {
namespace {

bool CountExtent(const Extent& extent, int* budget) {
  for (const Extent::Term& term : extent.Terms()) {
    for (const Extent::Factor& factor : term.factors) {
      if (--*budget < 0) return false;
      if (factor.atom->lhs == nullptr) continue;
      if (!CountExtent(*factor.atom->lhs, budget) || !CountExtent(*factor.atom->rhs, budget)) {
        return false;
      }
    }
  }
  return true;
}

bool CountType(const Type& type, int depth, int* budget) {
  *budget -= 1 + static_cast<int>(std::min<size_t>(type.shape().size(), kMaxTypeNodes));
  if (depth > kMaxTypeDepth || *budget < 0) return false;
  for (const Extent& extent : type.shape()) {
    int atoms = kMaxExtentNodes;
    if (!CountExtent(extent, &atoms)) return false;
  }
  for (const Type& field : type.fields()) {
    if (!CountType(field, depth + 1, budget)) return false;
  }
  return true;
}

}  // namespace

bool IsBounded(const Type& type) {
  int budget = kMaxTypeNodes;
  return CountType(type, 1, &budget);
}

std::optional<TypeFault> FaultOf(const Type& type, const ExtentNamer& namer) {
  for (const Extent& extent : type.shape()) {
    if (!extent.valid()) {
      return TypeFault{DiagnosticCode::kBadExtent, "an extent overflows or is too complex"};
    }
    if ((Extent(-1) - extent).ProvablyNonNegative()) {
      return TypeFault{DiagnosticCode::kBadExtent,
                       "the extent " + extent.ToString(namer) + " is negative"};
    }
  }
  switch (type.kind()) {
    case TypeKind::kNone:
    case TypeKind::kScalar:
    case TypeKind::kDomain:
      return std::nullopt;
    case TypeKind::kTensor: {
      if (IsAddressable(type.dtype())) return std::nullopt;
      for (const Extent& extent : type.shape()) {
        if (extent.IsConstant()) continue;
        return TypeFault{DiagnosticCode::kDtypeNotAllowed,
                         "a tensor of " + std::string(DTypeName(type.dtype())) +
                             " has static extents, not " + extent.ToString(namer)};
      }
      return std::nullopt;
    }
    case TypeKind::kView:
    case TypeKind::kBuffer:
      if (IsAddressable(type.dtype())) return std::nullopt;
      return TypeFault{
          DiagnosticCode::kNotAddressable,
          std::string(DTypeName(type.dtype())) + " cannot be an element of a view or buffer"};
    case TypeKind::kTuple:
    case TypeKind::kRecord:
      break;
  }
  if (type.kind() == TypeKind::kRecord) {
    const std::set<std::string> unique(type.names().begin(), type.names().end());
    if (type.names().empty() || type.names().size() != type.fields().size() ||
        unique.size() != type.names().size() || unique.contains("")) {
      return TypeFault{DiagnosticCode::kBadStructure,
                       "a record has at least one field, each with a name of its own"};
    }
  }
  for (const Type& field : type.fields()) {
    if (!field.IsElementwise() && !field.IsProduct()) {
      return TypeFault{
          DiagnosticCode::kTypeMismatch,
          "a component of a product is a scalar, tensor or product, not " + field.ToString(namer)};
    }
    if (auto fault = FaultOf(field, namer)) return fault;
  }
  return std::nullopt;
}

bool IsIsolated(OpKind kind) {
  switch (kind) {
    case OpKind::kReduce:
    case OpKind::kScan:
    case OpKind::kRegionFold:
    case OpKind::kRegionScan:
    case OpKind::kScatterReduce:
      return true;
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
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kMask:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
    case OpKind::kContract:
    case OpKind::kScaledContract:
    case OpKind::kSparseContract:
    case OpKind::kHistogram:
    case OpKind::kQuantize:
    case OpKind::kQuantizedDot:
    case OpKind::kGather:
    case OpKind::kScatterUnique:
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
  return false;
}

}  // namespace intent::verify
