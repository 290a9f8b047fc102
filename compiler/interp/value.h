#pragma once

// Values of a running kernel. Tensors are dense, row-major, immutable once they are an operation's
// result, and shared: copying a value is cheap.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compiler/diag/check.h"
#include "compiler/ir/op_attributes.h"
#include "compiler/ir/type.h"

namespace intent::interp {

using Shape = std::vector<int64_t>;

// Bytes of live storage, against a limit. Outlives all storage counted in it.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}
  bool Take(int64_t bytes) {
    if (bytes > limit_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void Give(int64_t bytes) { used_ -= bytes; }
  int64_t limit() const { return limit_; }

 private:
  int64_t limit_;
  int64_t used_ = 0;
};

// Zeroed storage, aligned for every dtype.
class Storage {
 public:
  // Null: beyond the budget, or the system has no memory.
  static std::shared_ptr<Storage> Allocate(MemoryBudget* budget, int64_t bytes);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
  std::byte* data() { return data_; }

 private:
  Storage(MemoryBudget* budget, int64_t bytes, std::byte* data)
      : budget_(budget), bytes_(bytes), data_(data) {}
  MemoryBudget* budget_;
  int64_t bytes_;
  std::byte* data_;
};

class Tensor {
 public:
  Tensor(DType dtype, Shape shape, std::shared_ptr<Storage> storage, int64_t first_element = 0);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t count() const { return count_; }
  int64_t element_bytes() const;
  const std::byte* data() const { return data_; }
  std::byte* mutable_data() { return data_; }  // for the operation that makes it
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  ScalarValue At(int64_t index) const;
  void Set(int64_t index, const ScalarValue& value);

  // The same elements under another shape or element type of equal size; a run of elements.
  Tensor Reshaped(Shape shape) const;
  Tensor Reinterpreted(DType dtype) const;
  Tensor Run(int64_t first, Shape shape) const;

 private:
  DType dtype_;
  Shape shape_;
  int64_t count_;
  int64_t first_;
  std::shared_ptr<Storage> storage_;
  std::byte* data_;
};

// A product of half-open ranges with positive steps; one range is a domain of rank 1.
struct Domain {
  // end - begin does not overflow.
  struct Range {
    int64_t begin = 0, end = 0, step = 1;
    int64_t Count() const;
    // The member at an ordinal in [0, Count()).
    int64_t At(int64_t ordinal) const;
  };
  std::vector<Range> ranges;
};

class ShadowRegion;

// A view or buffer: where its elements lie.
struct Resource {
  DType dtype = DType::kBool;
  Shape extents;
  std::vector<int64_t> strides;          // in elements
  std::byte* origin = nullptr;           // the element at coordinates 0, 0, ...
  std::shared_ptr<Storage> storage;      // buffers; views keep the caller's memory
  int32_t parameter = -1;                // views: the kernel's parameter
  std::shared_ptr<ShadowRegion> shadow;  // checked runs: what is remembered of the memory
};

class RuntimeValue;
using Fields = std::vector<RuntimeValue>;
using TensorPtr = std::shared_ptr<const Tensor>;

class RuntimeValue {
 public:
  RuntimeValue() = default;                                      // none
  RuntimeValue(ScalarValue value) : value_(value) {}             // NOLINT: each kind is a value
  RuntimeValue(TensorPtr tensor) : value_(std::move(tensor)) {}  // NOLINT
  RuntimeValue(Tensor tensor)
      : value_(std::make_shared<const Tensor>(std::move(tensor))) {}  // NOLINT
  RuntimeValue(Domain domain)
      : value_(std::make_shared<const Domain>(std::move(domain))) {}  // NOLINT
  RuntimeValue(Resource resource)                                     // NOLINT
      : value_(std::make_shared<const Resource>(std::move(resource))) {}
  static RuntimeValue Product(Fields fields);

  bool IsScalar() const { return std::holds_alternative<ScalarValue>(value_); }
  bool IsTensor() const { return std::holds_alternative<TensorPtr>(value_); }
  bool IsProduct() const { return std::holds_alternative<ProductPtr>(value_); }

  const ScalarValue& scalar() const { return Get<ScalarValue>(); }
  const Tensor& tensor() const { return *Get<TensorPtr>(); }
  const Domain& domain() const { return *Get<std::shared_ptr<const Domain>>(); }
  const Resource& resource() const { return *Get<std::shared_ptr<const Resource>>(); }
  std::span<const RuntimeValue> fields() const;

  // Of a tensor, view, buffer or domain; a scalar has the empty shape.
  Shape shape() const;
  // Of a scalar or tensor.
  DType dtype() const { return IsScalar() ? scalar().dtype : tensor().dtype(); }

 private:
  using ProductPtr = std::shared_ptr<const Fields>;
  template <typename T>
  const T& Get() const {
    const T* held = std::get_if<T>(&value_);
    INTENT_CHECK(held != nullptr) << "a value of another kind than its type";
    return *held;
  }
  std::variant<std::monostate, ScalarValue, TensorPtr, ProductPtr, std::shared_ptr<const Domain>,
               std::shared_ptr<const Resource>>
      value_;
};

// The scalars and tensors of a value, products opened in order.
std::vector<RuntimeValue> LeavesOf(const RuntimeValue& value);
std::vector<Type> LeafTypes(const Type& type);

std::string ShapeText(const Shape& shape);  // "[2, 3]"

}  // namespace intent::interp
