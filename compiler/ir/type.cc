#include "compiler/ir/type.h"

namespace intent {

Type::Type() {
  static const std::shared_ptr<const Node> kNone = std::make_shared<const Node>();
  node_ = kNone;
}

Type Type::Scalar(DType dtype) {
  Node node;
  node.kind = TypeKind::kScalar;
  node.dtype = dtype;
  return Type(std::move(node));
}

Type Type::Tensor(DType dtype, std::vector<Extent> shape) {
  Node node;
  node.kind = TypeKind::kTensor;
  node.dtype = dtype;
  node.shape = std::move(shape);
  return Type(std::move(node));
}

Type Type::Tuple(std::vector<Type> fields) {
  Node node;
  node.kind = TypeKind::kTuple;
  node.fields = std::move(fields);
  return Type(std::move(node));
}

Type Type::Record(std::vector<std::string> names, std::vector<Type> fields) {
  Node node;
  node.kind = TypeKind::kRecord;
  node.fields = std::move(fields);
  node.names = std::move(names);
  return Type(std::move(node));
}

Type Type::View(DType dtype, std::vector<Extent> shape, Access access) {
  Node node;
  node.kind = TypeKind::kView;
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.access = access;
  return Type(std::move(node));
}

Type Type::Buffer(DType dtype, std::vector<Extent> shape) {
  Node node;
  node.kind = TypeKind::kBuffer;
  node.dtype = dtype;
  node.shape = std::move(shape);
  return Type(std::move(node));
}

Type Type::Domain(std::vector<Extent> shape) {
  Node node;
  node.kind = TypeKind::kDomain;
  node.shape = std::move(shape);
  return Type(std::move(node));
}

Type Type::WithDType(DType dtype) const {
  Node node = *node_;
  node.dtype = dtype;
  return Type(std::move(node));
}

bool Type::operator==(const Type& other) const {
  if (node_ == other.node_) return true;
  const Node &a = *node_, &b = *other.node_;
  return a.kind == b.kind && a.dtype == b.dtype && a.access == b.access && a.shape == b.shape &&
         a.names == b.names && a.fields == b.fields;
}

Type Type::Substitute(const std::function<std::optional<Extent>(AtomKind, uint32_t)>& map) const {
  if (node_->shape.empty() && node_->fields.empty()) return *this;
  Node node = *node_;
  for (Extent& extent : node.shape) extent = extent.Substitute(map);
  for (Type& field : node.fields) field = field.Substitute(map);
  return Type(std::move(node));
}

void Type::ForEachExtent(const std::function<void(const Extent&)>& visit) const {
  for (const Extent& extent : node_->shape) visit(extent);
  for (const Type& field : node_->fields) field.ForEachExtent(visit);
}

std::string Type::ToString(const std::function<std::string(AtomKind, uint32_t)>& namer) const {
  const std::string dtype(DTypeName(node_->dtype));
  switch (kind()) {
    case TypeKind::kNone:
      return "none";
    case TypeKind::kScalar:
      return dtype;
    case TypeKind::kTensor:
      return "tensor<" + dtype + ", " + ShapeToString(shape(), namer) + ">";
    case TypeKind::kTuple:
    case TypeKind::kRecord: {
      std::string text = kind() == TypeKind::kTuple ? "tuple<" : "record<";
      for (size_t i = 0; i < fields().size(); ++i) {
        if (i != 0) text += ", ";
        if (kind() == TypeKind::kRecord) text += names()[i] + ": ";
        text += fields()[i].ToString(namer);
      }
      return text + ">";
    }
    case TypeKind::kView: {
      static constexpr const char* kAccess[] = {"in", "out", "inout"};
      return "view<" + std::string(kAccess[static_cast<int>(access())]) + ", " + dtype + ", " +
             ShapeToString(shape(), namer) + ">";
    }
    case TypeKind::kBuffer:
      return "buffer<" + dtype + ", " + ShapeToString(shape(), namer) + ">";
    case TypeKind::kDomain:
      return "domain<" + ShapeToString(shape(), namer) + ">";
  }
  return "";
}

}  // namespace intent
