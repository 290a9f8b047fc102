#include "compiler/interp/value.h"

#include <cstdlib>

#include "compiler/interp/strided.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {

std::shared_ptr<Storage> Storage::Allocate(MemoryBudget* budget, int64_t bytes) {
  if (!budget->Take(bytes)) return nullptr;
  auto* data = static_cast<std::byte*>(std::calloc(static_cast<size_t>(bytes) + 1, 1));
  if (data == nullptr) {
    budget->Give(bytes);
    return nullptr;
  }
  return std::shared_ptr<Storage>(new Storage(budget, bytes, data));
}

Storage::~Storage() {
  std::free(data_);
  budget_->Give(bytes_);
}

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<Storage> storage, int64_t first_element)
    : dtype_(dtype),
      shape_(std::move(shape)),
      count_(CountOf(shape_)),
      first_(first_element),
      storage_(std::move(storage)),
      data_(storage_->data() + first_ * StorageBytes(dtype)) {}

int64_t Tensor::element_bytes() const { return StorageBytes(dtype_); }

ScalarValue Tensor::At(int64_t index) const {
  return numerics::LoadScalar(dtype_, data_ + index * element_bytes());
}

void Tensor::Set(int64_t index, const ScalarValue& value) {
  numerics::StoreScalar(value, data_ + index * element_bytes());
}

Tensor Tensor::Reshaped(Shape shape) const {
  return Tensor(dtype_, std::move(shape), storage_, first_);
}

Tensor Tensor::Reinterpreted(DType dtype) const { return Tensor(dtype, shape_, storage_, first_); }

Tensor Tensor::Run(int64_t first, Shape shape) const {
  return Tensor(dtype_, std::move(shape), storage_, first_ + first);
}

int64_t Domain::Range::Count() const { return begin >= end ? 0 : (end - begin - 1) / step + 1; }

int64_t Domain::Range::At(int64_t ordinal) const { return begin + ordinal * step; }

RuntimeValue RuntimeValue::Product(Fields fields) {
  RuntimeValue value;
  value.value_ = std::make_shared<const Fields>(std::move(fields));
  return value;
}

std::span<const RuntimeValue> RuntimeValue::fields() const { return *Get<ProductPtr>(); }

Shape RuntimeValue::shape() const {
  if (IsScalar()) return {};
  if (IsTensor()) return tensor().shape();
  if (const auto* held = std::get_if<std::shared_ptr<const Resource>>(&value_)) {
    return (*held)->extents;
  }
  Shape shape;
  for (const Domain::Range& range : domain().ranges) shape.push_back(range.Count());
  return shape;
}

std::vector<RuntimeValue> LeavesOf(const RuntimeValue& value) {
  std::vector<RuntimeValue> leaves, stack{value};
  while (!stack.empty()) {
    RuntimeValue next = std::move(stack.back());
    stack.pop_back();
    if (!next.IsProduct()) {
      leaves.push_back(std::move(next));
      continue;
    }
    const auto fields = next.fields();
    for (size_t i = fields.size(); i-- > 0;) stack.push_back(fields[i]);
  }
  return leaves;
}

std::vector<Type> LeafTypes(const Type& type) {
  std::vector<Type> leaves, stack{type};
  while (!stack.empty()) {
    const Type next = stack.back();
    stack.pop_back();
    if (!next.IsProduct()) {
      leaves.push_back(next);
      continue;
    }
    for (size_t i = next.fields().size(); i-- > 0;) stack.push_back(next.fields()[i]);
  }
  return leaves;
}

std::string ShapeText(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace intent::interp
