// Region folds and scans: summaries of contiguous slices.

#include "compiler/builder/state.h"

namespace intent {

std::optional<KernelBuilder::SliceSchema> KernelBuilder::Slices(const Operand& source,
                                                                int64_t axis) {
  State& s = *state_;
  if (!s.Usable(source) || !s.CheckFoldValue(source, "a region operation")) return std::nullopt;
  const Type type = s.TypeOf(source.value());
  const std::vector<Type> components = type.IsProduct() ? type.fields() : std::vector<Type>{type};
  const auto position = s.Axis(axis, s.ComponentRank(type));
  if (!position) return std::nullopt;
  SliceSchema schema{.axis = *position};
  // A symbol of the function that no view names.
  const std::string name = "slice " + std::to_string(s.map.symbol_names.size());
  const Extent extent = SymbolExtent(name);
  schema.symbol = s.function->symbol_count - 1;
  for (const Type& component : components) {
    if (!component.IsTensor() || *position >= component.rank() ||
        !(component.shape()[*position] == components[0].shape()[*position])) {
      s.Fail(DiagnosticCode::kBadAxis,
             "the components of a region's source are tensors that share the extent of axis " +
                 std::to_string(*position) + ", not " + s.Describe(type));
      return std::nullopt;
    }
    std::vector<Extent> shape = component.shape();
    shape[*position] = extent;
    schema.types.push_back(Type::Tensor(component.dtype(), std::move(shape)));
  }
  return schema;
}

Operand KernelBuilder::State::EmitRegionOp(OpKind kind, std::span<const Operand> operands,
                                           const SliceSchema& slices,
                                           std::span<const Operand> captures,
                                           std::vector<RegionPtr> regions) {
  bool whole = Usable(operands) && Usable(captures);
  for (const RegionPtr& region : regions) whole = Takes(region) && whole;
  if (!whole) return {};
  std::vector<ValueId> values;
  for (std::span<const Operand> group : {operands, captures}) {
    for (const Operand& operand : group) {
      const Operand value = Materialize(operand);
      if (!value.IsValue()) return {};
      values.push_back(value.value());
    }
  }
  return Emit(kind, Type::None(), std::move(values), RegionAttr{slices.axis, slices.symbol},
              std::move(regions));
}

Operand KernelBuilder::RegionFold(const Operand& source, const SliceSchema& slices,
                                  const Operand& identity, RegionPtr summarize, RegionPtr combine,
                                  std::span<const Operand> captures) {
  const std::array<Operand, 2> operands = {source, identity};
  return state_->EmitRegionOp(OpKind::kRegionFold, operands, slices, captures,
                              {std::move(summarize), std::move(combine)});
}

Operand KernelBuilder::RegionScan(const Operand& source, const SliceSchema& slices,
                                  const Operand& identity, const Operand& initial_state,
                                  RegionPtr summarize, RegionPtr combine, RegionPtr apply,
                                  RegionPtr emit, std::span<const Operand> captures) {
  const std::array<Operand, 3> operands = {source, identity, initial_state};
  return state_->EmitRegionOp(
      OpKind::kRegionScan, operands, slices, captures,
      {std::move(summarize), std::move(combine), std::move(apply), std::move(emit)});
}

}  // namespace intent
