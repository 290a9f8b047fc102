// Regions and structured control.

#include "compiler/builder/state.h"
#include "compiler/diag/check.h"

namespace intent {

std::vector<Operand> KernelBuilder::PushRegion(std::span<const Type> arguments, bool isolated) {
  State& s = *state_;
  State::Frame frame{std::make_unique<Block>(), nullptr, s.frames.back().isolation};
  frame.block = frame.owned.get();
  if (isolated) frame.isolation = ++s.isolations;
  s.frames.push_back(std::move(frame));
  std::vector<Operand> values;
  for (const Type& type : arguments) {
    const ValueId value = s.function->NewArgument(s.frames.back().block, type);
    // A caller that could not type an argument has reported why.
    values.push_back(type.IsNone() ? Operand() : Operand::OfValue(value));
  }
  s.isolation_of.resize(s.function->value_count(), s.frames.back().isolation);
  return values;
}

KernelBuilder::RegionPtr KernelBuilder::PopRegion(std::span<const Operand> yields) {
  State& s = *state_;
  INTENT_CHECK(s.frames.size() > 1) << "no region is open";
  auto region = std::make_shared<Region>();
  std::vector<ValueId> values;
  for (const Operand& yield : yields) {
    const Operand value = s.Usable(yield) ? s.Materialize(yield) : Operand();
    region->yields.push_back(value);
    region->types.push_back(value.IsValue() ? s.TypeOf(value.value()) : Type::None());
    if (value.IsValue()) {
      values.push_back(value.value());
    } else {
      region->poisoned = true;
    }
  }
  if (!region->poisoned && s.Emit(OpKind::kYield, Type::None(), std::move(values)).IsPoison()) {
    region->poisoned = true;
  }
  region->block = std::move(s.frames.back().owned);
  s.frames.pop_back();
  return region;
}

void KernelBuilder::DropRegion() {
  INTENT_CHECK(state_->frames.size() > 1) << "no region is open";
  state_->frames.pop_back();
}

std::vector<Type> KernelBuilder::YieldTypes(const RegionPtr& region) const { return region->types; }

bool KernelBuilder::State::Takes(const RegionPtr& region) const {
  INTENT_CHECK(region != nullptr && region->block != nullptr) << "a region is used twice";
  return !region->poisoned;
}

std::vector<Operand> KernelBuilder::State::Unpack(const Operand& product, size_t count) {
  std::vector<Operand> values(count);
  if (!product.IsValue()) return values;
  for (size_t i = 0; i < count; ++i) {
    values[i] =
        Emit(OpKind::kExtract, Type::None(), {product.value()}, AxisAttr{static_cast<int64_t>(i)});
  }
  return values;
}

// The region's operations in place, without its terminator.
std::vector<Operand> KernelBuilder::State::Splice(const RegionPtr& region) {
  std::vector<Op*>& ops = region->block->ops;
  if (!region->poisoned) ops.pop_back();
  std::vector<Op*>& target = frames.back().block->ops;
  target.insert(target.end(), ops.begin(), ops.end());
  region->block.reset();
  return region->yields;
}

std::vector<Operand> KernelBuilder::If(const Operand& condition, RegionPtr then_region,
                                       RegionPtr else_region) {
  State& s = *state_;
  const size_t count = std::max(then_region->yields.size(), else_region->yields.size());
  const std::vector<Operand> nothing(count);
  const bool takes_then = s.Takes(then_region), takes_else = s.Takes(else_region);
  if (!s.Usable(condition)) return nothing;
  if (const auto literal = s.LiteralOf(condition)) {
    if (literal->kind == Literal::Kind::kBool) {
      return s.Splice(literal->int_value != 0 ? then_region : else_region);
    }
  }
  if (!takes_then || !takes_else) return nothing;
  std::vector<RegionPtr> regions = {std::move(then_region), std::move(else_region)};
  Operand result;
  if (State::IsCompileTime(condition)) {
    if (condition.IsLiteral() ||
        s.ConstexprTypeOf(condition.constexpr_id()).kind != ConstexprKind::kBool) {
      s.Fail(DiagnosticCode::kConditionNotScalar,
             "a condition is a scalar bool, not " + s.Describe(condition));
      return nothing;
    }
    result = s.Emit(OpKind::kConstexprIf, Type::None(), {}, ConstexprAttr{condition.constexpr_id()},
                    std::move(regions));
  } else {
    result = s.Emit(OpKind::kIf, Type::None(), {condition.value()}, NoAttr{}, std::move(regions));
  }
  return s.Unpack(result, count);
}

void KernelBuilder::Parallel(const Operand& domain, RegionPtr body) {
  State& s = *state_;
  if (!body->yields.empty()) {
    s.Fail(DiagnosticCode::kParallelCarry,
           "a parallel loop carries no values from one point to another");
    return;
  }
  if (!s.Takes(body) || !s.Usable(domain)) return;
  if (!domain.IsValue()) {
    s.Fail(DiagnosticCode::kTypeMismatch,
           "a parallel loop runs over a domain, not " + s.Describe(domain));
    return;
  }
  s.Emit(OpKind::kParallel, Type::None(), {domain.value()}, NoAttr{}, {std::move(body)});
}

std::vector<Operand> KernelBuilder::For(const Operand& domain, std::span<const Operand> inits,
                                        RegionPtr body) {
  State& s = *state_;
  const size_t count = inits.size();
  const std::vector<Operand> nothing(count);
  if (!s.Takes(body) || !s.Usable(domain) || !s.Usable(inits)) return nothing;
  if (!domain.IsValue()) {
    s.Fail(DiagnosticCode::kTypeMismatch, "a loop runs over a domain, not " + s.Describe(domain));
    return nothing;
  }
  std::vector<ValueId> operands = {domain.value()};
  for (const Operand& init : inits) {
    const Operand value = s.Materialize(init);
    if (!value.IsValue()) return nothing;
    operands.push_back(value.value());
  }
  return s.Unpack(
      s.Emit(OpKind::kFor, Type::None(), std::move(operands), NoAttr{}, {std::move(body)}), count);
}

std::vector<Operand> KernelBuilder::While(std::span<const Operand> inits, RegionPtr condition,
                                          RegionPtr body) {
  State& s = *state_;
  const size_t count = inits.size();
  const std::vector<Operand> nothing(count);
  const bool takes_condition = s.Takes(condition);
  if (!s.Takes(body) || !takes_condition || !s.Usable(inits)) return nothing;
  std::vector<ValueId> operands;
  for (const Operand& init : inits) {
    const Operand value = s.Materialize(init);
    if (!value.IsValue()) return nothing;
    operands.push_back(value.value());
  }
  return s.Unpack(s.Emit(OpKind::kWhile, Type::None(), std::move(operands), NoAttr{},
                         {std::move(condition), std::move(body)}),
                  count);
}

}  // namespace intent
