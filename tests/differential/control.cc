// Branches and loops with carried values.

#include <algorithm>

#include "tests/differential/generator.h"

namespace intent::testing {

void Generator::Body(int depth, int statements) {
  for (int i = 0; i < statements; ++i) Statement(depth);
}

void Generator::Branch(int depth) {
  const Val* condition = PickVal([](const Val& val) { return val.type.IsScalar(DType::kBool); });
  Operand test;
  if (condition != nullptr) {
    test = condition->operand;
  } else {
    const Val* scalar =
        PickVal([](const Val& val) { return val.type.IsScalar() && IsInteger(val.type.dtype()); });
    if (scalar == nullptr) return;
    test = b_.Compare(CompareKind::kGt, scalar->operand, Number(scalar->type.dtype(), 1));
  }
  const Val* merged =
      PickVal([](const Val& val) { return val.fact.exactness != Exactness::kFuzzy; });
  if (merged == nullptr) return;
  const Val other = *merged;
  KernelBuilder::RegionPtr arms[2];
  Fact fact = other.fact;
  for (auto& arm : arms) {
    const size_t vals = vals_.size(), stores = stores_.size();
    b_.PushRegion({});
    Body(depth, static_cast<int>(random_.Between(0, 4)));
    const Val* yielded = PickVal([&](const Val& val) {
      return val.type == other.type && val.fact.exactness != Exactness::kFuzzy;
    });
    const Val chosen = yielded != nullptr ? *yielded : other;
    fact.exactness = std::max(fact.exactness, chosen.fact.exactness);
    fact.bound = std::max(fact.bound, chosen.fact.bound);
    fact.product |= chosen.fact.product;
    fact.finite &= chosen.fact.finite;
    fact.ranged = false;
    vals_.resize(vals);
    stores_.resize(stores);
    arm = b_.PopRegion(std::vector<Operand>{chosen.operand});
  }
  Add(b_.If(test, arms[0], arms[1])[0], fact);
}

// At most seven points.
Operand Generator::SmallDomain(int64_t* low, int64_t* high) {
  const int64_t begin = random_.Between(0, 2);
  const int64_t count = random_.Pick({0, 1, 2, 3, 3, 4});
  const int64_t step = random_.Pick({1, 1, 1, 2, 3});
  const int64_t end = begin + count * step - (count > 0 ? random_.Below(step) : 0);
  *low = begin;
  *high = std::max(begin, end - 1);
  return b_.Domain(Int(begin), Int(end), Int(step));
}

void Generator::Loop(int depth) {
  int64_t low[2], high[2];
  std::vector<Operand> axes = {SmallDomain(&low[0], &high[0])};
  if (random_.Chance(20)) axes.push_back(SmallDomain(&low[1], &high[1]));
  const Operand domain = axes.size() == 1 ? axes[0] : b_.DomainProduct(axes);
  std::vector<Val> carried;
  for (int64_t i = random_.Below(3); i > 0; --i) {
    const Val* val = PickVal([](const Val& v) { return v.fact.exactness != Exactness::kFuzzy; });
    if (val != nullptr) carried.push_back(Settle(*val));
  }
  std::vector<Type> arguments(axes.size(), Type::Scalar(DType::kIndex));
  std::vector<Operand> inits;
  for (const Val& val : carried) {
    if (!val.operand.IsValue()) return;
    arguments.push_back(val.type);
    inits.push_back(val.operand);
  }
  const size_t vals = vals_.size(), stores = stores_.size();
  const int64_t outer = repeat_;
  repeat_ *= 4;
  const std::vector<Operand> inner = b_.PushRegion(arguments);
  for (size_t i = 0; i < inner.size(); ++i) {
    Fact fact;
    fact.finite = !special_;
    if (i < axes.size()) {
      fact.ranged = true;
      fact.low = low[i];
      fact.high = high[i];
    }
    Add(inner[i], fact);
  }
  Body(depth, static_cast<int>(random_.Between(1, 5)));
  std::vector<Operand> next;
  for (size_t i = 0; i < carried.size(); ++i) {
    const Val* found = PickVal([&](const Val& val) {
      return val.type == carried[i].type && val.fact.exactness != Exactness::kFuzzy;
    });
    Operand value = inner[axes.size() + i];
    // Carries may also change places.
    if (found != nullptr) {
      const Val copy = *found;
      const Val settled = Settle(copy);
      if (settled.operand.IsValue() && settled.type == carried[i].type) value = settled.operand;
    }
    next.push_back(value);
  }
  vals_.resize(vals);
  stores_.resize(stores);
  repeat_ = outer;
  const auto region = b_.PopRegion(next);
  Fact fact;
  fact.finite = !special_;
  for (const Operand& result : b_.For(domain, inits, region)) Add(result, fact);
}

void Generator::WhileLoop(int depth) {
  const Val* val = PickVal([](const Val& v) { return v.fact.exactness != Exactness::kFuzzy; });
  if (val == nullptr) return;
  const Val carried = Settle(*val);
  if (!carried.operand.IsValue()) return;
  const std::vector<Type> arguments = {Type::Scalar(DType::kI32), carried.type};
  const std::vector<Operand> inits = {Number(DType::kI32, 0), carried.operand};
  const std::vector<Operand> tested = b_.PushRegion(arguments);
  const Operand test =
      b_.Compare(CompareKind::kLt, tested[0], Number(DType::kI32, random_.Between(0, 4)));
  const auto condition = b_.PopRegion(std::vector<Operand>{test});
  const size_t vals = vals_.size(), stores = stores_.size();
  const int64_t outer = repeat_;
  repeat_ *= 4;
  const std::vector<Operand> inner = b_.PushRegion(arguments);
  Fact fact;
  fact.finite = !special_;
  Add(inner[1], fact);
  Body(depth, static_cast<int>(random_.Between(1, 4)));
  const Val* found = PickVal([&](const Val& v) {
    return v.type == carried.type && v.fact.exactness != Exactness::kFuzzy;
  });
  Operand next = inner[1];
  if (found != nullptr) {
    const Val copy = *found;
    const Val settled = Settle(copy);
    if (settled.operand.IsValue() && settled.type == carried.type) next = settled.operand;
  }
  const Operand count = b_.Binary(BinaryKind::kAdd, inner[0], Number(DType::kI32, 1));
  vals_.resize(vals);
  stores_.resize(stores);
  repeat_ = outer;
  const auto region = b_.PopRegion(std::vector<Operand>{count, next});
  const std::vector<Operand> results = b_.While(inits, condition, region);
  Add(results[0], {});
  Add(results[1], fact);
}

// Every point writes rows of its own.
void Generator::ParallelLoop() {
  std::vector<size_t> targets;
  for (size_t i = 0; i < view_count_; ++i) {
    if (stores_[i].writable && stores_[i].type.rank() > 0) targets.push_back(i);
  }
  if (targets.empty()) return;
  const size_t view = random_.Pick(targets);
  const Store target = stores_[view];
  const int64_t extent = (*Concrete(target.type.shape()))[0];
  if (extent > 70) return;
  const Operand domain = b_.Domain(Int(0), b_.Dim(target.operand, 0), Int(1));
  const size_t vals = vals_.size(), stores = stores_.size();
  const int64_t outer = repeat_;
  repeat_ *= std::max<int64_t>(extent, 1);
  const Operand point = b_.PushRegion(std::vector<Type>{Type::Scalar(DType::kIndex)})[0];
  in_parallel_ = true;
  outside_ = stores;
  // What other points write must not be read.
  const bool readable = stores_[view].readable;
  stores_[view].readable = false;
  Fact fact;
  fact.ranged = true;
  fact.low = 0;
  fact.high = std::max<int64_t>(extent - 1, 0);
  Add(point, fact);
  const std::vector<IndexItem> row = {{.kind = IndexItem::Kind::kOperand, .operand = point}};
  Type row_type = target.type.rank() == 1
                      ? Type::Scalar(target.type.dtype())
                      : Type::Tensor(target.type.dtype(),
                                     {target.type.shape().begin() + 1, target.type.shape().end()});
  if (readable) Add(b_.Load(target.operand, row), target.fact);
  Body(1, static_cast<int>(random_.Between(1, 6)));
  if (const auto value = ValueFor(row_type, target.fuzzy); value && value->IsValue()) {
    Val stored = {*value, b_.TypeOf(*value), {.exactness = Exactness::kRounded, .finite = false}};
    const bool keeps = target.sink || target.fuzzy || !IsFloat(target.type.dtype());
    b_.Store(target.operand, row, keeps ? stored.operand : Settle(stored).operand);
  }
  stores_[view].readable = readable;
  in_parallel_ = false;
  vals_.resize(vals);
  stores_.resize(stores);
  repeat_ = outer;
  b_.Parallel(domain, b_.PopRegion({}));
}

}  // namespace intent::testing
