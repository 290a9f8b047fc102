#pragma once

// Types of KIR values: immutable, compared structurally, cheap to copy, safe to share between
// threads.

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/ir/extent.h"

namespace intent {

enum class TypeKind : uint8_t {
  kNone,    // the result of an operation that yields nothing
  kScalar,  // dtype
  kTensor,  // dtype, shape; rank 0 is a tensor, not a scalar
  kTuple,   // fields
  kRecord,  // fields, names
  kView,    // dtype, shape, access: an external view parameter
  kBuffer,  // dtype, shape: kernel-local storage
  kDomain,  // shape: the extents of a domain product, rank 1 for one domain or subregion
};

enum class Access : uint8_t { kIn, kOut, kInOut };

class Type {
 public:
  Type();  // kNone
  static Type None() { return Type(); }
  static Type Scalar(DType dtype);
  static Type Tensor(DType dtype, std::vector<Extent> shape);
  static Type Tuple(std::vector<Type> fields);
  static Type Record(std::vector<std::string> names, std::vector<Type> fields);
  static Type View(DType dtype, std::vector<Extent> shape, Access access);
  static Type Buffer(DType dtype, std::vector<Extent> shape);
  static Type Domain(std::vector<Extent> shape);

  TypeKind kind() const { return node_->kind; }
  DType dtype() const { return node_->dtype; }
  const std::vector<Extent>& shape() const { return node_->shape; }
  int rank() const { return static_cast<int>(node_->shape.size()); }
  const std::vector<Type>& fields() const { return node_->fields; }
  const std::vector<std::string>& names() const { return node_->names; }
  Access access() const { return node_->access; }

  bool IsNone() const { return kind() == TypeKind::kNone; }
  bool IsScalar() const { return kind() == TypeKind::kScalar; }
  bool IsScalar(DType dtype) const { return IsScalar() && node_->dtype == dtype; }
  bool IsTensor() const { return kind() == TypeKind::kTensor; }
  bool IsProduct() const { return kind() == TypeKind::kTuple || kind() == TypeKind::kRecord; }
  bool IsView() const { return kind() == TypeKind::kView; }
  bool IsBuffer() const { return kind() == TypeKind::kBuffer; }
  bool IsDomain() const { return kind() == TypeKind::kDomain; }
  // Scalar or tensor: what pointwise operations take.
  bool IsElementwise() const { return IsScalar() || IsTensor(); }
  // View or buffer: what indexed accesses take besides tensors.
  bool IsResource() const { return IsView() || IsBuffer(); }

  // The same kind and shape (scalars stay scalars) with another dtype. Elementwise types only.
  Type WithDType(DType dtype) const;

  bool operator==(const Type& other) const;

  // Extents replaced throughout, products included.
  Type Substitute(const std::function<std::optional<Extent>(AtomKind, uint32_t)>& map) const;
  void ForEachExtent(const std::function<void(const Extent&)>& visit) const;

  // "tensor<f32, [s0, 4]>", "tuple<...>", "view<in, f32, [s0]>"
  std::string ToString(const std::function<std::string(AtomKind, uint32_t)>& namer = nullptr) const;

 private:
  struct Node {
    TypeKind kind = TypeKind::kNone;
    DType dtype = DType::kBool;
    Access access = Access::kIn;
    std::vector<Extent> shape;
    std::vector<Type> fields;
    std::vector<std::string> names;
  };
  explicit Type(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}

  std::shared_ptr<const Node> node_;
};

}  // namespace intent
