// Scatters and atomics. Unique scatters are injective by construction; what meets on one element
// is combined by something that has no order.

#include <algorithm>
#include <numeric>

#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

IndexItem At(Operand operand) {
  return {.kind = IndexItem::Kind::kOperand, .operand = std::move(operand)};
}

bool IsAtomic(DType dtype) {
  switch (dtype) {
    case DType::kI32:
    case DType::kI64:
    case DType::kU32:
    case DType::kU64:
    case DType::kIndex:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Generator::TakeRoom(size_t store, double amount) {
  if (!IsFloat(stores_[store].type.dtype())) return true;
  // A buffer's own; that of views is their allocation's.
  double& room = stores_[store < view_count_ ? group_[store] : store].room;
  if (room < amount) return false;
  room -= amount;
  return true;
}

std::optional<std::vector<IndexItem>> Generator::ElementOf(const Store& store) {
  std::vector<IndexItem> items;
  const Shape shape = *Concrete(store.type.shape());
  for (int axis = 0; axis < store.type.rank(); ++axis) {
    if (shape[axis] == 0) return std::nullopt;
    items.push_back(At(IndexBelow(shape[axis], store.operand, axis)));
  }
  return items;
}

// Destinations along one axis, or along two that are paired, each met once by active members.
void Generator::UniqueScatter(int /*depth*/) {
  const std::vector<size_t> writable =
      Writable([](const Store& store) { return store.type.rank() > 0; });
  if (writable.empty()) return;
  const Store store = stores_[random_.Pick(writable)];
  const Type type = store.type;
  const Shape shape = *Concrete(type.shape());
  const int64_t axis = random_.Below(type.rank());
  const int64_t extent = shape[axis];
  const Operand count = b_.Dim(store.operand, axis);
  Operand index;
  std::optional<Operand> active;
  std::optional<int64_t> second;
  switch (random_.Below(5)) {
    case 0: {  // a permutation
      int64_t factor = random_.Between(1, std::max<int64_t>(extent, 1));
      while (std::gcd(factor, extent) > 1) ++factor;
      index = b_.Indices(b_.Domain(Int(0), count, Int(1)));
      index = b_.Binary(BinaryKind::kAdd, b_.Binary(BinaryKind::kMul, index, Int(factor)),
                        Int(random_.Between(0, 9)));
      if (extent > 0) index = b_.Binary(BinaryKind::kMod, index, count);
      break;
    }
    case 1: {  // some of them
      const int64_t begin = random_.Between(0, extent), end = random_.Between(begin, extent);
      index = b_.Indices(b_.Domain(Int(begin), Int(end), Int(random_.Between(1, 3))));
      break;
    }
    case 2: {  // every second member, two of which share each place
      const Operand all =
          b_.Indices(b_.Domain(Int(0), b_.Binary(BinaryKind::kMul, count, Int(2)), Int(1)));
      index = b_.Binary(BinaryKind::kFloorDiv, all, Int(2));
      active = b_.Compare(CompareKind::kEq, b_.Binary(BinaryKind::kMod, all, Int(2)),
                          Int(random_.Below(2)));
      break;
    }
    case 3: {  // those in bounds
      const Operand all = b_.Indices(b_.Domain(Int(0), count, Int(1)));
      index = b_.Binary(BinaryKind::kAdd, all, Int(random_.Between(-3, 3)));
      active = b_.Binary(BinaryKind::kAnd, b_.Compare(CompareKind::kGe, index, Int(0)),
                         b_.Compare(CompareKind::kLt, index, count));
      break;
    }
    default: {  // a diagonal
      if (type.rank() < 2 || axis + 1 == type.rank()) return;
      second = axis + 1;
      const int64_t shorter = std::min(extent, shape[*second]);
      index = b_.Indices(b_.Domain(Int(0), Int(shorter), Int(1)));
    }
  }
  if (!index.IsValue()) return;
  if (random_.Chance(25)) index = b_.Cast(index, random_.Pick({DType::kI32, DType::kI64}));
  if (!index.IsValue()) return;
  std::vector<IndexItem> items;
  std::vector<Extent> selected;
  std::vector<Operand> spread, spots;
  for (int64_t i = 0; i < type.rank(); ++i) {
    if (i == axis) {
      items.push_back(At(index));
      selected.push_back(b_.TypeOf(index).shape()[0]);
      spread.push_back(b_.Dim(index, 0));
      spots.push_back(spread.back());
    } else if (second == i) {
      items.push_back(At(index));
    } else {
      items.push_back({.kind = IndexItem::Kind::kFull});
      selected.push_back(type.shape()[i]);
      spread.push_back(b_.Dim(store.operand, i));
      spots.push_back(Int(1));
    }
  }
  const auto value = ValueFor(Type::Tensor(type.dtype(), selected), store.limit);
  if (!value) return;
  Operand kept = Kept(store, *value);
  if (active) {
    // AddActivePredicates finds it there.
    const Operand mask = b_.Broadcast(b_.Reshape(*active, spots), spread);
    kept = b_.Mask(kept, mask, Number(type.dtype(), 0));
    if (!kept.IsValue()) return;
  }
  b_.ScatterUnique(store.operand, items, kept);
}

void Generator::ReducingScatter(int /*depth*/) {
  if (in_parallel_) return;
  std::vector<size_t> targets = Writable([&](const Store& store) {
    return store.type.IsView() && store.readable && store.type.rank() > 0 && Count(store.type) > 0;
  });
  if (targets.empty()) return;
  const size_t target = random_.Pick(targets);
  const Store store = stores_[target];
  const int64_t axis = random_.Below(store.type.rank());
  std::vector<IndexItem> items;
  for (int64_t i = 0; i < store.type.rank(); ++i) {
    if (i == axis) {
      const Val* any = PickVal([](const Val& val) {
        return val.type.IsTensor() && val.type.rank() <= 2 && IsInteger(val.type.dtype()) &&
               IsAddressable(val.type.dtype());
      });
      const std::vector<Operand> shape = {Int(random_.Between(0, 20))};
      const Operand raw =
          any != nullptr ? b_.Cast(any->operand, DType::kIndex) : Pattern(shape, 0, 1000);
      items.push_back(At(b_.Binary(BinaryKind::kMod, raw, b_.Dim(store.operand, i))));
    } else if (random_.Chance(25)) {
      items.push_back(At(IndexBelow((*Concrete({store.type.shape()[i]}))[0], store.operand, i)));
    } else {
      items.push_back({.kind = IndexItem::Kind::kFull});
    }
  }
  const Operand there = b_.Load(store.operand, items);
  if (!there.IsValue() || !Concrete(b_.TypeOf(there).shape())) return;
  const Type selected = b_.TypeOf(there);
  const auto members = static_cast<double>(Count(selected) * repeat_);
  if (members > 20'000) return;
  budget_ -= static_cast<int64_t>(members / 4);
  const auto value = ValueFor(selected, Exactness::kRounded);
  if (!value) return;
  Scatter(target, items, *value, members);
}

void Generator::Scatter(size_t target, const std::vector<IndexItem>& items, const Operand& value,
                        double members) {
  const Store store = stores_[target];
  const DType dtype = store.type.dtype();
  // Even a sink holds what it is added to.
  const Store strict = {.type = store.type};
  const Operand kept = Kept(strict, value);
  const Type schema = Type::Scalar(dtype);
  const auto own = [&](BinaryKind kind) {
    const auto region =
        Combine(schema, [&](const Operand& a, const Operand& b) { return b_.Binary(kind, a, b); });
    b_.ScatterReduce(store.operand, items, kept, CombineKind::kRegion, region);
  };
  const auto builtin = [&](CombineKind kind) {
    b_.ScatterReduce(store.operand, items, kept, kind, nullptr);
  };
  if (dtype == DType::kBool) {
    if (random_.Chance(30)) return own(BinaryKind::kXor);
    return builtin(random_.Pick({CombineKind::kAnd, CombineKind::kOr}));
  }
  switch (random_.Below(5)) {
    case 0:
      return builtin(CombineKind::kMaximum);
    case 1:
      return builtin(CombineKind::kMinimum);
    case 2:
      return own(IsFloat(dtype)
                     ? random_.Pick({BinaryKind::kMaximumNum, BinaryKind::kMinimumNum})
                     : random_.Pick({BinaryKind::kXor, BinaryKind::kMul, BinaryKind::kAnd}));
    default:
      if (TakeRoom(target, 8 * members)) return builtin(CombineKind::kAdd);
      return builtin(CombineKind::kMaximum);
  }
}

void Generator::AtomicAccess(int /*depth*/) {
  const auto order = [&] {
    return random_.Pick({MemoryOrder::kRelaxed, MemoryOrder::kAcquire, MemoryOrder::kRelease,
                         MemoryOrder::kAcqRel});
  };
  const bool loads = random_.Chance(20);
  std::vector<size_t> targets;
  if (loads) {
    for (size_t i = 0; i < stores_.size(); ++i) {
      if (stores_[i].readable && IsAtomic(stores_[i].type.dtype())) targets.push_back(i);
    }
  } else {
    targets = Writable([](const Store& store) { return IsAtomic(store.type.dtype()); });
  }
  if (targets.empty()) return;
  const size_t target = random_.Pick(targets);
  const Store store = stores_[target];
  const auto element = ElementOf(store);
  if (!element) return;
  if (loads) {
    return Add(b_.AtomicLoad(store.operand, *element,
                             random_.Pick({MemoryOrder::kRelaxed, MemoryOrder::kAcquire})),
               store.fact);
  }
  const DType dtype = store.type.dtype();
  const auto value = ValueFor(Type::Scalar(dtype), Exactness::kRounded);
  if (!value) return;
  const Store strict = {.type = store.type};
  const Operand kept = Kept(strict, *value);
  if (!store.readable || random_.Chance(20)) {
    return b_.AtomicStore(store.operand, *element, kept,
                          random_.Pick({MemoryOrder::kRelaxed, MemoryOrder::kRelease}));
  }
  if (random_.Chance(30)) {
    // Bit patterns are compared, and the sign of a zero that was computed is free.
    Operand expected = Number(dtype, random_.Between(1, 5));
    if (IsFloat(dtype) && random_.Chance(40)) {
      const auto zero = [&](double sign) {
        return b_.Cast(Literal{.kind = Literal::Kind::kFloat, .float_value = sign * 0.0}, dtype);
      };
      b_.AtomicStore(store.operand, *element, zero(random_.Pick({1.0, -1.0})),
                     MemoryOrder::kRelaxed);
      expected = zero(random_.Pick({1.0, -1.0}));
    } else if (!IsFloat(dtype) && random_.Chance(60))
      expected = b_.Load(store.operand, *element);
    const Operand result = b_.AtomicCas(store.operand, *element, expected, kept, order());
    Add(b_.Extract(result, 0), store.fact);
    return Add(b_.Extract(result, 1), {});
  }
  RmwKind kind =
      IsFloat(dtype)
          ? random_.Pick({RmwKind::kExchange, RmwKind::kAdd, RmwKind::kMax, RmwKind::kMin})
          : random_.Pick({RmwKind::kExchange, RmwKind::kAdd, RmwKind::kMax, RmwKind::kMin,
                          RmwKind::kAnd, RmwKind::kOr, RmwKind::kXor});
  if (kind == RmwKind::kAdd && !TakeRoom(target, 8.0 * static_cast<double>(repeat_))) {
    kind = RmwKind::kMax;
  }
  Add(b_.AtomicRmw(kind, store.operand, *element, kept, order()), store.fact);
}

void Generator::Accumulate(size_t target) {
  const Store store = stores_[target];
  const DType dtype = store.type.dtype();
  const auto element = ElementOf(store);
  const auto value = ValueFor(Type::Scalar(dtype), Exactness::kRounded);
  if (!element || !value) return;
  const auto members = static_cast<double>(repeat_);
  if (!IsAtomic(dtype) || random_.Chance(35)) return Scatter(target, *element, *value, members);
  const Store strict = {.type = store.type};
  const Operand kept = Kept(strict, *value);
  RmwKind kind = IsFloat(dtype) ? random_.Pick({RmwKind::kAdd, RmwKind::kMax, RmwKind::kMin})
                                : random_.Pick({RmwKind::kAdd, RmwKind::kMax, RmwKind::kMin,
                                                RmwKind::kAnd, RmwKind::kOr, RmwKind::kXor});
  if (kind == RmwKind::kAdd && !TakeRoom(target, 8 * members)) kind = RmwKind::kMin;
  b_.AtomicRmw(kind, store.operand, *element, kept,
               random_.Pick({MemoryOrder::kRelaxed, MemoryOrder::kAcquire, MemoryOrder::kRelease,
                             MemoryOrder::kAcqRel}));
}

}  // namespace intent::testing
