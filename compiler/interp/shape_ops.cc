// Shapes and products (language.md chapter 5).

#include <algorithm>

#include "compiler/interp/machine.h"
#include "compiler/interp/strided.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
// L 5: row-major order and count stay.
RuntimeValue Machine::Reshape(const Op& op) {
  const RuntimeValue& value = Get(op, 0);
  const Type& type = ResultType(op);
  const std::optional<Shape> shape = EvaluateShape(op, type);
  if (!shape) return {};
  const int64_t elements = value.IsScalar() ? 1 : value.tensor().count();
  __int128 count = 1;
  for (int64_t extent : *shape) {
    count *= extent;
    if (count > elements) break;
  }
  const bool empty = std::find(shape->begin(), shape->end(), 0) != shape->end();
  if ((empty ? 0 : count) != elements) {
    Fail(ErrorKind::kBadShape, op,
         "a reshape of " + (value.IsScalar() ? "a scalar" : ShapeText(value.shape())) + " to " +
             ShapeText(*shape) + " changes the number of elements");
    return {};
  }
  if (value.IsScalar()) return TensorPtr(BroadcastTo(op, value, *shape));
  return Shaped(type, value.tensor().Reshaped(*shape));
}

std::shared_ptr<Tensor> Machine::Permuted(const Op& op, const Tensor& source,
                                          std::span<const int64_t> axes) {
  const std::vector<int64_t> dense = DenseStrides(source.shape());
  Shape shape;
  std::vector<int64_t> strides;
  for (int64_t axis : axes) {
    shape.push_back(source.shape()[static_cast<size_t>(axis)]);
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  auto result = NewTensor(op, source.dtype(), shape);
  if (failed()) return nullptr;
  CopyStrided(source.element_bytes(), shape, source.data(), strides, result->mutable_data(),
              DenseStrides(shape));
  return result;
}

// L 5: a permutation of the axes.
RuntimeValue Machine::Transpose(const Op& op) {
  std::vector<int64_t> axes;
  for (const StaticInt& axis : op.attr<AxesAttr>().axes) axes.push_back(axis.value);
  const RuntimeValue& value = Get(op, 0);
  if (value.IsScalar()) return value;
  return TensorPtr(Permuted(op, value.tensor(), axes));
}

std::shared_ptr<Tensor> Machine::BroadcastTo(const Op& op, const RuntimeValue& value,
                                             const Shape& shape) {
  const Shape from = value.shape();
  const std::vector<int64_t> dense = DenseStrides(from);
  std::vector<int64_t> strides(shape.size(), 0);
  bool fits = from.size() <= shape.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const size_t at = shape.size() - from.size() + i;
    if (from[i] == shape[at]) {
      strides[at] = dense[i];
    } else {
      fits = from[i] == 1;
    }
  }
  if (!fits) {
    Fail(ErrorKind::kBadShape, op, ShapeText(from) + " does not broadcast to " + ShapeText(shape));
    return nullptr;
  }
  auto result = NewTensor(op, value.dtype(), shape);
  if (failed()) return nullptr;
  if (value.IsTensor()) {
    CopyStrided(result->element_bytes(), shape, value.tensor().data(), strides,
                result->mutable_data(), DenseStrides(shape));
  } else {
    alignas(16) std::byte cell[16];
    numerics::StoreScalar(value.scalar(), cell);
    CopyStrided(result->element_bytes(), shape, cell, strides, result->mutable_data(),
                DenseStrides(shape));
  }
  return result;
}

// 2, L 5: right-aligned; only literal extents of 1 spread, which the verifier saw to.
RuntimeValue Machine::Broadcast(const Op& op) {
  const std::optional<Shape> shape = EvaluateShape(op, ResultType(op));
  if (!shape) return {};
  const RuntimeValue& value = Get(op, 0);
  if (value.IsTensor() && value.shape() == *shape) return value;
  return TensorPtr(BroadcastTo(op, value, *shape));
}

// 2: nonnegative extents; zero ones make an empty tensor.
RuntimeValue Machine::Full(const Op& op) {
  const std::optional<Shape> shape = EvaluateShape(op, ResultType(op));
  if (!shape) return {};
  return TensorPtr(BroadcastTo(op, Get(op, 0), *shape));
}

// L 5: one trailing axis of two.
RuntimeValue Machine::Join(const Op& op) {
  Shape shape = Get(op, 0).shape();
  if (shape != Get(op, 1).shape()) {
    Fail(ErrorKind::kBadShape, op,
         "join of shapes " + ShapeText(shape) + " and " + ShapeText(Get(op, 1).shape()));
    return {};
  }
  shape.push_back(2);
  auto result = NewTensor(op, Get(op, 0).dtype(), shape);
  if (failed()) return {};
  std::vector<int64_t> strides = DenseStrides(shape);
  strides.pop_back();
  shape.pop_back();
  const std::vector<int64_t> dense = DenseStrides(shape);
  for (size_t side = 0; side < 2; ++side) {
    if (Get(op, side).IsScalar()) {
      result->Set(static_cast<int64_t>(side), Get(op, side).scalar());
      continue;
    }
    const Tensor& source = Get(op, side).tensor();
    CopyStrided(source.element_bytes(), shape, source.data(), dense,
                result->mutable_data() + static_cast<int64_t>(side) * source.element_bytes(),
                strides);
  }
  return TensorPtr(result);
}

// 1: immutable products; tuples and records differ in type only.
RuntimeValue Machine::MakeProduct(const Op& op) {
  Fields fields;
  for (size_t i = 0; i < op.operands.size(); ++i) fields.push_back(Get(op, i));
  return RuntimeValue::Product(std::move(fields));
}

RuntimeValue Machine::Extract(const Op& op) {
  return Get(op, 0).fields()[static_cast<size_t>(op.attr<AxisAttr>().axis.value)];
}

}  // namespace intent::interp
