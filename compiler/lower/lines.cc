// Copies for blocks of threads, which read an operand of a matrix product many times, by pieces of
// 16 bytes: the last axis is contiguous, and every line begins at a multiple of a piece.

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

Id Lowerer::LacksLines(const SideLeaf& leaf, Id uses) {
  // Every task would have a copy.
  if (in_parallel_ || leaf.tensor == nullptr || !IsArgument(uses)) return b().Bool(false);
  const Tensor& tensor = *leaf.tensor;
  const int last = tensor.rank() - 1;
  if (last != leaf.own && last != leaf.inner) return b().Bool(false);
  for (Id stride : tensor.strides) {
    if (!IsArgument(stride)) return b().Bool(false);
  }
  const int64_t bytes = StorageBytes(tensor.dtype);
  Id lacks = b().Not(b().Equal(tensor.strides[last], b().Index(1)));
  for (int axis = 0; axis < last && bytes < kReadAlone; ++axis) {
    const Id rest = b().Mod(tensor.strides[axis], b().Index(kPieceBytes / bytes));
    lacks = b().Or(lacks, b().Not(b().Equal(rest, b().Index(0))));
  }
  return b().And(lacks, b().LessEqual(b().Index(kServed), uses));
}

Lowerer::Lines Lowerer::CopyLines(const Tensor& source, Id condition) {
  const Id one = b().Index(1), zero = b().Index(0);
  const Id piece = b().Index(kPieceBytes / StorageBytes(source.dtype));
  const std::vector<Id> lines(source.extents.begin(), source.extents.end() - 1);
  const Id length = source.extents.back(), stride = source.strides.back();
  std::vector<Id> padded = source.extents;
  padded.back() = b().Mul(b().FloorDiv(b().Add(length, b().Sub(piece, one)), piece), piece);
  const std::vector<Id> strides = DenseStrides(padded);
  const Id copy = b().Alloc(source.dtype, b().Select(condition, Count(padded), zero));
  const int32_t lanes = options_.block_threads;
  const auto copy_line = [&](Id line) {
    const std::vector<Coord> coords = Decode(line, lines);
    Id from = zero, to = zero;
    for (size_t axis = 0; axis < lines.size(); ++axis) {
      from = b().Add(from, b().Mul(coords[axis].base, source.strides[axis]));
      to = b().Add(to, b().Mul(coords[axis].base, strides[axis]));
    }
    b().For(zero, length, b().Index(lanes), {}, [&](const std::vector<Id>& at) {
      const Id mask = TailMask(at[0], length, lanes);
      const Id place = b().Add(from, b().Mul(at[0], stride));
      const Id value = b().Load(source.base, place, lanes, stride, mask);
      b().Store(copy, b().Add(to, at[0]), value, one, mask);
      return std::vector<Id>{};
    });
  };
  b().If(condition, [&] {
    InParallel(Product(lines), length, [&](const Window& window) {
      b().For(window.low == kNoId ? zero : window.low,
              window.high == kNoId ? Product(lines) : window.high, one, {},
              [&](const std::vector<Id>& line) {
                copy_line(line[0]);
                return std::vector<Id>{};
              });
    });
  });
  Lines chosen{b().Select(condition, copy, source.base), {}};
  for (size_t axis = 0; axis < strides.size(); ++axis)
    chosen.strides.push_back(b().Select(condition, strides[axis], source.strides[axis]));
  return chosen;
}

// The same value over another leaf.
Binding Lowerer::OverLeaf(const Binding& value, const TensorPtr& leaf) {
  if (value.tensor->strided) return Binding::OfTensor(leaf);
  return Binding::OfTensor(NewLazy(*value.tensor->op, {OverLeaf(value.tensor->operands[0], leaf)}));
}

void Lowerer::GiveLines(PackedSide* side, Id uses) {
  const SideLeaf leaf = LeafOf(*side);
  const Id lacks = LacksLines(leaf, uses);
  if (const ScalarValue* known = b().ConstantOf(lacks); known != nullptr && known->bits == 0)
    return;
  Lines lines = CopyLines(*leaf.tensor, lacks);
  side->value = OverLeaf(side->value, NewStrided(leaf.tensor->dtype, leaf.tensor->extents,
                                                 lines.base, std::move(lines.strides), {}));
}

}  // namespace intent::lower
