#include "compiler/verify/infer.h"

#include <algorithm>

#include "compiler/diag/check.h"
#include "compiler/verify/infer_internal.h"

namespace intent {

std::optional<Type> InferType(const InferContext& context, const Op& op) {
  return infer::Inference(context, op).Run();
}

std::optional<std::vector<Extent>> BroadcastShapes(const std::vector<Extent>& a,
                                                   const std::vector<Extent>& b) {
  const std::vector<Extent>& longer = a.size() >= b.size() ? a : b;
  const std::vector<Extent>& shorter = a.size() >= b.size() ? b : a;
  std::vector<Extent> shape = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Extent& extent = shape[lead + i];
    if (extent == shorter[i] || shorter[i].IsConstant(1)) continue;
    if (!extent.IsConstant(1)) return std::nullopt;
    extent = shorter[i];
  }
  return shape;
}

bool BroadcastsTo(const std::vector<Extent>& from, const std::vector<Extent>& to) {
  if (from.size() > to.size()) return false;
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].IsConstant(1) && !(from[i] == to[lead + i])) return false;
  }
  return true;
}

Extent DomainExtent(const Extent& begin, const Extent& end, const Extent& step) {
  return Extent::Max(0, Extent::CeilDiv(end - begin, step));
}

}  // namespace intent

namespace intent::infer {

constexpr size_t kMaxMessage = 599;

std::string Ordinal(size_t position) { return "operand " + std::to_string(position); }

std::string Quantity(size_t count, const char* noun) {
  std::string text = std::to_string(count) + " " + noun;
  if (count == 1) return text;
  if (text.ends_with("axis")) text.replace(text.size() - 2, 2, "e");
  return text + "s";
}

std::nullopt_t Inference::Fail(DiagnosticCode code, std::string message) const {
  if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage - 3) + "...";
  context_.report(code, std::move(message));
  return std::nullopt;
}

std::optional<Type> Inference::Run() {
  switch (op_.kind) {
    case OpKind::kConstant:
      return Constant();
    case OpKind::kConstexpr:
      return Constexpr();
    case OpKind::kDim:
      return Dim();
    case OpKind::kDomain:
      return Domain();
    case OpKind::kDomainProduct:
      return DomainProduct();
    case OpKind::kSubregion:
      return Subregion();
    case OpKind::kIndices:
      return Indices();
    case OpKind::kRegionEnd:
      return RegionEnd();
    case OpKind::kAssumeInBounds:
      return AssumeInBounds();
    case OpKind::kParallel:
      return Parallel();
    case OpKind::kIf:
      return If();
    case OpKind::kConstexprIf:
      return ConstexprIf();
    case OpKind::kFor:
      return For();
    case OpKind::kWhile:
      return While();
    case OpKind::kCall:
      return Call();
    case OpKind::kYield:
    case OpKind::kReturn:
      return Leave();
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad:
    case OpKind::kGather:
      return Load();
    case OpKind::kViewStore:
    case OpKind::kBufferStore:
      return Store();
    case OpKind::kReshape:
      return Reshape();
    case OpKind::kTranspose:
      return Transpose();
    case OpKind::kBroadcast:
      return Broadcast();
    case OpKind::kFull:
      return Full();
    case OpKind::kJoin:
      return Join();
    case OpKind::kMakeTuple:
      return MakeTuple();
    case OpKind::kMakeRecord:
      return MakeRecord();
    case OpKind::kExtract:
      return Extract();
    case OpKind::kUnary:
      return Unary();
    case OpKind::kBinary:
      return Binary();
    case OpKind::kCompare:
      return Compare();
    case OpKind::kSelect:
      return Select();
    case OpKind::kMask:
      return Mask();
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
      return Cast();
    case OpKind::kReduce:
      return Reduce();
    case OpKind::kScan:
      return Scan();
    case OpKind::kRegionFold:
      return RegionFold();
    case OpKind::kRegionScan:
      return RegionScan();
    case OpKind::kContract:
      return Contract();
    case OpKind::kScaledContract:
      return ScaledContract();
    case OpKind::kSparseContract:
      return SparseContract();
    case OpKind::kHistogram:
      return Histogram();
    case OpKind::kQuantize:
      return Quantize();
    case OpKind::kQuantizedDot:
      return QuantizedDot();
    case OpKind::kScatterUnique:
      return ScatterUnique();
    case OpKind::kScatterReduce:
      return ScatterReduce();
    case OpKind::kBuffer:
      return Buffer();
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
    case OpKind::kAtomicCas:
      return Atomic();
    case OpKind::kRandomBits:
      return RandomBits();
  }
  INTENT_UNREACHABLE();
  return std::nullopt;
}

bool Inference::CheckElementwise(size_t i) const {
  const Type& type = operand(i);
  switch (type.kind()) {
    case TypeKind::kScalar:
    case TypeKind::kTensor:
      return true;
    case TypeKind::kBuffer:
      Fail(DiagnosticCode::kBufferAsValue,
           "a buffer is storage, not a value; read it with an index to get a tensor");
      return false;
    case TypeKind::kView:
      Fail(DiagnosticCode::kTypeMismatch,
           Name() + " takes a scalar or tensor, not " + Text(type) + "; read it with an index");
      return false;
    case TypeKind::kDomain:
      Fail(DiagnosticCode::kTypeMismatch, Name() + " takes a scalar or tensor, not " + Text(type) +
                                              "; indices(domain) gives its coordinates");
      return false;
    case TypeKind::kNone:
    case TypeKind::kTuple:
    case TypeKind::kRecord:
      Fail(DiagnosticCode::kTypeMismatch, Name() + " takes a scalar or tensor, not " + Text(type));
      return false;
  }
  return false;
}

bool Inference::CheckTensor(size_t i) const {
  if (!CheckElementwise(i)) return false;
  if (operand(i).IsTensor()) return true;
  Fail(DiagnosticCode::kTypeMismatch, Name() + " takes a tensor, not scalar " + Text(operand(i)));
  return false;
}

bool Inference::CheckIndexScalar(size_t i, const char* what) const {
  if (operand(i).IsScalar(DType::kIndex)) return true;
  std::string message = std::string(what) + " is an index scalar, not " + Text(operand(i));
  if (operand(i).IsScalar() && IsInteger(operand(i).dtype())) message += "; cast it to index";
  Fail(DiagnosticCode::kBadIndex, std::move(message));
  return false;
}

bool Inference::CheckDomain(size_t i) const {
  if (operand(i).IsDomain() && operand(i).rank() == 1) return true;
  Fail(DiagnosticCode::kTypeMismatch,
       Name() + " takes a domain of one axis, not " + Text(operand(i)));
  return false;
}

bool Inference::CheckSameDType(size_t a, size_t b) const {
  const DType x = operand(a).dtype(), y = operand(b).dtype();
  if (x == y) return true;
  Fail(DiagnosticCode::kDtypeMismatch, std::string(DTypeName(x)) + " and " +
                                           std::string(DTypeName(y)) +
                                           " do not mix; cast one of them");
  return false;
}

bool Inference::CheckSameShape(size_t a, size_t b) const {
  const Type &x = operand(a), &y = operand(b);
  if (x.kind() == y.kind() && x.shape() == y.shape()) return true;
  Fail(DiagnosticCode::kShapeMismatch,
       Name() + " takes operands of one shape, not " + Text(x) + " and " + Text(y));
  return false;
}

bool Inference::CheckExtents(const std::vector<Extent>& shape) const {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].valid()) {
      Fail(DiagnosticCode::kBadExtent,
           "the extent of axis " + std::to_string(i) + " overflows or is too complex");
      return false;
    }
    if ((Extent(-1) - shape[i]).ProvablyNonNegative()) {
      Fail(DiagnosticCode::kBadExtent,
           "the extent " + Text(shape[i]) + " of axis " + std::to_string(i) + " is negative");
      return false;
    }
  }
  return true;
}

std::optional<int64_t> Inference::Resolve(const StaticInt& value) const {
  if (value.resolved()) return value.value;
  return std::nullopt;
}

bool Inference::CheckStatic(const StaticInt& value, ConstexprKind kind, const char* what) const {
  if (value.resolved()) {
    if (kind != ConstexprKind::kBool || value.value == 0 || value.value == 1) return true;
    Fail(DiagnosticCode::kBadStructure,
         std::string(what) + " is a flag: 0 or 1, not " + std::to_string(value.value));
    return false;
  }
  if (context_.specialized) {
    Fail(DiagnosticCode::kUnboundConstexpr, std::string(what) + " is still a constexpr");
    return false;
  }
  if (value.expr >= context_.module.constexpr_nodes.size()) {
    Fail(DiagnosticCode::kBadReference, std::string(what) + " refers to no constexpr");
    return false;
  }
  if (context_.module.constexpr_nodes[value.expr].kind == kind) return true;
  Fail(DiagnosticCode::kNotConstexpr,
       std::string(what) + " is a constexpr " + (kind == ConstexprKind::kBool ? "bool" : "int"));
  return false;
}

bool Inference::CheckAxis(int64_t axis, int rank) const {
  if (axis >= 0 && axis < rank) return true;
  Fail(DiagnosticCode::kBadAxis, "axis " + std::to_string(axis) + " is out of range of " +
                                     Quantity(static_cast<size_t>(rank), "axis"));
  return false;
}

bool Inference::CheckAxis(const StaticInt& axis, int rank) const {
  if (!CheckStatic(axis, ConstexprKind::kInt, "an axis")) return false;
  return !axis.resolved() || CheckAxis(axis.value, rank);
}

}  // namespace intent::infer
