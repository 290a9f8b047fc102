// Domains, subregions, their coordinates.

#include "compiler/builder/state.h"

namespace intent {

Operand KernelBuilder::Domain(const Operand& begin, const Operand& end, const Operand& step) {
  State& s = *state_;
  const std::array<Operand, 3> bounds = {begin, end, step};
  if (!s.Usable(bounds)) return {};
  const Operand from = s.IndexScalar(begin, "the begin of a domain");
  const Operand to = s.IndexScalar(end, "the end of a domain");
  const Operand by = s.IndexScalar(step, "the step of a domain");
  if (!from.IsValue() || !to.IsValue() || !by.IsValue()) return {};
  return s.Emit(OpKind::kDomain, Type::None(), {from.value(), to.value(), by.value()});
}

Operand KernelBuilder::Subregion(const Operand& domain, std::optional<Operand> start,
                                 std::optional<Operand> stop) {
  State& s = *state_;
  if (!s.Usable(domain) || (start && !s.Usable(*start)) || (stop && !s.Usable(*stop))) return {};
  if (!domain.IsValue()) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "a subregion is cut from a domain, not " + s.Describe(domain));
  }
  std::vector<ValueId> operands = {domain.value()};
  SubregionAttr attr{start.has_value(), stop.has_value()};
  for (const auto& [bound, what] : {std::pair(&start, "the start of a subregion"),
                                    std::pair(&stop, "the stop of a subregion")}) {
    if (!*bound) continue;
    const Operand value = s.IndexScalar(**bound, what);
    if (!value.IsValue()) return {};
    operands.push_back(value.value());
  }
  return s.Emit(OpKind::kSubregion, Type::None(), std::move(operands), attr);
}

Operand KernelBuilder::DomainProduct(std::span<const Operand> domains) {
  State& s = *state_;
  if (!s.Usable(domains)) return {};
  std::vector<ValueId> operands;
  for (const Operand& domain : domains) {
    if (!domain.IsValue() || !s.TypeOf(domain.value()).IsDomain()) {
      return s.Fail(DiagnosticCode::kTypeMismatch,
                    "a product of domains takes domains, not " + s.Describe(domain));
    }
    operands.push_back(domain.value());
  }
  if (operands.empty()) {
    return s.Fail(DiagnosticCode::kBadArguments, "a product of domains has at least one domain");
  }
  return s.Emit(OpKind::kDomainProduct, Type::None(), std::move(operands));
}

Operand KernelBuilder::Indices(const Operand& domain) {
  State& s = *state_;
  if (!s.Usable(domain)) return {};
  if (!domain.IsValue()) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "indices takes a domain, not " + s.Describe(domain));
  }
  return s.Emit(OpKind::kIndices, Type::None(), {domain.value()});
}

Operand KernelBuilder::RegionEnd(const Operand& domain) {
  State& s = *state_;
  if (!s.Usable(domain)) return {};
  if (!domain.IsValue()) {
    return s.Fail(DiagnosticCode::kTypeMismatch, "end takes a domain, not " + s.Describe(domain));
  }
  return s.Emit(OpKind::kRegionEnd, Type::None(), {domain.value()});
}

void KernelBuilder::AssumeInBounds(const Operand& index, const Operand& resource,
                                   const Operand& axis) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {index, resource, axis};
  if (!s.Usable(operands)) return;
  if (!resource.IsValue() || !s.TypeOf(resource.value()).IsResource()) {
    s.Fail(DiagnosticCode::kTypeMismatch,
           "assume_in_bounds takes a view or buffer, not " + s.Describe(resource));
    return;
  }
  AxisAttr attr;
  if (const auto position = StaticIntOf(axis); position && State::IsCompileTime(axis)) {
    const auto at = s.Axis(*position, s.TypeOf(resource.value()).rank());
    if (!at) return;
    attr.axis = *at;
  } else if (axis.IsConstexpr()) {
    attr.axis = StaticInt::Ref(axis.constexpr_id());
  } else {
    s.Fail(DiagnosticCode::kNotConstexpr,
           "an axis is a compile-time integer, not " + s.Describe(axis));
    return;
  }
  const Operand value = State::IsCompileTime(index) ? s.Instantiate(index, DType::kIndex) : index;
  if (!value.IsValue()) return;
  s.Emit(OpKind::kAssumeInBounds, Type::None(), {value.value(), resource.value()}, attr);
}

}  // namespace intent
