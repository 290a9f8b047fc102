#include "compiler/ir/type_codec.h"

#include <algorithm>
#include <string>

#include "compiler/ir/wire_enums.h"

namespace intent::wire {
namespace {

using Error = std::optional<Diagnostic>;

Error Fail(DiagnosticCode code, std::string message) {
  return Diagnostic{.code = code, .message = std::move(message)};
}

Error CheckIndex(size_t index, size_t count, const char* what) {
  if (index < count) return std::nullopt;
  return Fail(DiagnosticCode::kBadReference, "no " + std::string(what) + " " +
                                                 std::to_string(index) + ", there are " +
                                                 std::to_string(count));
}

class ExtentReader {
 public:
  ExtentReader(const TypeContext& context, TypeBudget* budget)
      : context_(context), budget_(budget) {}

  Error Read(const pb::Extent& in) {
    Extent extent;
    if (Error e = ReadNode(in, &extent)) return e;
    if (!extent.valid()) {
      return Fail(DiagnosticCode::kBadExtent, "extent " + std::to_string(extents_.size()) +
                                                  " overflows, divides by zero or is too large");
    }
    if (Error e = Spend(extent)) return e;
    extents_.push_back(std::move(extent));
    return std::nullopt;
  }

  std::vector<Extent> Take() { return std::move(extents_); }

 private:
  using Operation = Extent (*)(const Extent&, const Extent&);

  Error ReadNode(const pb::Extent& in, Extent* out) {
    switch (in.node_case()) {
      case pb::Extent::kConstant:
        *out = Extent(in.constant());
        return std::nullopt;
      case pb::Extent::kSymbol:
        *out = Extent::Symbol(in.symbol());
        return CheckIndex(in.symbol(), context_.symbols, "shape symbol");
      case pb::Extent::kConstexprParameter:
        *out = Extent::Constexpr(in.constexpr_parameter());
        return CheckIndex(in.constexpr_parameter(), context_.constexprs, "constexpr parameter");
      case pb::Extent::kValue:
        if (Error e = CheckIndex(in.value(), context_.values.size(), "value")) return e;
        *out = Extent::Value(context_.values[in.value()]);
        return std::nullopt;
      case pb::Extent::kAdd:
        return Apply(
            in.add(), [](const Extent& a, const Extent& b) { return a + b; }, out);
      case pb::Extent::kSub:
        return Apply(
            in.sub(), [](const Extent& a, const Extent& b) { return a - b; }, out);
      case pb::Extent::kMul:
        return Apply(
            in.mul(), [](const Extent& a, const Extent& b) { return a * b; }, out);
      case pb::Extent::kFloorDiv:
        return Apply(in.floor_div(), &Extent::FloorDiv, out);
      case pb::Extent::kMod:
        return Apply(in.mod(), &Extent::Mod, out);
      case pb::Extent::kCeilDiv:
        return Apply(in.ceil_div(), &Extent::CeilDiv, out);
      case pb::Extent::kMin:
        return Apply(in.min(), &Extent::Min, out);
      case pb::Extent::kMax:
        return Apply(in.max(), &Extent::Max, out);
      case pb::Extent::NODE_NOT_SET:
        break;
    }
    return Fail(DiagnosticCode::kMalformedModule, "an extent without content");
  }

  Error Apply(const pb::ExtentPair& pair, Operation operation, Extent* out) {
    if (Error e = CheckIndex(pair.lhs(), extents_.size(), "earlier extent")) return e;
    if (Error e = CheckIndex(pair.rhs(), extents_.size(), "earlier extent")) return e;
    const Extent &lhs = extents_[pair.lhs()], &rhs = extents_[pair.rhs()];
    // A product visits every pair of terms before it can tell that it grows too large.
    if (Error e = Spend(lhs)) return e;
    if (Error e = Spend(rhs)) return e;
    *out = operation(lhs, rhs);
    return std::nullopt;
  }

  Error Spend(const Extent& extent) {
    const size_t size = static_cast<size_t>(extent.Size());
    if (size > budget_->extent_work) {
      return Fail(DiagnosticCode::kLimit, "the module's extents are too large together");
    }
    budget_->extent_work -= size;
    return std::nullopt;
  }

  const TypeContext& context_;
  TypeBudget* budget_;
  std::vector<Extent> extents_;
};

class TypeReader {
 public:
  TypeReader(std::vector<Extent> extents, const DecodeLimits& limits, TypeBudget* budget,
             std::vector<Type>* types)
      : extents_(std::move(extents)), limits_(limits), budget_(*budget), types_(*types) {}

  Error Read(const pb::Type& in) {
    const std::optional<TypeKind> kind = FromWire<TypeKind>(in.kind());
    if (!kind) return Fail(DiagnosticCode::kMalformedModule, "a type without kind");
    if (Error e = CheckFields(in, *kind)) return e;
    const size_t entries = static_cast<size_t>(in.shape_size() + in.fields_size());
    if (entries > budget_.type_entries) {
      return Fail(DiagnosticCode::kLimit, "the module's types are too large together");
    }
    budget_.type_entries -= entries;
    std::optional<DType> dtype = FromWire<DType>(in.dtype());
    std::optional<Access> access = FromWire<Access>(in.access());
    Measure measure;
    std::vector<Extent> shape;
    std::vector<Type> fields;
    if (Error e = ReadShape(in, &shape, &measure)) return e;
    if (Error e = ReadFields(in, &fields, &measure)) return e;
    if (measure.size > limits_.type_size || measure.depth > limits_.type_depth) {
      return Fail(DiagnosticCode::kLimit,
                  "type " + std::to_string(types_.size()) + " is too large or nests too deeply");
    }
    measures_.push_back(measure);
    switch (*kind) {
      case TypeKind::kNone:
        types_.push_back(Type::None());
        break;
      case TypeKind::kScalar:
        types_.push_back(Type::Scalar(*dtype));
        break;
      case TypeKind::kTensor:
        types_.push_back(Type::Tensor(*dtype, std::move(shape)));
        break;
      case TypeKind::kTuple:
        types_.push_back(Type::Tuple(std::move(fields)));
        break;
      case TypeKind::kRecord:
        types_.push_back(Type::Record({in.names().begin(), in.names().end()}, std::move(fields)));
        break;
      case TypeKind::kView:
        types_.push_back(Type::View(*dtype, std::move(shape), *access));
        break;
      case TypeKind::kBuffer:
        types_.push_back(Type::Buffer(*dtype, std::move(shape)));
        break;
      case TypeKind::kDomain:
        types_.push_back(Type::Domain(std::move(shape)));
        break;
    }
    return std::nullopt;
  }

 private:
  struct Measure {
    size_t size = 1;
    size_t depth = 1;
  };

  // Exactly the fields that the kind has a use for.
  static Error CheckFields(const pb::Type& in, TypeKind kind) {
    const bool view = kind == TypeKind::kView;
    const bool shaped = view || kind == TypeKind::kTensor || kind == TypeKind::kBuffer;
    const bool dtype = shaped || kind == TypeKind::kScalar;
    const bool record = kind == TypeKind::kRecord;
    const bool product = record || kind == TypeKind::kTuple;
    const bool fits = (in.dtype() != pb::DTYPE_UNSPECIFIED) == dtype &&
                      (in.access() != pb::ACCESS_UNSPECIFIED) == view &&
                      (shaped || kind == TypeKind::kDomain || in.shape_size() == 0) &&
                      (product || in.fields_size() == 0) &&
                      in.names_size() == (record ? in.fields_size() : 0);
    if (fits) return std::nullopt;
    return Fail(DiagnosticCode::kMalformedModule,
                "a " + std::string(KindName(kind)) + " type with missing or stray fields");
  }

  Error ReadShape(const pb::Type& in, std::vector<Extent>* shape, Measure* measure) {
    if (static_cast<size_t>(in.shape_size()) > limits_.rank) {
      return Fail(DiagnosticCode::kLimit, "rank " + std::to_string(in.shape_size()) + ", at most " +
                                              std::to_string(limits_.rank));
    }
    for (uint32_t extent : in.shape()) {
      if (Error e = CheckIndex(extent, extents_.size(), "extent")) return e;
      shape->push_back(extents_[extent]);
      measure->size += static_cast<size_t>(extents_[extent].Size());
    }
    return std::nullopt;
  }

  Error ReadFields(const pb::Type& in, std::vector<Type>* fields, Measure* measure) {
    if (static_cast<size_t>(in.fields_size()) > limits_.type_size) {
      return Fail(DiagnosticCode::kLimit, std::to_string(in.fields_size()) + " fields");
    }
    for (uint32_t field : in.fields()) {
      if (Error e = CheckIndex(field, types_.size(), "earlier type")) return e;
      measure->size = std::min(measure->size + measures_[field].size, limits_.type_size + 1);
      measure->depth = std::max(measure->depth, measures_[field].depth + 1);
      fields->push_back(types_[field]);
    }
    for (const std::string& name : in.names()) {
      if (name.empty()) {
        return Fail(DiagnosticCode::kMalformedModule, "a record field without name");
      }
      if (name.size() > limits_.name_bytes) {
        return Fail(DiagnosticCode::kLimit,
                    "a record field's name of " + std::to_string(name.size()) + " bytes");
      }
    }
    return std::nullopt;
  }

  const std::vector<Extent> extents_;
  const DecodeLimits& limits_;
  TypeBudget& budget_;
  std::vector<Type>& types_;
  std::vector<Measure> measures_;
};

}  // namespace

std::optional<Diagnostic> ReadTypes(const pb::Function& function, const TypeContext& context,
                                    const DecodeLimits& limits, TypeBudget* budget,
                                    std::vector<Type>* types) {
  ExtentReader extents(context, budget);
  for (const pb::Extent& extent : function.extents()) {
    if (Error e = extents.Read(extent)) return e;
  }
  TypeReader reader(extents.Take(), limits, budget, types);
  for (const pb::Type& type : function.types()) {
    if (Error e = reader.Read(type)) return e;
  }
  return std::nullopt;
}

}  // namespace intent::wire
