// The walk of eval.cc without emitting code: which memory a lazy value reads, and at which of the
// stage's coordinates. It serves the choice of the vector loop, row groups and hazards.

#include "compiler/lower/lowerer.h"

namespace intent::lower {

using Lane = SymbolicCoord::Lane;

std::vector<SymbolicCoord> Lowerer::StageCoords(int rank, int vector_axis) {
  std::vector<SymbolicCoord> coords;
  for (int axis = 0; axis < rank; ++axis) {
    coords.push_back({axis, axis == vector_axis ? Lane::kUnit : Lane::kUniform});
  }
  return coords;
}

void Lowerer::WalkLeaves(const Binding& binding, const std::vector<SymbolicCoord>& coords,
                         const LeafVisitor& visit) {
  // An expression is a graph: what was walked at the same coordinates is not walked again.
  std::set<std::string> seen;
  WalkLeaves(binding, coords, visit, &seen);
}

void Lowerer::WalkLeaves(const Binding& binding, const std::vector<SymbolicCoord>& coords,
                         const LeafVisitor& visit, std::set<std::string>* seen) {
  if (binding.kind == Binding::Kind::kProduct) {
    for (const Binding& field : binding.fields) WalkLeaves(field, coords, visit, seen);
    return;
  }
  if (binding.kind != Binding::Kind::kTensor) return;
  const TensorPtr& tensor = binding.tensor;
  std::string key = std::to_string(tensor->serial);
  for (const SymbolicCoord& coord : coords) {
    key += "," + std::to_string(coord.axis) + ":" + std::to_string(static_cast<int>(coord.lane));
  }
  if (!seen->insert(std::move(key)).second) return;
  if (tensor->strided) {
    visit(tensor, coords);
    return;
  }
  if (tensor->computed != nullptr) {
    for (size_t i = 0; i < tensor->operands.size(); ++i) {
      std::vector<SymbolicCoord> source;
      for (int axis : tensor->computed->follows[i]) {
        source.push_back(axis < 0 ? SymbolicCoord{-1, Lane::kOther} : coords[axis]);
      }
      WalkLeaves(tensor->operands[i], source, visit, seen);
    }
    return;
  }
  if (tensor->op == nullptr) {
    std::vector<SymbolicCoord> source;
    for (const WindowAxis& at : tensor->window) {
      source.push_back(at.axis < 0 ? SymbolicCoord{} : SymbolicCoord{-1, coords[at.axis].lane});
    }
    WalkLeaves(tensor->operands[0], source, visit, seen);
    return;
  }
  const Op& op = *tensor->op;
  switch (op.kind) {
    case OpKind::kIndices:
      return;
    case OpKind::kReshape: {
      const std::vector<Extent>& from = TypeOf(op.operands[0]).shape();
      const std::vector<Extent>& to = ResultType(op).shape();
      std::vector<SymbolicCoord> source(from.size());
      // An axis keeps its coordinate if equal products stand before it on both sides.
      Extent before(1);
      for (size_t i = 0; i < from.size(); ++i) {
        Extent prefix(1);
        for (size_t j = 0; j < to.size(); ++j) {
          if (prefix == before && to[j] == from[i] && !from[i].IsConstant(1)) source[i] = coords[j];
          prefix = prefix * to[j];
        }
        if (source[i].axis < 0 && !from[i].IsConstant(1)) {
          // A split: unit steps along the vector axis stay unit if it is the last of the run.
          for (size_t j = 0; j < to.size(); ++j) {
            if (coords[j].lane != Lane::kUniform) {
              source[i].lane =
                  j + 1 == to.size() && i + 1 == from.size() ? coords[j].lane : Lane::kOther;
            }
          }
        }
        before = before * from[i];
      }
      WalkLeaves(tensor->operands[0], source, visit, seen);
      return;
    }
    case OpKind::kTranspose: {
      const auto& axes = op.attr<AxesAttr>().axes;
      std::vector<SymbolicCoord> source(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) source[axes[i].value] = coords[i];
      WalkLeaves(tensor->operands[0], source, visit, seen);
      return;
    }
    case OpKind::kBroadcast: {
      const Type& from = TypeOf(op.operands[0]);
      const Type& to = ResultType(op);
      if (!from.IsTensor()) return;
      std::vector<SymbolicCoord> source;
      const int lead = to.rank() - from.rank();
      for (int axis = 0; axis < from.rank(); ++axis) {
        const bool spread =
            from.shape()[axis].IsConstant(1) && !to.shape()[axis + lead].IsConstant(1);
        source.push_back(spread ? SymbolicCoord{} : coords[axis + lead]);
      }
      WalkLeaves(tensor->operands[0], source, visit, seen);
      return;
    }
    case OpKind::kFull:
      return;
    case OpKind::kJoin: {
      const std::vector<SymbolicCoord> source(coords.begin(), coords.end() - 1);
      for (const Binding& operand : tensor->operands) WalkLeaves(operand, source, visit, seen);
      return;
    }
    case OpKind::kGather:
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad: {
      if (tensor->operands[0].kind == Binding::Kind::kResource) visit(tensor, coords);
      const SymbolicCoord unknown{-1, Lane::kOther};
      for (const Binding& operand : tensor->operands) {
        if (operand.kind != Binding::Kind::kTensor) continue;
        WalkLeaves(operand, std::vector<SymbolicCoord>(operand.tensor->rank(), unknown), visit,
                   seen);
      }
      return;
    }
    default:
      for (const Binding& operand : tensor->operands) WalkLeaves(operand, coords, visit, seen);
      return;
  }
}

}  // namespace intent::lower
