// Contractions and their surface forms (language.md 9), histograms, quantised operations.

#include "compiler/builder/state.h"

namespace intent {

bool KernelBuilder::State::CheckMatrix(const Operand& operand, int min_rank, int max_rank,
                                       const char* what) {
  if (!CheckElementwise(operand, what)) return false;
  if (operand.IsValue()) {
    const Type& type = TypeOf(operand.value());
    if (type.IsTensor() && type.rank() >= min_rank && type.rank() <= max_rank) return true;
  }
  Fail(DiagnosticCode::kRankMismatch,
       std::string(what) + " is a tensor of rank " + std::to_string(min_rank) +
           (max_rank > min_rank ? " or more" : "") + ", not " + Describe(operand));
  return false;
}

// Contracts axis `lhs_axis` with `rhs_axis`, both counted behind the operands' leading batch axes,
// which broadcast from the right. The result has batch axes, then the left's, then the right's.
Operand KernelBuilder::State::BatchedContract(Operand lhs, Operand rhs, int lhs_own, int rhs_own,
                                              int lhs_axis, int rhs_axis, DType acc_dtype) {
  const Type l = TypeOf(lhs.value()), r = TypeOf(rhs.value());
  const std::vector<Extent> l_batch(l.shape().begin(), l.shape().end() - lhs_own);
  const std::vector<Extent> r_batch(r.shape().begin(), r.shape().end() - rhs_own);
  ContractAttr attr;
  int64_t l_lead = static_cast<int64_t>(l_batch.size()), r_lead = 0;
  // A right side without batch axes serves every batch of the left as it is.
  if (!r_batch.empty()) {
    const auto batch = BroadcastShapes(l_batch, r_batch);
    if (!batch) {
      return Fail(DiagnosticCode::kShapeMismatch,
                  "the batch shapes " + ShapeToString(l_batch, namer) + " and " +
                      ShapeToString(r_batch, namer) + " do not broadcast");
    }
    const auto spread = [&](const Operand& value, const Type& type, int own) {
      std::vector<Extent> shape = *batch;
      shape.insert(shape.end(), type.shape().end() - own, type.shape().end());
      return BroadcastTo(value, shape, true);
    };
    lhs = spread(lhs, l, lhs_own);
    rhs = spread(rhs, r, rhs_own);
    if (!lhs.IsValue() || !rhs.IsValue()) return {};
    l_lead = r_lead = static_cast<int64_t>(batch->size());
    for (int64_t i = 0; i < l_lead; ++i) attr.batch.push_back({i, i});
  }
  attr.reduce.push_back({l_lead + lhs_axis, r_lead + rhs_axis});
  return Emit(OpKind::kContract, Type::Tensor(acc_dtype, {}), {lhs.value(), rhs.value()},
              std::move(attr));
}

Operand KernelBuilder::Contract(const Operand& lhs, const Operand& rhs,
                                std::span<const std::pair<int64_t, int64_t>> reduce,
                                std::span<const std::pair<int64_t, int64_t>> batch,
                                DType acc_dtype) {
  State& s = *state_;
  if (!s.Usable(lhs) || !s.Usable(rhs)) return {};
  auto attr = s.ContractAxes(lhs, rhs, reduce, batch);
  if (!attr) return {};
  return s.Emit(OpKind::kContract, Type::Tensor(acc_dtype, {}), {lhs.value(), rhs.value()},
                std::move(*attr));
}

std::optional<ContractAttr> KernelBuilder::State::ContractAxes(
    const Operand& lhs, const Operand& rhs, std::span<const std::pair<int64_t, int64_t>> reduce,
    std::span<const std::pair<int64_t, int64_t>> batch) {
  for (const Operand* operand : {&lhs, &rhs}) {
    if (!CheckElementwise(*operand, "the operand of a contraction")) return std::nullopt;
    if (operand->IsValue() && TypeOf(operand->value()).IsTensor()) continue;
    Fail(DiagnosticCode::kTypeMismatch,
         "the operand of a contraction is a tensor, not " + Describe(*operand));
    return std::nullopt;
  }
  ContractAttr attr;
  const auto add = [&](std::span<const std::pair<int64_t, int64_t>> pairs,
                       std::vector<AxisPair>* out) {
    for (const auto& [left, right] : pairs) {
      const auto l = Axis(left, TypeOf(lhs.value()).rank());
      const auto r = Axis(right, TypeOf(rhs.value()).rank());
      if (!l || !r) return false;
      out->push_back({*l, *r});
    }
    return true;
  };
  if (!add(reduce, &attr.reduce) || !add(batch, &attr.batch)) return std::nullopt;
  return attr;
}

namespace {

constexpr int kAnyRank = 1 << 20;

}  // namespace

Operand KernelBuilder::Dot(const Operand& l, const Operand& r, DType acc_dtype) {
  State& s = *state_;
  if (!s.Usable(l) || !s.Usable(r)) return {};
  if (!s.CheckMatrix(l, 1, 1, "the left operand of dot") ||
      !s.CheckMatrix(r, 1, 1, "the right operand of dot")) {
    return {};
  }
  return s.BatchedContract(l, r, 1, 1, 0, 0, acc_dtype);
}

Operand KernelBuilder::Matvec(const Operand& m, const Operand& v, DType acc_dtype, bool transpose) {
  State& s = *state_;
  if (!s.Usable(m) || !s.Usable(v)) return {};
  if (!s.CheckMatrix(m, 2, kAnyRank, "the matrix of matvec") ||
      !s.CheckMatrix(v, 1, kAnyRank, "the vector of matvec")) {
    return {};
  }
  return s.BatchedContract(m, v, 2, 1, transpose ? 0 : 1, 0, acc_dtype);
}

Operand KernelBuilder::Vecmat(const Operand& v, const Operand& m, DType acc_dtype, bool transpose) {
  State& s = *state_;
  if (!s.Usable(v) || !s.Usable(m)) return {};
  if (!s.CheckMatrix(v, 1, kAnyRank, "the vector of vecmat") ||
      !s.CheckMatrix(m, 2, kAnyRank, "the matrix of vecmat")) {
    return {};
  }
  return s.BatchedContract(v, m, 1, 2, 0, transpose ? 1 : 0, acc_dtype);
}

Operand KernelBuilder::Matmul(const Operand& l, const Operand& r, DType acc_dtype,
                              bool transpose_lhs, bool transpose_rhs) {
  State& s = *state_;
  if (!s.Usable(l) || !s.Usable(r)) return {};
  if (!s.CheckMatrix(l, 2, kAnyRank, "the left operand of matmul") ||
      !s.CheckMatrix(r, 2, kAnyRank, "the right operand of matmul")) {
    return {};
  }
  return s.BatchedContract(l, r, 2, 2, transpose_lhs ? 0 : 1, transpose_rhs ? 1 : 0, acc_dtype);
}

Operand KernelBuilder::Outer(const Operand& l, const Operand& r) {
  State& s = *state_;
  if (!s.Usable(l) || !s.Usable(r)) return {};
  if (!s.CheckMatrix(l, 1, 1, "the left operand of outer") ||
      !s.CheckMatrix(r, 1, 1, "the right operand of outer")) {
    return {};
  }
  const Type x = s.TypeOf(l.value()), y = s.TypeOf(r.value());
  const Operand column =
      s.Emit(OpKind::kReshape, Type::Tensor(x.dtype(), {x.shape()[0], 1}), {l.value()});
  const Operand row =
      s.Emit(OpKind::kReshape, Type::Tensor(y.dtype(), {1, y.shape()[0]}), {r.value()});
  return Binary(BinaryKind::kMul, column, row);
}

Operand KernelBuilder::ScaledContract(const Operand& lhs, const Operand& lhs_scale,
                                      const Operand& rhs, const Operand& rhs_scale,
                                      ScaledFormat lhs_format, ScaledFormat rhs_format,
                                      int64_t group_size, DType acc_dtype) {
  State& s = *state_;
  const std::array<Operand, 4> operands = {lhs, lhs_scale, rhs, rhs_scale};
  if (!s.Usable(operands)) return {};
  std::vector<ValueId> values;
  for (const Operand& operand : operands) {
    if (!s.CheckMatrix(operand, 2, 3, "the operand of scaled_contract")) return {};
    values.push_back(operand.value());
  }
  return s.Emit(OpKind::kScaledContract, Type::Tensor(acc_dtype, {}), std::move(values),
                ScaledAttr{lhs_format, rhs_format, group_size});
}

Operand KernelBuilder::SparseContract(const Operand& compressed, const Operand& metadata,
                                      const Operand& rhs, SparseFormat format,
                                      int64_t compression_axis,
                                      std::span<const std::pair<int64_t, int64_t>> reduce,
                                      std::span<const std::pair<int64_t, int64_t>> batch,
                                      DType acc_dtype) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {compressed, metadata, rhs};
  if (!s.Usable(operands)) return {};
  auto attr = s.ContractAxes(compressed, rhs, reduce, batch);
  if (!attr) return {};
  const auto axis = s.Axis(compression_axis, s.TypeOf(compressed.value()).rank());
  if (!axis) return {};
  if (!metadata.IsValue()) {
    return s.Fail(
        DiagnosticCode::kFormat,
        "sparse metadata is an index tensor or a record of two, not " + s.Describe(metadata));
  }
  return s.Emit(OpKind::kSparseContract, Type::Tensor(acc_dtype, {}),
                {compressed.value(), metadata.value(), rhs.value()},
                SparseAttr{format, *axis, std::move(*attr)});
}

Operand KernelBuilder::Histogram(const Operand& values, const Operand& bins, const Operand& valid,
                                 DType count_dtype) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {values, bins, valid};
  if (!s.Usable(operands)) return {};
  if (!s.CheckMatrix(values, 0, kAnyRank, "the values of a histogram")) return {};
  const Operand count = s.IndexScalar(bins, "the number of bins");
  Operand tests = s.Materialize(valid);
  if (!count.IsValue() || !tests.IsValue() ||
      !s.CheckElementwise(tests, "the valid operand of a histogram")) {
    return {};
  }
  if (s.TypeOf(tests.value()).dtype() != DType::kBool) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "the valid operand of a histogram is bool, not " + s.Describe(tests));
  }
  tests = s.BroadcastTo(tests, s.TypeOf(values.value()).shape(), true);
  if (!tests.IsValue()) return {};
  return s.Emit(OpKind::kHistogram, Type::Tensor(count_dtype, {}),
                {values.value(), count.value(), tests.value()});
}

Operand KernelBuilder::Quantize(const Operand& values) {
  State& s = *state_;
  if (!s.Usable(values) || !s.CheckMatrix(values, 2, 2, "the operand of quantize")) return {};
  return s.Emit(OpKind::kQuantize, Type::None(), {values.value()},
                FormatAttr{QuantFormat::kQ8K, QuantFormat::kQ8K});
}

Operand KernelBuilder::QuantizedDot(const Operand& lhs, const Operand& rhs) {
  State& s = *state_;
  if (!s.Usable(lhs) || !s.Usable(rhs) ||
      !s.CheckMatrix(lhs, 2, 2, "the left operand of quantized_dot") ||
      !s.CheckMatrix(rhs, 2, 2, "the right operand of quantized_dot")) {
    return {};
  }
  return s.Emit(OpKind::kQuantizedDot, Type::None(), {lhs.value(), rhs.value()},
                FormatAttr{QuantFormat::kQ4K, QuantFormat::kQ8K});
}

}  // namespace intent
