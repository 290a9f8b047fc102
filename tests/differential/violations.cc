// What ends a call with an error: at most one such statement, the last of its kernel, so that there
// is one place to report.

#include <algorithm>

#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

using Operands = std::vector<Operand>;

IndexItem At(Operand operand) {
  return {.kind = IndexItem::Kind::kOperand, .operand = std::move(operand)};
}

}  // namespace

std::vector<size_t> Generator::Sinks() const {
  return Writable([&](const Store& store) { return store.type.IsView() && Count(store.type) > 0; });
}

// All of the values in one number, stored where something must store it.
void Generator::Consume(const Operand& value) {
  if (!value.IsValue()) return;
  const Store store = stores_[random_.Pick(Sinks())];
  const Type type = b_.TypeOf(value);
  Operand scalar = value;
  if (type.IsTensor() && type.rank() > 0) {
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis < type.rank(); ++axis) axes.push_back(axis);
    const CombineKind kind =
        type.dtype() == DType::kBool ? CombineKind::kOr : CombineKind::kMaximum;
    scalar = b_.Reduce(value, axes, IdentityFor(kind, type.dtype()), kind, nullptr, {});
  }
  const Val unknown = {
      scalar, b_.TypeOf(scalar), {.exactness = Exactness::kRounded, .finite = false}};
  if (scalar.IsValue()) {
    b_.Store(store.operand, {}, Convert(unknown, store.type.dtype()).operand);
  }
}

void Generator::Violation() {
  std::vector<size_t> sources;
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (stores_[i].type.rank() > 0 && Count(stores_[i].type) > 0) sources.push_back(i);
  }
  const int64_t form = random_.Below(8);
  // What nobody uses need not be computed, nor end the call.
  const bool consumed = form != 2 && form != 3 && form != 4;
  if (consumed && Sinks().empty()) return;
  if (form == 5) {
    const Val* picked = PickVal([](const Val& val) {
      return val.type.IsTensor() && IsInteger(val.type.dtype()) && IsAddressable(val.type.dtype());
    });
    if (picked == nullptr) return;
    return Consume(
        b_.Histogram(picked->operand, Int(random_.Between(1, 4)), Flag(true), DType::kI32));
  }
  if (form == 6) {
    const Operands shape = {Int(3), Int(2)}, dense = {Int(4), Int(2)};
    const Operand metadata = Pattern(shape, 0, random_.Chance(50) ? 2 : 1);
    return Consume(
        b_.SparseContract(b_.Cast(Pattern(shape, 0, 5), DType::kF32), metadata,
                          b_.Cast(Pattern(dense, 0, 5), DType::kF32), SparseFormat::kOneOfTwo, 1,
                          std::vector<std::pair<int64_t, int64_t>>{{1, 0}}, {}, DType::kF32));
  }
  if (sources.empty()) return;
  const size_t picked = random_.Pick(sources);
  const Store store = stores_[picked];
  const int64_t axis = random_.Below(store.type.rank());
  // Just outside, or far; of a dtype about which nothing is proven.
  const Operand extent = b_.Cast(b_.Dim(store.operand, axis), DType::kI64);
  const Operand outside =
      random_.Chance(50) ? b_.Binary(BinaryKind::kAdd, extent,
                                     b_.Cast(Int(random_.Pick({0, 1, 70, 1 << 30})), DType::kI64))
                         : b_.Cast(Int(random_.Pick({-1, -2, -60, -(1 << 30)})), DType::kI64);
  Operand index = outside;
  if (random_.Chance(50)) {
    // One of several is.
    const Operand places =
        b_.Cast(b_.Indices(b_.Domain(Int(0), Int(random_.Between(1, 40)), Int(1))), DType::kI64);
    const Operand here =
        b_.Compare(CompareKind::kEq, places, b_.Cast(Int(random_.Below(3)), DType::kI64));
    index = b_.Select(here, outside, b_.Cast(Int(0), DType::kI64));
  }
  std::vector<IndexItem> items;
  for (int64_t i = 0; i < store.type.rank(); ++i) {
    items.push_back(i == axis ? At(index) : IndexItem{.kind = IndexItem::Kind::kFull});
  }
  const DType dtype = store.type.dtype();
  switch (form) {
    case 0:
    case 1:
      if (store.readable) Consume(b_.Load(store.operand, items));
      return;
    case 2:
      if (store.writable) b_.Store(store.operand, items, Number(dtype, 1));
      return;
    case 3:
      if (store.writable && !b_.TypeOf(index).IsScalar()) return;
      if (store.writable) b_.ScatterUnique(store.operand, items, Number(dtype, 1));
      return;
    case 4:
      if (store.writable && store.readable && store.type.IsView()) {
        b_.ScatterReduce(store.operand, items, Number(dtype, 1),
                         dtype == DType::kBool ? CombineKind::kOr : CombineKind::kMaximum, nullptr);
      }
      return;
    default: {  // a part that leaves its domain
      const Operand whole = b_.Domain(Int(0), b_.Dim(store.operand, axis), Int(1));
      const Operand end = b_.Cast(outside, DType::kIndex);
      return Consume(b_.Indices(b_.Subregion(whole, std::nullopt, end)));
    }
  }
}

}  // namespace intent::testing
