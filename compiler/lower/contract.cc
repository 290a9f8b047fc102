// Contractions. The general form is a reduction over products computed where they are needed. Where
// both sides keep an axis of their own, panels of both operands are packed and a register tile
// accumulates over short runs of the inner axis, whose sums are folded into the result block by
// block: long sums stay within the language's error bound and every load feeds many
// multiplications.

#include <algorithm>

#include "compiler/lower/packed_contract.h"

namespace intent::lower {

void Lowerer::LowerContract(const Op& op) {
  if (ContractIntoStore(op)) return;
  const Type& result = ResultType(op);
  const TensorPtr output = AllocateDense(result.dtype(), ExtentIds(result.shape()));
  Bind(op.result, Binding::OfTensor(output));
  Contract(op, Of(op.operands[0]), Of(op.operands[1]), op.attr<ContractAttr>(), output);
}

void Lowerer::Contract(const Op& op, const Binding& lhs, const Binding& rhs,
                       const ContractAttr& attr, const TensorPtr& output) {
  const DType acc = output->dtype;
  const int lhs_rank = lhs.tensor->rank(), rhs_rank = rhs.tensor->rank();
  if (options_.packed_contractions && !OnUnits() && options_.vector_bits > 0 &&
      PackedContract(op, lhs, rhs, attr, output)) {
    return;
  }

  if (IsUnitContract(lhs, rhs, attr, acc)) {
    PackedProblem problem = PlaceUnitContract(lhs, rhs, attr, output);
    GiveLines(&problem.left, problem.columns);
    GiveLines(&problem.right, problem.rows);
    return RunUnitContract(op, problem, [&](const std::vector<Coord>& coords, Id sum) {
      StoreElement(*output, coords, sum);
    });
  }

  // Where each operand's axis finds its coordinate: among the retained or the reduced axes.
  struct Place {
    bool reduced = false;
    int axis = -1;
  };
  std::vector<Place> lhs_place(lhs_rank), rhs_place(rhs_rank);
  Reduction reduction;
  for (const AxisPair& pair : attr.reduce) {
    const int position = static_cast<int>(reduction.reduced.size());
    lhs_place[pair.lhs.value] = {true, position};
    rhs_place[pair.rhs.value] = {true, position};
    reduction.reduced.push_back(lhs.tensor->extents[pair.lhs.value]);
  }
  int next = 0;
  for (int axis = 0; axis < lhs_rank; ++axis) {
    if (lhs_place[axis].reduced) continue;
    lhs_place[axis] = {false, next++};
    for (const AxisPair& pair : attr.batch) {
      if (pair.lhs.value == axis) rhs_place[pair.rhs.value] = lhs_place[axis];
    }
  }
  for (int axis = 0; axis < rhs_rank; ++axis) {
    if (rhs_place[axis].axis < 0) rhs_place[axis] = {false, next++};
  }
  reduction.retained = output->extents;
  reduction.dtypes = {acc};
  reduction.combine.op = &op;
  reduction.combine.kind = CombineKind::kAdd;
  reduction.combine.rounds = IsFloat(acc);

  // Lanes across results if the right side's last axis is its own, else along the inner axis.
  const bool across =
      !rhs_place[rhs_rank - 1].reduced && next > 0 && rhs_place[rhs_rank - 1].axis == next - 1;
  reduction.lanes_along_reduced = !across;
  reduction.lanes = LanesFor({acc}, across ? output->extents.back() : reduction.reduced.back());
  const auto symbolic = [&](const std::vector<Place>& places) {
    std::vector<SymbolicCoord> coords;
    for (const Place& place : places) {
      const bool lane =
          across ? !place.reduced && place.axis == next - 1
                 : place.reduced && place.axis + 1 == static_cast<int>(reduction.reduced.size());
      coords.push_back({-1, lane ? SymbolicCoord::Lane::kUnit : SymbolicCoord::Lane::kUniform});
    }
    return coords;
  };
  if (reduction.lanes > 1) {
    WatchStrides(lhs, symbolic(lhs_place), &reduction.watch);
    WatchStrides(rhs, symbolic(rhs_place), &reduction.watch);
  }
  reduction.element = [this, lhs, rhs, lhs_place, rhs_place, acc](
                          const std::vector<Coord>& retained, const std::vector<Coord>& reduced,
                          const Context& context) {
    const auto side = [&](const Binding& operand, const std::vector<Place>& places) {
      std::vector<Coord> coords;
      for (const Place& place : places)
        coords.push_back(place.reduced ? reduced[place.axis] : retained[place.axis]);
      return b().Cast(Eval(operand, coords, context), acc);
    };
    return std::vector<Id>{b().Mul(side(lhs, lhs_place), side(rhs, rhs_place))};
  };
  reduction.identity = [this, acc](const std::vector<Coord>&, const Context&) {
    return std::vector<Id>{ZeroOf(acc)};
  };
  Report(op, "as a reduction of products, " + std::to_string(reduction.lanes) + " lanes" +
                 Tasks(!reduction.retained.empty()));
  RunReduction(reduction, {output}, {});
}

}  // namespace intent::lower
