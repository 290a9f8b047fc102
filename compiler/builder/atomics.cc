// Atomics and random bits.

#include "compiler/builder/state.h"

namespace intent {

std::optional<KernelBuilder::State::Relation> KernelBuilder::State::AtomicIndex(
    const Operand& resource, std::span<const IndexItem> index) {
  if (!Usable(resource)) return std::nullopt;
  if (!resource.IsValue() || !TypeOf(resource.value()).IsResource()) {
    Fail(DiagnosticCode::kTypeMismatch,
         "an atomic acts on a view or buffer, not " + Describe(resource));
    return std::nullopt;
  }
  return Index(TypeOf(resource.value()), resource.value(), index);
}

// Emits an atomic: its values meet the resource's dtype and stand before the index.
Operand KernelBuilder::State::EmitAtomic(OpKind kind, const Operand& resource,
                                         std::span<const IndexItem> index,
                                         std::span<const Operand> values, RmwKind rmw,
                                         MemoryOrder order) {
  const auto relation = AtomicIndex(resource, index);
  if (!relation || !Usable(values)) return {};
  const DType dtype = TypeOf(resource.value()).dtype();
  std::vector<ValueId> operands = {resource.value()};
  for (const Operand& operand : values) {
    Operand value = Instantiate(operand, dtype);
    if (value.IsValue() && TypeOf(value.value()).IsTensor() && TypeOf(value.value()).rank() == 0) {
      value = BroadcastTo(value, {}, false);
    }
    if (!value.IsValue()) return {};
    operands.push_back(value.value());
  }
  operands.insert(operands.end(), relation->operands.begin(), relation->operands.end());
  return Emit(kind, Type::None(), std::move(operands),
              AtomicAttr{IndexAttr{relation->terms}, rmw, order});
}

Operand KernelBuilder::AtomicLoad(const Operand& resource, std::span<const IndexItem> index,
                                  MemoryOrder order) {
  return state_->EmitAtomic(OpKind::kAtomicLoad, resource, index, {}, RmwKind::kExchange, order);
}

void KernelBuilder::AtomicStore(const Operand& resource, std::span<const IndexItem> index,
                                const Operand& value, MemoryOrder order) {
  state_->EmitAtomic(OpKind::kAtomicStore, resource, index, std::span(&value, 1),
                     RmwKind::kExchange, order);
}

Operand KernelBuilder::AtomicRmw(RmwKind kind, const Operand& resource,
                                 std::span<const IndexItem> index, const Operand& value,
                                 MemoryOrder order) {
  return state_->EmitAtomic(OpKind::kAtomicRmw, resource, index, std::span(&value, 1), kind, order);
}

Operand KernelBuilder::AtomicCas(const Operand& resource, std::span<const IndexItem> index,
                                 const Operand& expected, const Operand& desired,
                                 MemoryOrder order) {
  const std::array<Operand, 2> values = {expected, desired};
  return state_->EmitAtomic(OpKind::kAtomicCas, resource, index, values, RmwKind::kExchange, order);
}

Operand KernelBuilder::RandomBits(const Operand& seed, const Operand& counter) {
  State& s = *state_;
  if (!s.Usable(seed) || !s.Usable(counter)) return {};
  const Operand key = s.Instantiate(seed, DType::kU64);
  const Operand count =
      State::IsCompileTime(counter) ? s.Instantiate(counter, DType::kU64) : counter;
  if (!key.IsValue() || !count.IsValue()) return {};
  return s.Emit(OpKind::kRandomBits, Type::None(), {key.value(), count.value()});
}

}  // namespace intent
