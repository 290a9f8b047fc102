// Contractions on units of threads: the tile program's matrix product, by all blocks outside of
// `parallel` and by the block of a task inside. Its operands are elements where they lie, or cheap
// expressions of them; what costs more is materialised first, for every element is read once for
// each tile of the result.

#include "compiler/diag/check.h"
#include "compiler/lower/packed_contract.h"
#include "compiler/numerics/scalar.h"
#include "compiler/plan/cost.h"

namespace intent::lower {
namespace {

constexpr int64_t kFewRows = 4;      // they leave most of a tile empty
constexpr int64_t kFewInTask = 16;   // the same where a task's other tiles could be of a warp
constexpr int kPlainOperations = 4;  // one in another, of an operand computed where it is read

bool IsConversion(const Tensor& tensor) {
  return !tensor.strided && tensor.op != nullptr && tensor.op->kind == OpKind::kCast;
}

// The value before a conversion to f32 that changes nothing.
Binding BeforeExactCast(const Binding& value) {
  const Tensor& tensor = *value.tensor;
  if (!IsConversion(tensor) || tensor.dtype != DType::kF32) return value;
  const Binding& inner = tensor.operands[0];
  if (inner.kind != Binding::Kind::kTensor) return value;
  const DType dtype = inner.tensor->dtype;
  return FitsF16(dtype) || dtype == DType::kBF16 ? inner : value;
}

// How elements enter the products: what matrix units take as it is, else the sum's dtype. All are
// exact, as the products are.
DType ElementOf(DType left, DType right, DType sum) {
  const bool bytes =
      (left == DType::kI8 || left == DType::kU8) && (right == DType::kI8 || right == DType::kU8);
  if (sum == DType::kI32 && bytes) return left;
  if (sum != DType::kF32) return sum;
  if (FitsF16(left) && FitsF16(right)) return DType::kF16;
  return left == DType::kBF16 && right == DType::kBF16 ? left : sum;
}

}  // namespace

// Memory at affine places, or at most so many cheap elementwise operations of it.
bool Lowerer::IsPlain(const Binding& value, int operations) const {
  if (value.kind != Binding::Kind::kTensor) return value.kind == Binding::Kind::kScalar;
  const Tensor& tensor = *value.tensor;
  if (tensor.strided) return true;
  if (tensor.computed != nullptr || operations == 0) return false;
  if (tensor.op != nullptr) {
    switch (tensor.op->kind) {
      case OpKind::kGather:
      case OpKind::kViewLoad:
      case OpKind::kBufferLoad:
      case OpKind::kJoin:
        return false;
      default:
        if (plan::IsExpensive(*tensor.op)) return false;
    }
  }
  for (const Binding& operand : tensor.operands) {
    if (operand.kind == Binding::Kind::kTensor && !IsPlain(operand, operations - 1)) return false;
  }
  return true;
}

bool Lowerer::IsUnitContract(const Binding& lhs, const Binding& rhs, const ContractAttr& attr,
                             DType sum) {
  if (!OnUnits() || !options_.packed_contractions) return false;
  if (BitWidth(sum) < 32 || BitWidth(sum) > 64 || sum == DType::kIndex) return false;
  const int64_t few = in_parallel_ ? kFewInTask : kFewRows;
  // Whether a side keeps axes of its own, enough for a tile as far as is known.
  const auto fills = [&](const Tensor& tensor, StaticInt AxisPair::*axis) {
    std::vector<bool> free(tensor.extents.size(), true);
    for (const auto* pairs : {&attr.reduce, &attr.batch}) {
      for (const AxisPair& pair : *pairs) free[static_cast<size_t>((pair.*axis).value)] = false;
    }
    int64_t known = 1;
    for (size_t i = 0; i < free.size(); ++i) {
      if (!free[i]) continue;
      const ScalarValue* extent = b().ConstantOf(tensor.extents[i]);
      if (extent == nullptr || numerics::AsIndex(*extent) > few) return true;
      known *= numerics::AsIndex(*extent);
    }
    return known > few;
  };
  return fills(*lhs.tensor, &AxisPair::lhs) && fills(*rhs.tensor, &AxisPair::rhs);
}

Lowerer::PackedProblem Lowerer::PlaceUnitContract(const Binding& lhs, const Binding& rhs,
                                                  const ContractAttr& attr,
                                                  const TensorPtr& output) {
  Binding left = BeforeExactCast(lhs), right = BeforeExactCast(rhs);
  const DType dtypes[] = {left.tensor->dtype, right.tensor->dtype};
  if (dtypes[0] != dtypes[1] && !(FitsF16(dtypes[0]) && FitsF16(dtypes[1]))) {
    left = lhs;
    right = rhs;
  }
  PackedProblem problem;
  const bool placed = PlaceOperands(left, right, attr, output, &problem);
  INTENT_CHECK(placed) << "both sides keep an axis";
  for (PackedSide* side : {&problem.left, &problem.right}) {
    if (!IsPlain(side->value, kPlainOperations))
      side->value = Binding::OfTensor(EnsureDense(side->value));
  }
  const DType l = problem.left.value.tensor->dtype, r = problem.right.value.tensor->dtype;
  problem.left.element = ElementOf(l, r, problem.dtype);
  problem.right.element = ElementOf(r, l, problem.dtype);
  WidenSide(&problem.left);
  WidenSide(&problem.right);
  return problem;
}

void Lowerer::RunUnitContract(const Op& op, const PackedProblem& problem, const SumStore& store) {
  const auto element = [&](const PackedSide& side) {
    return [this, &problem, &side](Id point, Id own, Id member) {
      const std::vector<Coord> outer = Decode(point, problem.outer_extents);
      return b().Cast(SideElement(side, CoordOf(own), CoordOf(member), outer, {}), side.element);
    };
  };
  tile::TileBuilder::ContractBodies bodies;
  bodies.left = element(problem.left);
  bodies.right = element(problem.right);
  bodies.store = [&](Id point, Id row, Id column, Id value) {
    const std::vector<Coord> outer = Decode(point, problem.outer_extents);
    std::vector<Coord> coords(problem.output->extents.size());
    for (size_t i = 0; i < outer.size(); ++i) coords[problem.outer_axes[i]] = outer[i];
    coords[problem.row_axis] = CoordOf(row);
    coords[problem.column_axis] = CoordOf(column);
    store(coords, value);
  };
  Report(op, "as a matrix product of blocks of threads");
  b().Contract(Product(problem.outer_extents), problem.rows, problem.columns, problem.inner,
               problem.dtype, bodies);
}

void Lowerer::StoreElement(const Tensor& target, const std::vector<Coord>& coords, Id element) {
  Id offset = b().Index(0);
  for (size_t axis = 0; axis < coords.size(); ++axis)
    offset = b().Add(offset, b().Mul(coords[axis].base, target.strides[axis]));
  b().Store(target.base, offset, element, b().Index(0));
}

}  // namespace intent::lower
