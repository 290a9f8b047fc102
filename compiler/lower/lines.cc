// Copies for blocks of threads, which read an operand of a matrix product many times, by pieces of
// 16 bytes: the last axis is contiguous, every line begins at a multiple of a piece, and elements
// are what the matrix units take.

#include <algorithm>
#include <numeric>

#include "compiler/lower/packed_contract.h"
#include "compiler/numerics/scalar.h"

namespace intent::lower {
namespace {

constexpr int64_t kPieceBytes = 16;
constexpr int64_t kReadAlone = 4;  // bytes of elements that are copied one by one as well
constexpr int64_t kServed = 256;   // rows or columns of the other side that pay for a copy

}  // namespace

Lowerer::SideLeaf Lowerer::LeafOf(const PackedSide& side) const {
  SideLeaf found{nullptr, side.own, side.inner.size() == 1 ? side.inner[0] : -1};
  TensorPtr tensor = side.value.tensor;
  while (!tensor->strided && tensor->op != nullptr && tensor->op->kind == OpKind::kTranspose) {
    const auto& axes = tensor->op->attr<AxesAttr>().axes;
    found.own = static_cast<int>(axes[found.own].value);
    if (found.inner >= 0) found.inner = static_cast<int>(axes[found.inner].value);
    tensor = tensor->operands[0].tensor;
  }
  if (tensor->strided) found.tensor = tensor;
  return found;
}

// What a launch knows: code for other launches then waits for no copy.
bool Lowerer::IsArgument(Id id) const {
  const tile::Op* op = program_->definition(id);
  return op != nullptr &&
         (op->kind == tile::OpKind::kConst || op->kind == tile::OpKind::kViewExtent ||
          op->kind == tile::OpKind::kViewStride);
}

// Whether the launch knows how such lines are copied. Inside, every task would have a copy.
bool Lowerer::HasKnownLines(const SideLeaf& leaf, Id uses) const {
  if (in_parallel_ || leaf.tensor == nullptr || !IsArgument(uses)) return false;
  const Tensor& tensor = *leaf.tensor;
  const int last = tensor.rank() - 1;
  return (last == leaf.own || last == leaf.inner) &&
         std::all_of(tensor.strides.begin(), tensor.strides.end(),
                     [&](Id stride) { return IsArgument(stride); });
}

Id Lowerer::LacksLines(const SideLeaf& leaf, Id uses) {
  if (!HasKnownLines(leaf, uses)) return b().Bool(false);
  const Tensor& tensor = *leaf.tensor;
  const int last = tensor.rank() - 1;
  const int64_t bytes = StorageBytes(tensor.dtype);
  Id lacks = b().Not(b().Equal(tensor.strides[last], b().Index(1)));
  for (int axis = 0; axis < last && bytes < kReadAlone; ++axis) {
    const Id rest = b().Mod(tensor.strides[axis], b().Index(kPieceBytes / bytes));
    lacks = b().Or(lacks, b().Not(b().Equal(rest, b().Index(0))));
  }
  return b().And(lacks, b().LessEqual(b().Index(kServed), uses));
}

Lowerer::Lines Lowerer::CopyLines(const Tensor& source, DType dtype, Id condition) {
  const Id piece = b().Index(kPieceBytes / StorageBytes(dtype));
  std::vector<Id> padded = source.extents;
  padded.back() =
      b().Mul(b().FloorDiv(b().Add(padded.back(), b().Sub(piece, b().Index(1))), piece), piece);
  const std::vector<Id> strides = DenseStrides(padded);
  const Id copy = b().Alloc(dtype, b().Select(condition, Count(padded), b().Index(0)));
  Binding value = Binding::OfTensor(std::make_shared<Tensor>(source));
  if (dtype != source.dtype) {
    std::vector<int> axes(source.extents.size());
    std::iota(axes.begin(), axes.end(), 0);
    value = Binding::OfTensor(
        NewComputed(dtype, source.extents, {value}, {axes},
                    [this, value, dtype](const std::vector<Coord>& coords, const Context& context) {
                      return b().Cast(Eval(value, coords, context), dtype);
                    }));
  }
  b().If(condition, [&] { StoreStage(value, source.extents, copy, strides, {}, true); });
  if (dtype != source.dtype) return {copy, strides};
  Lines chosen{b().Select(condition, copy, source.base), {}};
  for (size_t axis = 0; axis < strides.size(); ++axis)
    chosen.strides.push_back(b().Select(condition, strides[axis], source.strides[axis]));
  return chosen;
}

// The same value over another leaf.
Binding Lowerer::OverLeaf(const Binding& value, const TensorPtr& leaf) {
  if (value.tensor->strided) return Binding::OfTensor(leaf);
  const TensorPtr turned = NewLazy(*value.tensor->op, {OverLeaf(value.tensor->operands[0], leaf)});
  turned->dtype = leaf->dtype;
  return Binding::OfTensor(turned);
}

void Lowerer::LayOut(PackedSide* side, const SideLeaf& leaf, DType dtype, Id condition) {
  Lines lines = CopyLines(*leaf.tensor, dtype, condition);
  side->value = OverLeaf(side->value, NewStrided(dtype, leaf.tensor->extents, lines.base,
                                                 std::move(lines.strides), {}));
}

void Lowerer::GiveLines(PackedSide* side, Id uses) {
  const SideLeaf leaf = LeafOf(*side);
  const Id lacks = LacksLines(leaf, uses);
  const ScalarValue* known = b().ConstantOf(lacks);
  if (known == nullptr || known->bits != 0) LayOut(side, leaf, leaf.tensor->dtype, lacks);
}

void Lowerer::WidenOnce(PackedSide* side, Id uses) {
  const SideLeaf leaf = LeafOf(*side);
  if (side->element != DType::kF16 || !HasKnownLines(leaf, uses)) return;
  const ScalarValue* known = b().ConstantOf(uses);
  const bool serves = known == nullptr || numerics::AsIndex(*known) >= kServed;
  if (leaf.tensor->dtype != side->element && serves)
    LayOut(side, leaf, side->element, b().Bool(true));
}

}  // namespace intent::lower
