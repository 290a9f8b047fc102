// Contractions, histograms and the quantised operations.

#include <algorithm>

#include "compiler/verify/infer_internal.h"

namespace intent::infer {
namespace {

bool PairsResolved(const std::vector<AxisPair>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [](const AxisPair& pair) {
    return pair.lhs.resolved() && pair.rhs.resolved();
  });
}

constexpr int64_t kRecordElements = 256;
constexpr int64_t kQ4Bytes = 144;
constexpr int64_t kQ8Bytes = 292;

struct ScaledFacts {
  DType element, scale;
  int64_t per_carrier;
};

ScaledFacts FactsOf(ScaledFormat format) {
  switch (format) {
    case ScaledFormat::kE2M1E8M0:
      return {DType::kU8, DType::kU8, 2};
    case ScaledFormat::kE2M1E4M3:
      return {DType::kU8, DType::kF8E4M3FN, 2};
    case ScaledFormat::kE4M3E8M0:
      return {DType::kF8E4M3FN, DType::kU8, 1};
    case ScaledFormat::kE4M3E4M3:
      return {DType::kF8E4M3FN, DType::kF8E4M3FN, 1};
  }
  return {DType::kU8, DType::kU8, 1};
}

}  // namespace

bool Inference::CheckAccumulator(DType dtype) const {
  if (dtype != DType::kBool && IsAddressable(dtype)) return true;
  Fail(DiagnosticCode::kDtypeNotAllowed,
       Name() + " cannot accumulate in " + std::string(DTypeName(dtype)));
  return false;
}

// Checks the pairs (but not the extents of the reduce pairs of a compressed operand, whose caller
// passes the logical shape) and gives the shape of the result.
bool Inference::CheckContractPairs(const Type& lhs, const Type& rhs, const ContractAttr& attr,
                                   std::vector<Extent>* shape) const {
  if (attr.reduce.empty()) {
    Fail(DiagnosticCode::kContractAxes, "a contraction reduces at least one pair of axes");
    return false;
  }
  std::vector<bool> lhs_used(lhs.shape().size(), false), rhs_used(rhs.shape().size(), false);
  std::vector<bool> lhs_reduced(lhs_used);
  const auto take = [&](const AxisPair& pair, bool reduce) {
    if (!CheckAxis(pair.lhs.value, lhs.rank()) || !CheckAxis(pair.rhs.value, rhs.rank())) {
      return false;
    }
    if (lhs_used[pair.lhs.value] || rhs_used[pair.rhs.value]) {
      Fail(DiagnosticCode::kContractAxes, "the axis pair (" + std::to_string(pair.lhs.value) +
                                              ", " + std::to_string(pair.rhs.value) +
                                              ") names an axis that is paired already");
      return false;
    }
    lhs_used[pair.lhs.value] = rhs_used[pair.rhs.value] = true;
    if (reduce) lhs_reduced[pair.lhs.value] = true;
    const Extent &a = lhs.shape()[pair.lhs.value], &b = rhs.shape()[pair.rhs.value];
    if (a == b) return true;
    Fail(DiagnosticCode::kShapeMismatch, "the paired extents " + Text(a) + " (axis " +
                                             std::to_string(pair.lhs.value) + " of the left) and " +
                                             Text(b) + " (axis " + std::to_string(pair.rhs.value) +
                                             " of the right) are not provably equal");
    return false;
  };
  for (const AxisPair& pair : attr.reduce) {
    if (!take(pair, true)) return false;
  }
  for (const AxisPair& pair : attr.batch) {
    if (!take(pair, false)) return false;
  }
  for (size_t i = 0; i < lhs_used.size(); ++i) {
    if (!lhs_reduced[i]) shape->push_back(lhs.shape()[i]);
  }
  for (size_t i = 0; i < rhs_used.size(); ++i) {
    if (!rhs_used[i]) shape->push_back(rhs.shape()[i]);
  }
  return true;
}

std::optional<Type> Inference::Contract() {
  const ContractAttr& attr = op_.attr<ContractAttr>();
  if (!CheckTensor(0) || !CheckTensor(1) || !CheckSameDType(0, 1)) return std::nullopt;
  if (operand(0).dtype() == DType::kBool) {
    return Fail(DiagnosticCode::kDtypeNotAllowed, "contract is defined for numbers, not bool");
  }
  if (!declared().IsTensor()) {
    return Fail(DiagnosticCode::kDeclaredType, "contract gives a tensor, not " + Text(declared()));
  }
  if (!CheckAccumulator(declared().dtype())) return std::nullopt;
  for (const auto* pairs : {&attr.reduce, &attr.batch}) {
    for (const AxisPair& pair : *pairs) {
      if (!CheckStatic(pair.lhs, ConstexprKind::kInt, "an axis") ||
          !CheckStatic(pair.rhs, ConstexprKind::kInt, "an axis")) {
        return std::nullopt;
      }
    }
  }
  if (!PairsResolved(attr.reduce) || !PairsResolved(attr.batch)) return declared();
  std::vector<Extent> shape;
  if (!CheckContractPairs(operand(0), operand(1), attr, &shape)) return std::nullopt;
  return Type::Tensor(declared().dtype(), std::move(shape));
}

std::optional<Type> Inference::ScaledContract() {
  const ScaledAttr& attr = op_.attr<ScaledAttr>();
  for (size_t i = 0; i < 4; ++i) {
    if (!CheckTensor(i)) return std::nullopt;
  }
  if (!declared().IsTensor()) {
    return Fail(DiagnosticCode::kDeclaredType,
                "scaled_contract gives a tensor, not " + Text(declared()));
  }
  if (!CheckAccumulator(declared().dtype())) return std::nullopt;
  if (!CheckStatic(attr.group_size, ConstexprKind::kInt, "the group size")) return std::nullopt;
  const Type &lhs = operand(0), &lhs_scale = operand(1), &rhs = operand(2), &rhs_scale = operand(3);
  const ScaledFacts left = FactsOf(attr.lhs), right = FactsOf(attr.rhs);
  const auto carrier = [&](const Type& type, DType dtype, int rank, const char* what) {
    if (type.dtype() == dtype && type.rank() == rank) return true;
    Fail(DiagnosticCode::kFormat, std::string(what) + " is a tensor of " +
                                      std::string(DTypeName(dtype)) + " with " +
                                      std::to_string(rank) + " axes, not " + Text(type));
    return false;
  };
  if (!carrier(lhs, left.element, 3, "the left operand") ||
      !carrier(lhs_scale, left.scale, 2, "the left scale") ||
      !carrier(rhs, right.element, 3, "the right operand") ||
      !carrier(rhs_scale, right.scale, 2, "the right scale")) {
    return std::nullopt;
  }
  // lhs [M,G,Cl], scale [M,G]; rhs [G,Cr,N], scale [N,G].
  const auto equal = [&](const Extent& a, const Extent& b, const char* what) {
    if (a == b) return true;
    Fail(DiagnosticCode::kShapeMismatch,
         std::string(what) + " are " + Text(a) + " and " + Text(b) + ": not provably equal");
    return false;
  };
  if (!equal(lhs.shape()[0], lhs_scale.shape()[0], "the rows of the left operand and its scale") ||
      !equal(lhs.shape()[1], lhs_scale.shape()[1],
             "the groups of the left operand and its scale") ||
      !equal(rhs.shape()[0], lhs.shape()[1], "the groups of both operands") ||
      !equal(rhs.shape()[2], rhs_scale.shape()[0],
             "the columns of the right operand and its scale") ||
      !equal(rhs.shape()[0], rhs_scale.shape()[1],
             "the groups of the right operand and its scale")) {
    return std::nullopt;
  }
  if (attr.group_size.resolved()) {
    const int64_t group = attr.group_size.value;
    if (group <= 0 || group % left.per_carrier != 0 || group % right.per_carrier != 0) {
      return Fail(
          DiagnosticCode::kFormat,
          "the group size is positive and fills whole carriers, not " + std::to_string(group));
    }
    if (!equal(lhs.shape()[2], group / left.per_carrier, "the left carriers of a group") ||
        !equal(rhs.shape()[1], group / right.per_carrier, "the right carriers of a group")) {
      return std::nullopt;
    }
  }
  return Type::Tensor(declared().dtype(), {lhs.shape()[0], rhs.shape()[2]});
}

std::optional<Type> Inference::SparseContract() {
  const SparseAttr& attr = op_.attr<SparseAttr>();
  if (!CheckTensor(0) || !CheckTensor(2) || !CheckSameDType(0, 2)) return std::nullopt;
  const Type &compressed = operand(0), &metadata = operand(1), &dense = operand(2);
  if (compressed.dtype() == DType::kBool) {
    return Fail(DiagnosticCode::kDtypeNotAllowed, "contract is defined for numbers, not bool");
  }
  if (!declared().IsTensor()) {
    return Fail(DiagnosticCode::kDeclaredType,
                "sparse_contract gives a tensor, not " + Text(declared()));
  }
  if (!CheckAccumulator(declared().dtype())) return std::nullopt;
  if (!CheckStatic(attr.compression_axis, ConstexprKind::kInt, "the compression axis")) {
    return std::nullopt;
  }
  if (!attr.compression_axis.resolved() || !PairsResolved(attr.contract.reduce) ||
      !PairsResolved(attr.contract.batch)) {
    return declared();
  }
  const int64_t axis = attr.compression_axis.value;
  if (!CheckAxis(axis, compressed.rank())) return std::nullopt;
  const auto pair = std::find_if(attr.contract.reduce.begin(), attr.contract.reduce.end(),
                                 [&](const AxisPair& p) { return p.lhs.value == axis; });
  if (pair == attr.contract.reduce.end()) {
    return Fail(DiagnosticCode::kContractAxes,
                "the compression axis " + std::to_string(axis) + " is not among the reduced axes");
  }
  if (!CheckAxis(pair->rhs.value, dense.rank())) return std::nullopt;
  // Two stored of four, or one of two: the compressed extent is half the logical one.
  const Extent logical = dense.shape()[pair->rhs.value];
  const int64_t group = attr.format == SparseFormat::kOneOfTwo ? 2 : 4;
  if (logical.IsConstant() && logical.constant() % group != 0) {
    return Fail(DiagnosticCode::kFormat, "the logical extent " + Text(logical) +
                                             " is not divisible by " + std::to_string(group));
  }
  const Extent& stored = compressed.shape()[axis];
  if (Extent::ProvablyDifferent(stored * 2, logical)) {
    return Fail(DiagnosticCode::kFormat, "the compressed extent " + Text(stored) +
                                             " is not half the logical extent " + Text(logical));
  }
  // Metadata has the compressed operand's shape, with one group where two values are stored; those
  // extents may have symbols of their own.
  const auto is_metadata = [&](const Type& type) {
    if (!type.IsTensor() || type.dtype() != DType::kIndex || type.rank() != compressed.rank()) {
      return false;
    }
    for (int i = 0; i < type.rank(); ++i) {
      const Extent& extent = type.shape()[i];
      if (i != axis && !(extent == compressed.shape()[i])) return false;
      if (i != axis) continue;
      if (Extent::ProvablyDifferent(extent * (group / 2), stored)) return false;
    }
    return true;
  };
  const bool fits = attr.format == SparseFormat::kOneOfTwo
                        ? is_metadata(metadata)
                        : metadata.kind() == TypeKind::kRecord &&
                              metadata.names() == std::vector<std::string>{"first", "second"} &&
                              is_metadata(metadata.fields()[0]) &&
                              metadata.fields()[0] == metadata.fields()[1];
  if (!fits) {
    return Fail(DiagnosticCode::kFormat,
                std::string("the metadata of ") +
                    (attr.format == SparseFormat::kOneOfTwo
                         ? "one_of_two is an index tensor like "
                         : "two_of_four is a record {first, second} of index tensors for ") +
                    Text(compressed) + ", not " + Text(metadata));
  }
  std::vector<Extent> logical_shape = compressed.shape();
  logical_shape[axis] = logical;
  std::vector<Extent> shape;
  if (!CheckContractPairs(Type::Tensor(compressed.dtype(), std::move(logical_shape)), dense,
                          attr.contract, &shape)) {
    return std::nullopt;
  }
  return Type::Tensor(declared().dtype(), std::move(shape));
}

std::optional<Type> Inference::Histogram() {
  if (!CheckElementwise(0) || !CheckElementwise(2)) return std::nullopt;
  const Type& values = operand(0);
  if (!IsInteger(values.dtype())) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                "the values of a histogram are integers, not " + Text(values));
  }
  if (!CheckIndexScalar(1, "the number of bins")) return std::nullopt;
  if (operand(2) != values.WithDType(DType::kBool)) {
    return Fail(DiagnosticCode::kTypeMismatch, "the valid operand of a histogram is " +
                                                   Text(values.WithDType(DType::kBool)) + ", not " +
                                                   Text(operand(2)));
  }
  const Extent bins = context_.extents.Of(op_.operands[1]);
  if ((Extent(0) - bins).ProvablyNonNegative()) {
    return Fail(DiagnosticCode::kBadExtent, "the number of bins is positive, not " + Text(bins));
  }
  const DTypeClass cls = declared().IsTensor() ? ClassOf(declared().dtype()) : DTypeClass::kBool;
  if (cls != DTypeClass::kSigned && cls != DTypeClass::kUnsigned) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                "a histogram counts in a fixed-width integer dtype, not " +
                    (declared().IsTensor() ? std::string(DTypeName(declared().dtype()))
                                           : Text(declared())));
  }
  return Type::Tensor(declared().dtype(), {bins});
}

std::optional<Type> Inference::Quantize() {
  if (op_.attr<FormatAttr>().lhs != QuantFormat::kQ8K) {
    return Fail(DiagnosticCode::kFormat, "quantize makes q8_k only");
  }
  if (!CheckTensor(0)) return std::nullopt;
  const Type& values = operand(0);
  if (values.dtype() != DType::kF32 || values.rank() != 2 ||
      !values.shape()[1].IsConstant(kRecordElements)) {
    return Fail(DiagnosticCode::kFormat,
                "quantize takes f32 of shape [G, 256], not " + Text(values));
  }
  return Type::Tensor(DType::kU8, {values.shape()[0], kQ8Bytes});
}

std::optional<Type> Inference::QuantizedDot() {
  const FormatAttr& attr = op_.attr<FormatAttr>();
  if (attr.lhs != QuantFormat::kQ4K || attr.rhs != QuantFormat::kQ8K) {
    return Fail(DiagnosticCode::kFormat,
                "quantized_dot takes q4_k on the left and q8_k on the right");
  }
  if (!CheckTensor(0) || !CheckTensor(1)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Type& records = operand(i);
    const int64_t bytes = i == 0 ? kQ4Bytes : kQ8Bytes;
    if (records.dtype() != DType::kU8 || records.rank() != 2 ||
        !records.shape()[1].IsConstant(bytes)) {
      return Fail(DiagnosticCode::kFormat, Ordinal(i) + " of quantized_dot is u8 of shape [G, " +
                                               std::to_string(bytes) + "], not " + Text(records));
    }
  }
  if (!(operand(0).shape()[0] == operand(1).shape()[0])) {
    return Fail(DiagnosticCode::kShapeMismatch,
                "quantized_dot takes as many records on both sides, not " +
                    Text(operand(0).shape()[0]) + " and " + Text(operand(1).shape()[0]));
  }
  return Type::Tensor(DType::kF32, {});
}

}  // namespace intent::infer
