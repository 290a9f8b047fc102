// Loads, stores, gathers and buffers, always in bounds.

#include <algorithm>

#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

IndexItem At(Operand operand) {
  return {.kind = IndexItem::Kind::kOperand, .operand = std::move(operand)};
}

}  // namespace

// A scalar in [0, extent), which must not be empty.
Operand Generator::IndexBelow(int64_t extent, const Operand& source, int64_t axis) {
  const Val* direct = PickVal([&](const Val& val) {
    return val.type.IsScalar(DType::kIndex) && val.fact.ranged && val.fact.low >= 0 &&
           val.fact.high < extent;
  });
  if (direct != nullptr && random_.Chance(80)) return direct->operand;
  const Val* any =
      PickVal([](const Val& val) { return val.type.IsScalar() && IsInteger(val.type.dtype()); });
  if (any == nullptr || random_.Chance(40)) return Int(random_.Below(extent));
  return b_.Binary(BinaryKind::kMod, b_.Cast(any->operand, DType::kIndex), b_.Dim(source, axis));
}

Generator::Indexed Generator::MakeIndex(const Operand& source, const Type& type, bool for_store) {
  Indexed indexed;
  if (random_.Chance(35)) return indexed;
  const Shape shape = *Concrete(type.shape());
  bool tensor_used = false;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const int64_t extent = shape[axis];
    if (!for_store && random_.Chance(6)) {
      indexed.items.push_back({.kind = IndexItem::Kind::kNewAxis});
    }
    switch (random_.Below(8)) {
      case 0:
      case 1:
        if (extent == 0) break;
        indexed.items.push_back(At(IndexBelow(extent, source, axis)));
        if (type.IsResource() && random_.Chance(10)) {
          b_.AssumeInBounds(indexed.items.back().operand, source, Int(axis));
        }
        continue;
      case 2: {  // start:stop
        const int64_t start = random_.Between(0, extent), stop = random_.Between(start, extent);
        IndexItem item{.kind = IndexItem::Kind::kSlice};
        if (random_.Chance(80)) item.start = Int(start);
        if (random_.Chance(60)) item.stop = Int(stop);
        indexed.items.push_back(std::move(item));
        continue;
      }
      case 3: {  // a domain with steps
        const int64_t begin = random_.Between(0, extent), end = random_.Between(begin, extent);
        const int64_t step = random_.Between(1, 3);
        Operand domain =
            b_.Domain(Int(begin), random_.Chance(40) ? b_.Dim(source, axis) : Int(end), Int(step));
        if (step == 1 && random_.Chance(40)) {
          domain = b_.Subregion(domain, Int(random_.Between(begin, end)), std::nullopt);
        }
        indexed.items.push_back(At(domain));
        continue;
      }
      case 4: {  // coordinates, reversed: a permutation
        if (tensor_used) break;
        tensor_used = true;
        const Operand count = b_.Dim(source, axis);
        const Operand forward = b_.Indices(b_.Domain(Int(0), count, Int(1)));
        const Operand last = b_.Binary(BinaryKind::kSub, count, Int(1));
        indexed.items.push_back(At(b_.Binary(BinaryKind::kSub, last, forward)));
        continue;
      }
      case 5: {  // any integers, brought into range; elements may be met twice
        if (tensor_used || for_store || extent == 0) break;
        const Val* any = PickVal([](const Val& val) {
          return val.type.IsTensor() && val.type.rank() <= 2 && IsInteger(val.type.dtype());
        });
        if (any == nullptr) break;
        tensor_used = true;
        const Operand index = b_.Cast(any->operand, DType::kIndex);
        const Operand within = b_.Binary(BinaryKind::kMod, index, b_.Dim(source, axis));
        if (type.IsResource() && random_.Chance(30)) {
          b_.AssumeInBounds(within, source, Int(axis));
        }
        indexed.items.push_back(At(within));
        continue;
      }
      default:
        break;
    }
    indexed.items.push_back({.kind = IndexItem::Kind::kFull});
  }
  return indexed;
}

void Generator::LoadFrom(int /*depth*/) {
  std::vector<const Store*> readable;
  for (const Store& store : stores_) {
    if (store.readable) readable.push_back(&store);
  }
  if (readable.empty()) return;
  const Store store = *random_.Pick(readable);
  const Indexed index = MakeIndex(store.operand, store.type, false);
  const Operand loaded = b_.Load(store.operand, index.items);
  if (!loaded.IsValue() || random_.Chance(85)) return Add(loaded, store.fact);
  // The same again where a mask says so; nothing is read elsewhere.
  const Type type = b_.TypeOf(loaded);
  const Val* mask =
      PickVal([&](const Val& val) { return val.type == type.WithDType(DType::kBool); });
  const Operand test =
      mask != nullptr ? mask->operand : b_.Compare(CompareKind::kEq, loaded, loaded);
  std::optional<Operand> fill;
  if (random_.Chance(60)) fill = Number(type.dtype(), random_.Between(0, 4));
  Add(b_.Gather(store.operand, index.items, test, fill), store.fact);
}

std::optional<Operand> Generator::ValueFor(const Type& target, Exactness limit) {
  const auto fits = [&](const Val& val, bool same) {
    if ((val.type.dtype() == target.dtype()) != same) return false;
    if (val.fact.exactness >= Exactness::kFuzzy && (val.fact.exactness > limit || !same)) {
      return false;
    }
    if (val.type.rank() > target.rank()) return false;
    for (int axis = 0; axis < val.type.rank(); ++axis) {
      const Extent& its = val.type.shape()[axis];
      if (!(its == target.shape()[target.rank() - val.type.rank() + axis]) && !its.IsConstant(1))
        return false;
    }
    return true;
  };
  for (const int minimum : {target.rank(), 0}) {
    for (const bool same : {true, false}) {
      const Val* found =
          PickVal([&](const Val& val) { return val.type.rank() >= minimum && fits(val, same); });
      if (found == nullptr || random_.Chance(15)) continue;
      const Val copy = *found;
      return Convert(copy, target.dtype()).operand;
    }
  }
  return Number(target.dtype(), random_.Between(0, 5));
}

Operand Generator::Kept(const Store& store, const Operand& value) {
  const bool keeps = store.sink || store.fuzzy() || !IsFloat(store.type.dtype());
  if (keeps || !value.IsValue()) return value;
  for (const Val& val : vals_) {
    if (val.operand.value() != value.value()) continue;
    const Val copy = val;
    return Settle(copy).operand;
  }
  // Just converted: of unknown size.
  return Settle({value, b_.TypeOf(value), {.exactness = Exactness::kRounded, .finite = false}})
      .operand;
}

std::vector<size_t> Generator::Writable(const std::function<bool(const Store&)>& filter) const {
  std::vector<size_t> writable;
  for (size_t i = in_parallel_ ? outside_ : 0; i < stores_.size(); ++i) {
    if (stores_[i].writable && filter(stores_[i])) writable.push_back(i);
  }
  return writable;
}

void Generator::StoreTo(int /*depth*/) {
  const std::vector<size_t> writable = Writable([](const Store&) { return true; });
  if (writable.empty()) return;
  const Store store = stores_[random_.Pick(writable)];
  const Indexed index = MakeIndex(store.operand, store.type, true);
  // The shape that the relation selects is that of a load there; an Out view is not loaded.
  Type selected = store.type;
  if (!index.items.empty()) {
    if (!store.readable) {
      // Whatever is a scalar broadcasts to any selection.
      const Val* scalar = PickVal([&](const Val& val) {
        return val.type.IsScalar(store.type.dtype()) && val.fact.exactness <= store.limit;
      });
      const Operand value = scalar != nullptr ? scalar->operand : Number(store.type.dtype(), 3);
      return b_.Store(store.operand, index.items, Kept(store, value));
    }
    const Operand there = b_.Load(store.operand, index.items);
    if (!there.IsValue()) return;
    selected = b_.TypeOf(there);
  }
  const auto value = ValueFor(selected, store.limit);
  if (!value) return;
  b_.Store(store.operand, index.items, Kept(store, *value));
}

void Generator::GatherFrom(int /*depth*/) {
  const Val* source = PickVal([](const Val& val) {
    return val.type.IsTensor() && val.type.rank() > 0 && val.fact.exactness < Exactness::kFuzzy;
  });
  if (source == nullptr) return;
  const Val value = *source;
  const Indexed index = MakeIndex(value.operand, value.type, false);
  if (index.items.empty()) return;
  if (random_.Chance(50)) return Add(b_.Load(value.operand, index.items), value.fact);
  // Only where valid, with coordinates that are out of bounds where not.
  const int64_t extent = (*Concrete(value.type.shape()))[0];
  const Operand shift = Int(random_.Between(-3, 3));
  const Operand count = b_.Dim(value.operand, 0);
  const Operand moved = b_.Binary(
      BinaryKind::kAdd,
      b_.Indices(b_.Domain(Int(0), random_.Chance(50) ? count : Int(extent + 2), Int(1))), shift);
  const Operand valid = b_.Binary(BinaryKind::kAnd, b_.Compare(CompareKind::kGe, moved, Int(0)),
                                  b_.Compare(CompareKind::kLt, moved, count));
  const Type type = b_.TypeOf(moved);
  Operand test = valid;
  if (value.type.rank() > 1) {
    std::vector<Operand> shape = {b_.Dim(moved, 0)};
    for (int axis = 1; axis < value.type.rank(); ++axis) shape.push_back(Int(1));
    test = b_.Reshape(valid, shape);
  }
  std::optional<Operand> fill;
  if (random_.Chance(60)) fill = Number(value.type.dtype(), random_.Between(0, 4));
  Add(b_.Gather(value.operand, std::vector<IndexItem>{At(moved)}, test, fill), value.fact);
}

void Generator::MakeBuffer(int /*depth*/) {
  const DType dtype = PickDType();
  std::vector<Operand> shape;
  for (int64_t i = random_.Below(3); i > 0; --i) shape.push_back(Int(random_.Between(0, 9)));
  std::optional<Operand> init = Number(dtype, random_.Between(0, 4));
  const Val* tensor = PickVal([&](const Val& val) {
    return val.type.IsTensor() && val.type.dtype() == dtype &&
           val.fact.exactness < Exactness::kFuzzy;
  });
  if (tensor != nullptr && random_.Chance(70)) {
    const Val value = *tensor;
    shape.clear();
    for (int axis = 0; axis < value.type.rank(); ++axis) {
      shape.push_back(b_.Dim(value.operand, axis));
    }
    init = Settle(value).operand;
  }
  Store store;
  store.operand = b_.Buffer(shape, dtype, init);
  if (!store.operand.IsValue()) return;
  store.type = b_.TypeOf(store.operand);
  if (!Concrete(store.type.shape())) return;
  store.fact.finite = !special_;
  store.readable = store.writable = true;
  stores_.push_back(store);
  LoadFrom(0);
  StoreTo(0);
}

}  // namespace intent::testing
