// Reduce, scan, region fold and region scan.

#include <algorithm>
#include <functional>

#include "compiler/verify/infer_internal.h"

namespace intent {
namespace {

// One pass over a value's leaves beside its identity's: fixes the state and the result.
class FoldInference {
 public:
  FoldInference(const InferContext& context, const std::vector<int64_t>& axes, bool scan)
      : context_(context), axes_(axes), scan_(scan) {}

  std::optional<FoldSchema> Run(const Type& value, const Type& identity) {
    std::optional<FoldSchema> schema = Walk(value, identity);
    if (!schema) return std::nullopt;
    if (scalars_ && slices_) {
      return Fail(DiagnosticCode::kCombineSchema,
                  "the identity's components are all element scalars or all retained slices");
    }
    return schema;
  }

 private:
  std::optional<FoldSchema> Walk(const Type& value, const Type& identity) {
    if (value.IsTensor()) return Leaf(value, identity);
    if (!value.IsProduct()) {
      return Fail(DiagnosticCode::kTypeMismatch,
                  "a reduction or scan takes a tensor or a product of tensors, not " + Text(value));
    }
    if (identity.kind() != value.kind() || identity.names() != value.names() ||
        identity.fields().size() != value.fields().size()) {
      return Fail(
          DiagnosticCode::kCombineSchema,
          "the identity " + Text(identity) + " has other components than the value " + Text(value));
    }
    std::vector<Type> states, results;
    for (size_t i = 0; i < value.fields().size(); ++i) {
      auto leaf = Walk(value.fields()[i], identity.fields()[i]);
      if (!leaf) return std::nullopt;
      states.push_back(leaf->state);
      results.push_back(leaf->result);
    }
    const auto rebuild = [&](std::vector<Type> fields) {
      return value.kind() == TypeKind::kTuple ? Type::Tuple(std::move(fields))
                                              : Type::Record(value.names(), std::move(fields));
    };
    return FoldSchema{rebuild(std::move(states)), rebuild(std::move(results))};
  }

  std::optional<FoldSchema> Leaf(const Type& value, const Type& identity) {
    std::vector<Extent> retained, folded;
    for (int64_t axis : axes_) {
      if (axis < 0 || axis >= value.rank()) {
        return Fail(DiagnosticCode::kBadAxis,
                    "axis " + std::to_string(axis) + " is out of range of " + Text(value));
      }
      folded.push_back(value.shape()[axis]);
    }
    for (int i = 0; i < value.rank(); ++i) {
      if (std::find(axes_.begin(), axes_.end(), i) == axes_.end()) {
        retained.push_back(value.shape()[i]);
      }
    }
    if (!folded_) {
      folded_ = folded;
    } else if (*folded_ != folded) {
      return Fail(DiagnosticCode::kShapeMismatch,
                  "the components' extents along the axes differ: " +
                      ShapeToString(*folded_, context_.namer) + " and " +
                      ShapeToString(folded, context_.namer));
    }
    if (!identity.IsElementwise()) {
      return Fail(
          DiagnosticCode::kCombineSchema,
          "the identity of " + Text(value) + " is a scalar or tensor, not " + Text(identity));
    }
    if (identity.dtype() != value.dtype()) {
      return Fail(DiagnosticCode::kDtypeMismatch,
                  "the identity is " + std::string(DTypeName(identity.dtype())) +
                      " but the value is " + std::string(DTypeName(value.dtype())) +
                      "; cast one of them");
    }
    const Type slice = Type::Tensor(value.dtype(), retained);
    Type result = value;
    if (!scan_) result = retained.empty() ? Type::Scalar(value.dtype()) : slice;
    if (identity.IsScalar()) {
      if (!retained.empty()) scalars_ = true;
      // Elementwise combines walk one set of retained members for all components.
      if (!elementwise_) {
        elementwise_ = retained;
      } else if (*elementwise_ != retained) {
        return Fail(DiagnosticCode::kCombineSchema,
                    "components with scalar identities have one retained shape, not " +
                        ShapeToString(*elementwise_, context_.namer) + " and " +
                        ShapeToString(retained, context_.namer));
      }
      return FoldSchema{Type::Scalar(value.dtype()), result};
    }
    if (retained.empty() || identity != slice) {
      return Fail(
          DiagnosticCode::kCombineSchema,
          "the identity is " + Text(identity) + " but the retained slice is " +
              (retained.empty() ? "scalar " + std::string(DTypeName(value.dtype())) : Text(slice)));
    }
    slices_ = true;
    return FoldSchema{slice, result};
  }

  std::string Text(const Type& type) const { return type.ToString(context_.namer); }
  std::nullopt_t Fail(DiagnosticCode code, std::string message) const {
    context_.report(code, std::move(message));
    return std::nullopt;
  }

  const InferContext& context_;
  const std::vector<int64_t>& axes_;
  const bool scan_;
  bool scalars_ = false;
  bool slices_ = false;
  std::optional<std::vector<Extent>> folded_;
  std::optional<std::vector<Extent>> elementwise_;
};

}  // namespace

std::optional<FoldSchema> InferReduce(const InferContext& context, const Type& value,
                                      const std::vector<int64_t>& axes, const Type& identity) {
  return FoldInference(context, axes, false).Run(value, identity);
}

std::optional<FoldSchema> InferScan(const InferContext& context, const Type& value, int64_t axis,
                                    const Type& identity) {
  return FoldInference(context, {axis}, true).Run(value, identity);
}

}  // namespace intent

namespace intent::infer {
namespace {

bool AllLeaves(const Type& type, const std::function<bool(const Type&)>& holds) {
  if (!type.IsProduct()) return holds(type);
  return std::all_of(type.fields().begin(), type.fields().end(),
                     [&](const Type& field) { return AllLeaves(field, holds); });
}

// Extent `axis` of every tensor leaf replaced.
std::optional<std::vector<Type>> Slices(const Type& source, int64_t axis, const Extent& extent) {
  const std::vector<Type> components =
      source.IsProduct() ? source.fields() : std::vector<Type>{source};
  std::vector<Type> slices;
  for (const Type& component : components) {
    if (!component.IsTensor() || axis < 0 || axis >= component.rank()) return std::nullopt;
    if (!(component.shape()[axis] == components[0].shape()[axis])) return std::nullopt;
    std::vector<Extent> shape = component.shape();
    shape[axis] = extent;
    slices.push_back(Type::Tensor(component.dtype(), std::move(shape)));
  }
  if (slices.empty()) return std::nullopt;
  return slices;
}

// The full extent where a leaf has the slice's, exactly once per leaf.
std::optional<Type> Unslice(const Type& type, const Extent& slice, const Extent& full) {
  if (type.IsProduct()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) {
      auto whole = Unslice(field, slice, full);
      if (!whole) return std::nullopt;
      fields.push_back(*whole);
    }
    return type.kind() == TypeKind::kTuple ? Type::Tuple(std::move(fields))
                                           : Type::Record(type.names(), std::move(fields));
  }
  if (!type.IsTensor()) return std::nullopt;
  std::vector<Extent> shape = type.shape();
  int found = 0;
  for (Extent& extent : shape) {
    if (!(extent == slice)) continue;
    extent = full;
    ++found;
  }
  if (found != 1) return std::nullopt;
  return Type::Tensor(type.dtype(), std::move(shape));
}

std::vector<Type> Concat(std::vector<Type> a, const std::vector<Type>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

bool Inference::CheckCombine(CombineKind kind, const Type& state, size_t first_capture) const {
  if (kind == CombineKind::kRegion) {
    if (op_.regions.size() != 1) {
      Fail(DiagnosticCode::kBadStructure, Name() + " has no combine region");
      return false;
    }
    const bool takes = CheckArguments(0, Concat({state, state}, OperandTypes(first_capture)),
                                      DiagnosticCode::kCombineSchema, "a combine");
    return CheckYields(0, {state}, DiagnosticCode::kCombineSchema, "a combine") && takes;
  }
  if (!op_.regions.empty() || op_.operands.size() != first_capture) {
    Fail(DiagnosticCode::kBadStructure, "a builtin combine has no region and no captures");
    return false;
  }
  if (kind == CombineKind::kArgMax) {
    if (state.kind() == TypeKind::kTuple && state.fields().size() == 2 &&
        AllLeaves(state, [](const Type& leaf) { return leaf.IsElementwise(); }) &&
        state.fields()[0].IsElementwise() && state.fields()[0].dtype() != DType::kBool &&
        state.fields()[1].IsElementwise() && state.fields()[1].dtype() == DType::kIndex &&
        state.fields()[0].shape() == state.fields()[1].shape()) {
      return true;
    }
    Fail(DiagnosticCode::kCombineSchema,
         "arg_max combines tuples of a number and an index of one shape, not " + Text(state));
    return false;
  }
  const bool logical = kind == CombineKind::kAnd || kind == CombineKind::kOr;
  const bool defined =
      AllLeaves(state, [&](const Type& leaf) { return (leaf.dtype() == DType::kBool) == logical; });
  if (defined) return true;
  Fail(DiagnosticCode::kDtypeNotAllowed,
       "combine " + std::string(NameOf(kind)) + " is defined for " +
           (logical ? "bool" : "integers and floats") + ", not " + Text(state));
  return false;
}

std::optional<Type> Inference::Reduce() {
  const ReduceAttr& attr = op_.attr<ReduceAttr>();
  std::vector<int64_t> axes;
  for (const StaticInt& axis : attr.axes) {
    if (!CheckStatic(axis, ConstexprKind::kInt, "an axis")) return std::nullopt;
    if (!axis.resolved()) return declared();
    axes.push_back(axis.value);
  }
  if (axes.empty() || !std::is_sorted(axes.begin(), axes.end()) ||
      std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return Fail(DiagnosticCode::kBadAxis, "the axes of a reduction are at least one, each once");
  }
  const auto schema = InferReduce(context_, operand(0), axes, operand(1));
  if (!schema || !CheckCombine(attr.combine, schema->state, 2)) return std::nullopt;
  return schema->result;
}

std::optional<Type> Inference::Scan() {
  const ScanAttr& attr = op_.attr<ScanAttr>();
  if (!CheckStatic(attr.inclusive, ConstexprKind::kBool, "inclusive") ||
      !CheckStatic(attr.reverse, ConstexprKind::kBool, "reverse") ||
      !CheckStatic(attr.axis, ConstexprKind::kInt, "an axis")) {
    return std::nullopt;
  }
  if (!attr.axis.resolved()) return declared();
  const auto schema = InferScan(context_, operand(0), attr.axis.value, operand(1));
  if (!schema || !CheckCombine(attr.combine, schema->state, 2)) return std::nullopt;
  return schema->result;
}

std::optional<Type> Inference::RegionFold() {
  const RegionAttr& attr = op_.attr<RegionAttr>();
  if (!CheckStatic(attr.axis, ConstexprKind::kInt, "an axis")) return std::nullopt;
  if (!attr.axis.resolved()) return declared();
  const auto slices = Slices(operand(0), attr.axis.value, Extent::Symbol(attr.slice_symbol));
  if (!slices) {
    return Fail(DiagnosticCode::kBadAxis,
                "the components of a region's source are tensors that share the extent of axis " +
                    std::to_string(attr.axis.value) + ", not " + Text(operand(0)));
  }
  const Type& state = operand(1);
  const bool summarizes = CheckArguments(0, Concat(*slices, OperandTypes(2)),
                                         DiagnosticCode::kCombineSchema, "summarize") &&
                          CheckYields(0, {state}, DiagnosticCode::kCombineSchema, "summarize");
  const bool combines =
      CheckArguments(1, {state, state}, DiagnosticCode::kCombineSchema, "combine") &&
      CheckYields(1, {state}, DiagnosticCode::kCombineSchema, "combine");
  if (!summarizes || !combines) return std::nullopt;
  return state;
}

std::optional<Type> Inference::RegionScan() {
  const RegionAttr& attr = op_.attr<RegionAttr>();
  if (!CheckStatic(attr.axis, ConstexprKind::kInt, "an axis")) return std::nullopt;
  if (!attr.axis.resolved()) return declared();
  const Extent slice = Extent::Symbol(attr.slice_symbol);
  const auto slices = Slices(operand(0), attr.axis.value, slice);
  if (!slices) {
    return Fail(DiagnosticCode::kBadAxis,
                "the components of a region's source are tensors that share the extent of axis " +
                    std::to_string(attr.axis.value) + ", not " + Text(operand(0)));
  }
  const Type &summary = operand(1), &state = operand(2);
  const std::vector<Type> captures = OperandTypes(3);
  const auto code = DiagnosticCode::kCombineSchema;
  const bool summarizes = CheckArguments(0, Concat(*slices, captures), code, "summarize") &&
                          CheckYields(0, {summary}, code, "summarize");
  const bool combines = CheckArguments(1, {summary, summary}, code, "combine") &&
                        CheckYields(1, {summary}, code, "combine");
  const bool applies =
      CheckArguments(2, {summary, state}, code, "apply") && CheckYields(2, {state}, code, "apply");
  const bool emits = CheckArguments(3, Concat(Concat(*slices, {state}), captures), code, "emit");
  if (!summarizes || !combines || !applies || !emits) return std::nullopt;
  const std::vector<Type> outputs = Yields(region(3));
  if (outputs.size() != 1) {
    return Fail(code, "emit gives one value, not " + std::to_string(outputs.size()));
  }
  const Type& first = operand(0).IsProduct() ? operand(0).fields()[0] : operand(0);
  const auto whole = Unslice(outputs[0], slice, first.shape()[attr.axis.value]);
  if (!whole) {
    return Fail(DiagnosticCode::kRegionExtent,
                "every tensor that emit gives has the slice's extent exactly once, not " +
                    Text(outputs[0]));
  }
  return Type::Tuple({*whole, state});
}

}  // namespace intent::infer
