// Region folds and scans (seed 000 chapter 6, language.md chapter 8). The source is cut into a few
// contiguous slices, so that the laws the author promised are used, not only the summary of the
// whole.

#include <algorithm>
#include <optional>

#include "compiler/interp/law_check.h"
#include "compiler/interp/machine.h"
#include "compiler/interp/strided.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

constexpr int64_t kSlices = 3;

struct Slice {
  int64_t first, extent;
};

std::vector<Slice> SlicesOf(int64_t extent) {
  std::vector<Slice> slices;
  const int64_t count = std::min(kSlices, extent);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = extent / count * i + std::min(i, extent % count);
    const int64_t next = extent / count * (i + 1) + std::min(i + 1, extent % count);
    slices.push_back({first, next - first});
  }
  return slices;
}

// The axis of an emitted leaf that is the slice's.
size_t SliceAxis(const Type& type, uint32_t symbol) {
  for (size_t axis = 0; axis < type.shape().size(); ++axis) {
    if (type.shape()[axis] == Extent::Symbol(symbol)) return axis;
  }
  INTENT_UNREACHABLE() << "an emitted value without the slice's axis";
  return 0;
}

}  // namespace

Machine::Leaves Machine::SliceOf(const Op& op, const Leaves& source, int64_t axis, int64_t first,
                                 int64_t extent) {
  Leaves slices;
  for (const RuntimeValue& leaf : source) {
    const Tensor& tensor = leaf.tensor();
    const std::vector<int64_t> strides = DenseStrides(tensor.shape());
    Shape shape = tensor.shape();
    shape[static_cast<size_t>(axis)] = extent;
    auto slice = NewTensor(op, tensor.dtype(), shape);
    if (failed()) return {};
    if (slice->count() > 0) {
      CopyStrided(
          tensor.element_bytes(), shape,
          tensor.data() + first * strides[static_cast<size_t>(axis)] * tensor.element_bytes(),
          strides, slice->mutable_data(), DenseStrides(shape));
    }
    slices.push_back(TensorPtr(slice));
  }
  return slices;
}

std::optional<Machine::RegionSource> Machine::SourceOf(const Op& op) {
  RegionSource source{.components = LeavesOf(Get(op, 0))};
  source.axis = op.attr<RegionAttr>().axis.value;
  for (const RuntimeValue& leaf : source.components) {
    const int64_t extent = leaf.shape()[static_cast<size_t>(source.axis)];
    if (&leaf == &source.components[0]) source.extent = extent;
    if (extent == source.extent) continue;
    Fail(ErrorKind::kBadShape, op, "the components of a region's source differ in extent");
    return std::nullopt;
  }
  return source;
}

// 6: combine of the slices' summaries in source order; an empty source gives the identity.
RuntimeValue Machine::RegionFold(const Op& op) {
  const std::optional<RegionSource> source = SourceOf(op);
  if (failed()) return {};
  if (laws_ != nullptr && !laws_->SampleRegion(op, *source)) return {};
  const uint32_t symbol = op.attr<RegionAttr>().slice_symbol;
  std::optional<RuntimeValue> total;
  for (const Slice& slice : SlicesOf(source->extent)) {
    frame_->symbols[symbol] = slice.extent;
    Leaves arguments = SliceOf(op, source->components, source->axis, slice.first, slice.extent);
    if (failed()) return {};
    for (size_t i = 2; i < op.operands.size(); ++i) arguments.push_back(Get(op, i));
    RuntimeValue summary = CallRegion(*op.regions[0], arguments);
    if (failed()) return {};
    if (total) {
      const RuntimeValue sides[] = {*total, summary};
      summary = CallRegion(*op.regions[1], sides);
      if (failed()) return {};
    }
    total = std::move(summary);
  }
  return total ? *total : Get(op, 1);
}

// 6: each slice is emitted with the state before it, which is apply of the prefix's summary.
RuntimeValue Machine::RegionScan(const Op& op) {
  const std::optional<RegionSource> source = SourceOf(op);
  if (failed()) return {};
  if (laws_ != nullptr && !laws_->SampleRegion(op, *source)) return {};
  const uint32_t symbol = op.attr<RegionAttr>().slice_symbol;
  const Block& emit = *op.regions[3];
  const Type& outputs_type = ResultType(op).fields()[0];
  const std::vector<Type> full_types = LeafTypes(outputs_type);
  const std::vector<Type> slice_types =
      LeafTypes(frame_->function->type(emit.ops.back()->operands[0]));
  std::vector<std::shared_ptr<Tensor>> outputs;
  for (const Type& type : full_types) {
    const std::optional<Shape> shape = EvaluateShape(op, type);
    if (!shape) return {};
    outputs.push_back(NewTensor(op, type.dtype(), *shape));
    if (failed()) return {};
  }
  const RuntimeValue initial = Get(op, 2);
  RuntimeValue state = initial;
  std::optional<RuntimeValue> prefix;
  for (const Slice& slice : SlicesOf(source->extent)) {
    frame_->symbols[symbol] = slice.extent;
    const Leaves slices = SliceOf(op, source->components, source->axis, slice.first, slice.extent);
    if (failed()) return {};
    Leaves arguments = slices;
    arguments.push_back(state);
    for (size_t i = 3; i < op.operands.size(); ++i) arguments.push_back(Get(op, i));
    const Leaves emitted = LeavesOf(CallRegion(emit, arguments));
    if (failed()) return {};
    for (size_t i = 0; i < emitted.size(); ++i) {
      const Tensor& piece = emitted[i].tensor();
      const size_t axis = SliceAxis(slice_types[i], symbol);
      const std::vector<int64_t> strides = DenseStrides(outputs[i]->shape());
      CopyStrided(piece.element_bytes(), piece.shape(), piece.data(), DenseStrides(piece.shape()),
                  outputs[i]->mutable_data() + slice.first * strides[axis] * piece.element_bytes(),
                  strides);
    }
    arguments = slices;
    for (size_t i = 3; i < op.operands.size(); ++i) arguments.push_back(Get(op, i));
    RuntimeValue summary = CallRegion(*op.regions[0], arguments);
    if (failed()) return {};
    if (prefix) {
      const RuntimeValue sides[] = {*prefix, summary};
      summary = CallRegion(*op.regions[1], sides);
      if (failed()) return {};
    }
    prefix = std::move(summary);
    const RuntimeValue action[] = {*prefix, initial};
    state = CallRegion(*op.regions[2], action);
    if (failed()) return {};
  }
  Leaves leaves(outputs.begin(), outputs.end());
  size_t next = 0;
  return RuntimeValue::Product({Rebuild(outputs_type, leaves, &next), state});
}

}  // namespace intent::interp
