// Contractions (seed 000 chapters 3, 5.3 and 7, language.md chapter 9). Each result element is a
// sum in the accumulation type, taken in short serial runs that merge as a balanced tree.

#include <algorithm>

#include "compiler/interp/machine.h"
#include "compiler/interp/strided.h"
#include "compiler/interp/text.h"
#include "compiler/numerics/loops.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

constexpr int64_t kRun = 16;       // terms added serially
constexpr int64_t kColumns = 512;  // columns of one pass: bounds the stack of partial rows

// Adds sum(lhs[k] * rhs[k][n]) over `depth` terms for each of `columns` columns into out.
template <typename T>
void ContractRow(const T* lhs, const T* rhs, int64_t depth, int64_t row_stride, int64_t columns,
                 std::vector<T>* scratch, T* out) {
  std::vector<int64_t> runs;  // terms in each partial row of scratch
  const auto row = [&](size_t i) { return scratch->data() + static_cast<int64_t>(i) * kColumns; };
  const auto merge = [&] {
    T* left = row(runs.size() - 2);
    const T* right = row(runs.size() - 1);
    for (int64_t n = 0; n < columns; ++n) left[n] += right[n];
    runs[runs.size() - 2] += runs.back();
    runs.pop_back();
  };
  for (int64_t first = 0; first < depth; first += kRun) {
    const int64_t last = std::min(depth, first + kRun);
    runs.push_back(kRun);
    if (scratch->size() < runs.size() * kColumns) scratch->resize(runs.size() * kColumns);
    T* sums = row(runs.size() - 1);
    std::fill_n(sums, columns, T{0});
    for (int64_t k = first; k < last; ++k) {
      const T factor = lhs[k];
      const T* terms = rhs + k * row_stride;
      for (int64_t n = 0; n < columns; ++n) sums[n] += factor * terms[n];
    }
    while (runs.size() > 1 && runs[runs.size() - 2] == runs.back()) merge();
  }
  while (runs.size() > 1) merge();
  if (!runs.empty()) std::copy_n(row(0), columns, out);
}

// out[b][m][n] = sum over k of lhs[b][m][k] * rhs[b][k][n]; out is zero before.
template <typename T, typename Interrupted>
void ContractAll(const Tensor& lhs, const Tensor& rhs, Tensor* out, int64_t batch, int64_t rows,
                 int64_t depth, int64_t columns, Interrupted interrupted) {
  const T* left = reinterpret_cast<const T*>(lhs.data());
  const T* right = reinterpret_cast<const T*>(rhs.data());
  T* result = reinterpret_cast<T*>(out->mutable_data());
  std::vector<T> scratch;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t m = 0; m < rows; ++m) {
      if (interrupted()) return;
      for (int64_t n = 0; n < columns; n += kColumns) {
        ContractRow(left + (b * rows + m) * depth, right + b * depth * columns + n, depth, columns,
                    std::min(kColumns, columns - n), &scratch,
                    result + (b * rows + m) * columns + n);
      }
    }
  }
}

// Where sums are taken: integers modulo 2^64 (or 2^128), which any narrower result reduces further;
// narrow floats in f32, where their products are exact; f64 if anything wider than f32 takes part.
DType AccumulatorOf(DType lhs, DType result) {
  if (!IsFloat(result)) {
    const bool wide = BitWidth(result) > 64 || BitWidth(lhs) > 64;
    return wide ? DType::kI128 : DType::kI64;
  }
  if (result == DType::kF64 || lhs == DType::kF64 || !IsFloat(lhs)) return DType::kF64;
  return DType::kF32;
}

bool Contains(const std::vector<int64_t>& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

int64_t Product(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape extents;
  for (int64_t axis : axes) extents.push_back(shape[static_cast<size_t>(axis)]);
  return CountOf(extents);
}

std::vector<int64_t> Concat(std::initializer_list<std::vector<int64_t>> parts) {
  std::vector<int64_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The axes of one operand by their role.
struct Roles {
  std::vector<int64_t> batch, reduced, free;
};

Roles RolesOf(const Tensor& tensor, std::vector<int64_t> batch, std::vector<int64_t> reduced) {
  Roles roles{std::move(batch), std::move(reduced), {}};
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    if (!Contains(roles.batch, axis) && !Contains(roles.reduced, axis)) roles.free.push_back(axis);
  }
  return roles;
}

// 7: e2m1 magnitudes by code.
constexpr double kE2M1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

bool IsE2M1(ScaledFormat format) {
  return format == ScaledFormat::kE2M1E8M0 || format == ScaledFormat::kE2M1E4M3;
}

// 7: e2m1 has its sign at bit 3, and the earlier element in the low nibble.
double DecodeElement(const ScalarValue& carrier, ScaledFormat format, int nibble) {
  if (!IsE2M1(format)) {
    return numerics::AsDouble({.dtype = DType::kF8E4M3FN, .bits = carrier.bits});
  }
  const int code = static_cast<int>(carrier.bits >> (4 * nibble)) & 0xf;
  return (code & 8) != 0 ? -kE2M1[code & 7] : kE2M1[code & 7];
}

// 7: e8m0 is 2^(code - 127), 255 NaN; otherwise f8e4m3fn.
double DecodeScale(const ScalarValue& carrier, ScaledFormat format) {
  const bool e8m0 = format == ScaledFormat::kE2M1E8M0 || format == ScaledFormat::kE4M3E8M0;
  return numerics::AsDouble(
      {.dtype = e8m0 ? DType::kF8E8M0FNU : DType::kF8E4M3FN, .bits = carrier.bits});
}

}  // namespace

// 3, L 9: operands, accumulator and result have dtypes of their own; no members give zero.
RuntimeValue Machine::Contract(const Op& op) {
  if (checked_ != nullptr && !CheckRelaxed(op)) return {};
  return ContractTensors(op, Get(op, 0).tensor(), Get(op, 1).tensor(), op.attr<ContractAttr>());
}

RuntimeValue Machine::ContractTensors(const Op& op, const Tensor& lhs, const Tensor& rhs,
                                      const ContractAttr& attr) {
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_reduced, rhs_reduced;
  for (const AxisPair& pair : attr.batch) {
    lhs_batch.push_back(pair.lhs.value);
    rhs_batch.push_back(pair.rhs.value);
  }
  for (const AxisPair& pair : attr.reduce) {
    lhs_reduced.push_back(pair.lhs.value);
    rhs_reduced.push_back(pair.rhs.value);
  }
  const Roles left = RolesOf(lhs, lhs_batch, lhs_reduced);
  const Roles right = RolesOf(rhs, rhs_batch, rhs_reduced);
  const auto lhs_paired = Concat({left.batch, left.reduced});
  const auto rhs_paired = Concat({right.batch, right.reduced});
  for (size_t i = 0; i < lhs_paired.size(); ++i) {
    const int64_t a = lhs.shape()[static_cast<size_t>(lhs_paired[i])];
    const int64_t b = rhs.shape()[static_cast<size_t>(rhs_paired[i])];
    if (a == b) continue;
    Fail(ErrorKind::kBadShape, op,
         "a contraction pairs axes of extents " + std::to_string(a) + " and " + std::to_string(b));
    return {};
  }

  const DType result_dtype = ResultType(op).dtype();
  const DType accumulator = AccumulatorOf(lhs.dtype(), result_dtype);
  const auto lhs_order = Concat({left.batch, left.free, left.reduced});
  const auto rhs_order = Concat({right.batch, right.reduced, right.free});
  const auto a = Permuted(op, lhs, lhs_order);
  if (failed()) return {};
  const auto b = Permuted(op, rhs, rhs_order);
  if (failed()) return {};
  const RuntimeValue wide_a = CastTo(op, TensorPtr(a), accumulator);
  if (failed()) return {};
  const RuntimeValue wide_b = CastTo(op, TensorPtr(b), accumulator);
  if (failed()) return {};

  const int64_t batch = Product(lhs.shape(), left.batch), rows = Product(lhs.shape(), left.free);
  const int64_t depth = Product(lhs.shape(), left.reduced);
  const int64_t columns = Product(rhs.shape(), right.free);
  Shape shape;
  for (int64_t axis : Concat({left.batch, left.free})) {
    shape.push_back(lhs.shape()[static_cast<size_t>(axis)]);
  }
  for (int64_t axis : right.free) shape.push_back(rhs.shape()[static_cast<size_t>(axis)]);
  auto sums = NewTensor(op, accumulator, shape);
  if (failed()) return {};
  const auto run = [&]<typename T>() {
    ContractAll<T>(wide_a.tensor(), wide_b.tensor(), sums.get(), batch, rows, depth, columns,
                   [&] { return Interrupted(op); });
  };
  if (sums->count() > 0) {
    if (accumulator == DType::kF32) run.operator()<float>();
    if (accumulator == DType::kF64) run.operator()<double>();
    if (accumulator == DType::kI64) run.operator()<uint64_t>();
    if (accumulator == DType::kI128) run.operator()<unsigned __int128>();
  }
  if (failed()) return {};
  const RuntimeValue rounded = CastTo(op, TensorPtr(sums), result_dtype);
  if (failed()) return {};

  // Batch axes return to their place among the axes of lhs.
  std::vector<int64_t> back;
  for (int64_t axis = 0; axis < lhs.rank(); ++axis) {
    const auto found = [axis](const std::vector<int64_t>& axes) {
      return std::find(axes.begin(), axes.end(), axis) - axes.begin();
    };
    if (Contains(left.batch, axis)) {
      back.push_back(found(left.batch));
    } else if (Contains(left.free, axis)) {
      back.push_back(static_cast<int64_t>(left.batch.size()) + found(left.free));
    }
  }
  while (back.size() < shape.size()) back.push_back(static_cast<int64_t>(back.size()));
  if (std::is_sorted(back.begin(), back.end())) {
    return Shaped(ResultType(op), rounded.tensor());
  }
  const auto result = Permuted(op, rounded.tensor(), back);
  if (failed()) return {};
  return Shaped(ResultType(op), *result);
}

// 7: decodes and scales both sides exactly in f64, then contracts over the flattened groups.
RuntimeValue Machine::ScaledContract(const Op& op) {
  const ScaledAttr& attr = op.attr<ScaledAttr>();
  const Tensor &lhs = Get(op, 0).tensor(), &lhs_scale = Get(op, 1).tensor();
  const Tensor &rhs = Get(op, 2).tensor(), &rhs_scale = Get(op, 3).tensor();
  const int64_t rows = lhs.shape()[0], groups = lhs.shape()[1], columns = rhs.shape()[2];
  const int64_t size = attr.group_size.value;
  const int64_t lhs_per = IsE2M1(attr.lhs) ? 2 : 1, rhs_per = IsE2M1(attr.rhs) ? 2 : 1;
  if (lhs.shape()[2] * lhs_per != size || rhs.shape()[1] * rhs_per != size ||
      rhs.shape()[0] != groups || lhs_scale.shape() != Shape{rows, groups} ||
      rhs_scale.shape() != Shape{columns, groups}) {
    Fail(ErrorKind::kBadShape, op, "carriers and scales of a scaled contraction do not agree");
    return {};
  }
  // Beside an extent of zero, groups * size may leave int64.
  if (rows == 0 || columns == 0) {
    const auto empty = NewTensor(op, ResultType(op).dtype(), {rows, columns});
    if (failed()) return {};
    return TensorPtr(empty);
  }
  auto left = NewTensor(op, DType::kF64, {rows, groups * size});
  if (failed()) return {};
  auto right = NewTensor(op, DType::kF64, {groups * size, columns});
  if (failed()) return {};
  auto* left_values = reinterpret_cast<double*>(left->mutable_data());
  auto* right_values = reinterpret_cast<double*>(right->mutable_data());
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t m = 0; m < rows; ++m) {
      const double scale = DecodeScale(lhs_scale.At(m * groups + g), attr.lhs);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t carrier = (m * groups + g) * (size / lhs_per) + i / lhs_per;
        left_values[(m * groups + g) * size + i] =
            scale * DecodeElement(lhs.At(carrier), attr.lhs, static_cast<int>(i % lhs_per));
      }
    }
    for (int64_t n = 0; n < columns; ++n) {
      const double scale = DecodeScale(rhs_scale.At(n * groups + g), attr.rhs);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t carrier = (g * (size / rhs_per) + i / rhs_per) * columns + n;
        right_values[(g * size + i) * columns + n] =
            scale * DecodeElement(rhs.At(carrier), attr.rhs, static_cast<int>(i % rhs_per));
      }
    }
  }
  return ContractTensors(op, *left, *right, ContractAttr{.reduce = {{1, 0}}});
}

// 7: spreads the compressed operand over its logical extent, zeros elsewhere, then contracts.
RuntimeValue Machine::SparseContract(const Op& op) {
  const SparseAttr& attr = op.attr<SparseAttr>();
  const Tensor& compressed = Get(op, 0).tensor();
  const Tensor& dense = Get(op, 2).tensor();
  const Leaves metadata = LeavesOf(Get(op, 1));
  const int64_t axis = attr.compression_axis.value;
  const int64_t kept = attr.format == SparseFormat::kOneOfTwo ? 1 : 2;
  const int64_t group = 2 * kept;
  std::optional<int64_t> logical;
  for (const auto* pairs : {&attr.contract.reduce, &attr.contract.batch}) {
    for (const AxisPair& pair : *pairs) {
      if (pair.lhs.value == axis) logical = dense.shape()[static_cast<size_t>(pair.rhs.value)];
    }
  }
  if (!logical) {
    logical = 0;
    if (__builtin_mul_overflow(compressed.shape()[static_cast<size_t>(axis)], 2, &*logical)) {
      Fail(ErrorKind::kBadShape, op, "a logical extent beyond 2^63");
      return {};
    }
  }
  Shape shape = compressed.shape();
  const int64_t groups = *logical / group;
  bool agrees = *logical % group == 0 && shape[static_cast<size_t>(axis)] == groups * kept &&
                static_cast<int64_t>(metadata.size()) == kept;
  shape[static_cast<size_t>(axis)] = groups;
  for (const RuntimeValue& part : metadata) agrees = agrees && part.shape() == shape;
  if (!agrees) {
    Fail(ErrorKind::kBadShape, op,
         "compressed values and metadata do not cover the logical extent " +
             std::to_string(*logical));
    return {};
  }
  const int64_t outer = CountOf(std::span(shape).first(static_cast<size_t>(axis)));
  const int64_t inner = CountOf(std::span(shape).subspan(static_cast<size_t>(axis) + 1));
  shape[static_cast<size_t>(axis)] = *logical;
  auto spread = NewTensor(op, compressed.dtype(), shape);
  if (failed()) return {};
  // Beside an extent of zero the others may be of any size.
  const bool empty = spread->count() == 0;
  for (int64_t o = 0; !empty && o < outer; ++o) {
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t i = 0; i < inner; ++i) {
        __int128 previous = -1;
        for (int64_t k = 0; k < kept; ++k) {
          const __int128 position = numerics::AsInteger(
              metadata[static_cast<size_t>(k)].tensor().At((o * groups + g) * inner + i));
          if (position <= previous || position >= group) {
            Fail(ErrorKind::kSparseMetadata, op,
                 "sparse metadata names position " + Text(position) + " after " + Text(previous) +
                     " in a group of " + std::to_string(group) + ", group " + std::to_string(g));
            return {};
          }
          previous = position;
          const int64_t target = g * group + static_cast<int64_t>(position);
          spread->Set((o * *logical + target) * inner + i,
                      compressed.At((o * groups * kept + g * kept + k) * inner + i));
        }
      }
    }
  }
  return ContractTensors(op, *spread, dense, attr.contract);
}

}  // namespace intent::interp
