// Copies for blocks of threads, which read an operand of a matrix product many times, by pieces of
// 16 bytes: the last axis is contiguous, every line begins at a multiple of a piece, and elements
// are what the matrix units take.

#include <algorithm>

#include "compiler/lower/packed_contract.h"

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

// Whether lines lie along one of the axes and a launch knows their strides. Inside of a task every
// task would have a copy.
bool Lowerer::HasKnownLines(const SideLeaf& leaf) const {
  if (in_parallel_ || leaf.tensor == nullptr) return false;
  const Tensor& tensor = *leaf.tensor;
  const int last = tensor.rank() - 1;
  return (last == leaf.own || last == leaf.inner) &&
         std::all_of(tensor.strides.begin(), tensor.strides.end(),
                     [&](Id stride) { return IsArgument(stride); });
}

Id Lowerer::LacksLines(const SideLeaf& leaf, Id uses) {
  if (!IsArgument(uses) || !HasKnownLines(leaf)) return b().Bool(false);
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
  const Id one = b().Index(1), length = source.extents.back();
  const Id piece = b().Index(kPieceBytes / StorageBytes(dtype));
  std::vector<Id> padded = source.extents;
  padded.back() = b().Mul(b().FloorDiv(b().Add(length, b().Sub(piece, one)), piece), piece);
  const std::vector<Id> strides = DenseStrides(padded);
  const Id copy = b().Alloc(dtype, b().Select(condition, Count(padded), b().Index(0)));
  // A matrix of all lines, which are then split among tasks.
  const std::vector<Id> lines(source.extents.begin(), source.extents.end() - 1);
  const std::vector<Id> matrix{Product(lines), length};
  std::vector<int> follows(source.extents.size(), -1);
  follows.back() = 1;
  const Binding from = Binding::OfTensor(std::make_shared<Tensor>(source));
  const Binding value = Binding::OfTensor(
      NewComputed(dtype, matrix, {from}, {follows},
                  [this, from, dtype, lines](const std::vector<Coord>& at, const Context& context) {
                    std::vector<Coord> coords = Decode(at[0].base, lines);
                    coords.push_back(at[1]);
                    return b().Cast(Eval(from, coords, context), dtype);
                  }));
  b().If(condition, [&] { StoreStage(value, matrix, copy, {padded.back(), one}, {}, true); });
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

// In each tile that reads them, a step of 64 members took 3 us longer on an H200 than from a copy.
void Lowerer::WidenSide(PackedSide* side) {
  const SideLeaf leaf = LeafOf(*side);
  if (side->element != DType::kF16 || !HasKnownLines(leaf)) return;
  if (leaf.tensor->dtype != side->element) LayOut(side, leaf, side->element, b().Bool(true));
}

}  // namespace intent::lower
