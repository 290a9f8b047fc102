#include "compiler/interp/combiner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/numerics/element.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

constexpr int64_t kChunk = 1 << 16;  // members a lifted region handles at once: bounds its memory

// Seed 000 chapter 6: true if the right state wins: the greater value, any NaN, the lowest index
// among equals.
template <typename T>
bool RightWins(T left, int64_t left_index, T right, int64_t right_index) {
  if constexpr (numerics::kIsFloat<T>) {
    if (std::isnan(left)) return std::isnan(right) && right_index < left_index;
    if (std::isnan(right)) return true;
  }
  return right > left || (right == left && right_index < left_index);
}

}  // namespace

BinaryKind BuiltinOf(CombineKind kind) {
  switch (kind) {
    case CombineKind::kAdd:
      return BinaryKind::kAdd;
    case CombineKind::kMaximum:
      return BinaryKind::kMaximum;
    case CombineKind::kMinimum:
      return BinaryKind::kMinimum;
    case CombineKind::kAnd:
      return BinaryKind::kAnd;
    case CombineKind::kOr:
      return BinaryKind::kOr;
    case CombineKind::kRegion:
    case CombineKind::kArgMax:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
  return BinaryKind::kAdd;
}

Machine::Combiner::Combiner(Machine* machine, const Op& op, CombineKind kind, size_t first_capture)
    : machine_(machine), op_(op), kind_(kind) {
  for (size_t i = first_capture; i < op.operands.size(); ++i) {
    captures_.push_back(machine->Get(op, i));
  }
  if (kind != CombineKind::kRegion) return;
  const Function& function = *machine->frame_->function;
  const Block& region = *op.regions[0];
  on_slices_ = !AllScalar(function.type(region.arguments[0]));
  lifted_ = machine->pointwise_.IsPointwise(function, region);
}

Machine::Leaves Machine::Combiner::Combine(const Leaves& lhs, const Leaves& rhs) const {
  INTENT_CHECK(lhs.size() == rhs.size()) << "states of different schemas";
  if (kind_ == CombineKind::kRegion) return CombineRegion(lhs, rhs);
  if (kind_ == CombineKind::kArgMax) return CombineArgMax(lhs, rhs);
  Leaves result;
  for (size_t i = 0; i < lhs.size(); ++i) {
    result.push_back(machine_->BinaryOn(op_, BuiltinOf(kind_), lhs[i], rhs[i]));
    if (machine_->failed()) return {};
  }
  return result;
}

Machine::Leaves Machine::Combiner::CombineRegion(const Leaves& lhs, const Leaves& rhs) const {
  const Block& region = *op_.regions[0];
  const Type& state = machine_->frame_->function->type(region.arguments[0]);
  const auto run = [&](const Leaves& left, const Leaves& right) -> Leaves {
    size_t left_next = 0, right_next = 0;
    Fields arguments{Rebuild(state, left, &left_next), Rebuild(state, right, &right_next)};
    arguments.insert(arguments.end(), captures_.begin(), captures_.end());
    const RuntimeValue result = machine_->CallRegion(region, arguments);
    return machine_->failed() ? Leaves() : LeavesOf(result);
  };
  if (!lifted_ || !lhs[0].IsTensor()) return run(lhs, rhs);
  const int64_t count = lhs[0].tensor().count();
  std::vector<std::shared_ptr<Tensor>> results;
  for (const RuntimeValue& leaf : lhs) {
    results.push_back(machine_->NewTensor(op_, leaf.dtype(), {count}));
    if (machine_->failed()) return {};
  }
  for (int64_t first = 0; first < count; first += kChunk) {
    const int64_t size = std::min(kChunk, count - first);
    Leaves left, right;
    for (size_t i = 0; i < lhs.size(); ++i) {
      left.push_back(lhs[i].tensor().Run(first, {size}));
      right.push_back(rhs[i].tensor().Run(first, {size}));
    }
    const Leaves part = run(left, right);
    if (machine_->failed()) return {};
    for (size_t i = 0; i < part.size(); ++i) {
      // A component that does not depend on the states stays a scalar.
      const auto whole = machine_->BroadcastTo(op_, part[i], {size});
      if (machine_->failed()) return {};
      std::memcpy(results[i]->mutable_data() + first * whole->element_bytes(), whole->data(),
                  static_cast<size_t>(size * whole->element_bytes()));
    }
  }
  return Leaves(results.begin(), results.end());
}

Machine::Leaves Machine::Combiner::CombineArgMax(const Leaves& lhs, const Leaves& rhs) const {
  const Tensor &left = lhs[0].tensor(), &right = rhs[0].tensor();
  const auto* left_index = reinterpret_cast<const int64_t*>(lhs[1].tensor().data());
  const auto* right_index = reinterpret_cast<const int64_t*>(rhs[1].tensor().data());
  auto values = machine_->NewTensor(op_, left.dtype(), left.shape());
  if (machine_->failed()) return {};
  auto indices = machine_->NewTensor(op_, lhs[1].dtype(), left.shape());
  if (machine_->failed()) return {};
  auto* index = reinterpret_cast<int64_t*>(indices->mutable_data());
  const int64_t size = left.element_bytes();
  numerics::Dispatch(left.dtype(), [&]<DType D>() {
    for (int64_t i = 0; i < left.count(); ++i) {
      const std::byte *a = left.data() + i * size, *b = right.data() + i * size;
      const bool wins = RightWins(numerics::LoadElement<D>(a), left_index[i],
                                  numerics::LoadElement<D>(b), right_index[i]);
      std::memcpy(values->mutable_data() + i * size, wins ? b : a, static_cast<size_t>(size));
      index[i] = wins ? right_index[i] : left_index[i];
    }
  });
  return {TensorPtr(values), TensorPtr(indices)};
}

}  // namespace intent::interp
