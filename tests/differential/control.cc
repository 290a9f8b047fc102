// Branches and loops with carried values.

#include <algorithm>

#include "tests/differential/generator.h"

namespace intent::testing {

void Generator::Body(int depth, int statements) {
  for (int i = 0; i < statements; ++i) Statement(depth);
}

void Generator::Branch(int depth) {
  if (depth <= 0) return;
  const Val* condition = PickVal([](const Val& val) { return val.type.IsScalar(DType::kBool); });
  Operand test;
  if (constexpr_bool_ && random_.Chance(40)) {
    test = *constexpr_bool_;
  } else if (condition != nullptr) {
    test = condition->operand;
  } else {
    const Val* scalar =
        PickVal([](const Val& val) { return val.type.IsScalar() && IsInteger(val.type.dtype()); });
    if (scalar == nullptr) return;
    test = b_.Compare(CompareKind::kGt, scalar->operand, Number(scalar->type.dtype(), 1));
  }
  const Val* merged =
      PickVal([](const Val& val) { return val.fact.exactness < Exactness::kFuzzy; });
  if (merged == nullptr) return;
  const Val other = *merged;
  KernelBuilder::RegionPtr arms[2];
  Fact fact = other.fact;
  for (auto& arm : arms) {
    const size_t vals = vals_.size(), stores = stores_.size();
    b_.PushRegion({});
    Body(depth - 1, static_cast<int>(random_.Between(0, 4)));
    const Val* yielded = PickVal([&](const Val& val) {
      return val.type == other.type && val.fact.exactness < Exactness::kFuzzy;
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

// At most four points.
Operand Generator::SmallDomain(int64_t* low, int64_t* high, int64_t* count) {
  const int64_t begin = random_.Between(0, 2);
  *count = random_.Pick({0, 1, 2, 3, 3, 4});
  const int64_t step = random_.Pick({1, 1, 1, 2, 3});
  const int64_t end = begin + *count * step - (*count > 0 ? random_.Below(step) : 0);
  *low = begin;
  *high = std::max(begin, end - 1);
  if (random_.Chance(30)) {
    const Operand all = b_.Domain(Int(0), Int(end + random_.Below(3)), Int(1));
    if (step == 1) return b_.Subregion(all, Int(begin), Int(end));
  }
  // An end that is known at run time only.
  const std::vector<const Val*> scalars = [&] {
    std::vector<const Val*> found;
    for (const Val& val : vals_) {
      if (val.type.IsScalar(DType::kIndex)) found.push_back(&val);
    }
    return found;
  }();
  if (!scalars.empty() && random_.Chance(25)) {
    const Operand any = random_.Pick(scalars)->operand;
    const Operand dynamic =
        b_.Binary(BinaryKind::kMinimum, b_.Binary(BinaryKind::kMaximum, any, Int(begin)), Int(end));
    return b_.Domain(Int(begin), dynamic, Int(step));
  }
  return b_.Domain(Int(begin), Int(end), Int(step));
}

void Generator::Loop(int depth) {
  if (depth <= 0) return;
  int64_t low[2], high[2], count[2] = {1, 1};
  std::vector<Operand> axes = {SmallDomain(&low[0], &high[0], &count[0])};
  if (random_.Chance(20)) axes.push_back(SmallDomain(&low[1], &high[1], &count[1]));
  const Operand domain = axes.size() == 1 ? axes[0] : b_.DomainProduct(axes);
  std::vector<Val> carried;
  for (int64_t i = random_.Below(4); i > 0; --i) {
    const Val* val = PickVal([](const Val& v) { return v.fact.exactness < Exactness::kFuzzy; });
    if (val != nullptr) carried.push_back(Settle(*val));
  }
  for (const Val& val : carried) {
    if (!val.operand.IsValue()) return;
  }
  // Carries stand alone or together in one product.
  const bool packed = carried.size() > 1 && random_.Chance(35);
  std::vector<Operand> values;
  for (const Val& val : carried) values.push_back(val.operand);
  const auto pack = [&](const std::vector<Operand>& fields) {
    return packed ? std::vector<Operand>{b_.MakeTuple(fields)} : fields;
  };
  const auto unpack = [&](const std::vector<Operand>& given) {
    if (!packed) return given;
    std::vector<Operand> fields;
    for (size_t i = 0; i < carried.size(); ++i) {
      fields.push_back(b_.Extract(given[0], static_cast<int64_t>(i)));
    }
    return fields;
  };
  const std::vector<Operand> inits = pack(values);
  std::vector<Type> arguments(axes.size(), Type::Scalar(DType::kIndex));
  for (const Operand& init : inits) arguments.push_back(b_.TypeOf(init));
  const size_t vals = vals_.size(), stores = stores_.size();
  const int64_t outer = repeat_;
  repeat_ *= std::max<int64_t>(count[0], 1) * std::max<int64_t>(count[1], 1);
  const std::vector<Operand> inner = b_.PushRegion(arguments);
  Fact fact;
  for (size_t i = 0; i < axes.size(); ++i) {
    fact.ranged = true;
    fact.low = low[i];
    fact.high = high[i];
    Add(inner[i], fact);
  }
  fact = {};
  fact.finite = !special_;
  const std::vector<Operand> current =
      unpack({inner.begin() + static_cast<ptrdiff_t>(axes.size()), inner.end()});
  for (const Operand& value : current) Add(value, fact);
  Body(depth - 1, static_cast<int>(random_.Between(1, 5)));
  std::vector<Operand> next;
  for (size_t i = 0; i < carried.size(); ++i) {
    const Val* found = PickVal([&](const Val& val) {
      return val.type == carried[i].type && val.fact.exactness < Exactness::kFuzzy;
    });
    Operand value = current[i];
    // Carries may also change places.
    if (found != nullptr) {
      const Val copy = *found;
      const Val settled = Settle(copy);
      if (settled.operand.IsValue() && settled.type == carried[i].type) value = settled.operand;
    }
    next.push_back(value);
  }
  next = pack(next);
  vals_.resize(vals);
  stores_.resize(stores);
  repeat_ = outer;
  const auto region = b_.PopRegion(next);
  for (const Operand& result : unpack(b_.For(domain, inits, region))) Add(result, fact);
}

void Generator::WhileLoop(int depth) {
  if (depth <= 0) return;
  const Val* val = PickVal([](const Val& v) { return v.fact.exactness < Exactness::kFuzzy; });
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
  Body(depth - 1, static_cast<int>(random_.Between(1, 4)));
  const Val* found = PickVal(
      [&](const Val& v) { return v.type == carried.type && v.fact.exactness < Exactness::kFuzzy; });
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

// Every point writes rows, or elements, of its own; what all of them add to is met by atomics and
// reducing scatters of one kind only.
void Generator::ParallelLoop(int depth) {
  if (!parallel_ || in_parallel_ || depth <= 0) return;
  std::vector<size_t> targets;
  for (size_t i = 0; i < view_count_; ++i) {
    if (stores_[i].writable && stores_[i].type.rank() > 0) targets.push_back(i);
  }
  if (targets.empty()) return;
  const size_t view = random_.Pick(targets);
  const Store target = stores_[view];
  const Shape shape = *Concrete(target.type.shape());
  size_t axes = target.type.rank() > 1 && random_.Chance(35) ? 2 : 1;
  int64_t points = 1;
  for (size_t axis = 0; axis < axes; ++axis) points *= std::max<int64_t>(shape[axis], 1);
  if (points > 150) return;
  const bool nested = axes == 2 && random_.Chance(50);
  std::vector<Operand> domains;
  for (size_t axis = 0; axis < axes; ++axis) {
    const Operand end = b_.Dim(target.operand, static_cast<int64_t>(axis));
    domains.push_back(b_.Domain(Int(0), end, Int(1)));
  }
  std::vector<size_t> shared;
  for (size_t i = 0; i < view_count_; ++i) {
    const Store& store = stores_[i];
    if (i == view || !store.writable || !store.readable) continue;
    const int64_t count = Count(store.type);
    if (count > 0 && (!IsFloat(store.type.dtype()) ||
                      store.room > 16.0 * static_cast<double>(points * repeat_))) {
      shared.push_back(i);
    }
  }
  const size_t vals = vals_.size(), stores = stores_.size();
  const int64_t outer = repeat_;
  repeat_ *= points;
  std::vector<Operand> at;
  if (nested) {
    at.push_back(b_.PushRegion(std::vector<Type>{Type::Scalar(DType::kIndex)})[0]);
    at.push_back(b_.PushRegion(std::vector<Type>{Type::Scalar(DType::kIndex)})[0]);
  } else {
    at = b_.PushRegion(std::vector<Type>(axes, Type::Scalar(DType::kIndex)));
  }
  in_parallel_ = true;
  outside_ = stores;
  // What other points write must not be read.
  const bool readable = stores_[view].readable;
  stores_[view].readable = false;
  std::vector<IndexItem> row;
  for (size_t axis = 0; axis < axes; ++axis) {
    Fact fact;
    fact.ranged = true;
    fact.low = 0;
    fact.high = std::max<int64_t>(shape[axis] - 1, 0);
    Add(at[axis], fact);
    row.push_back({.kind = IndexItem::Kind::kOperand, .operand = at[axis]});
  }
  const std::vector<Extent> rest = {target.type.shape().begin() + static_cast<ptrdiff_t>(axes),
                                    target.type.shape().end()};
  const Type row_type =
      rest.empty() ? Type::Scalar(target.type.dtype()) : Type::Tensor(target.type.dtype(), rest);
  if (readable) Add(b_.Load(target.operand, row), target.fact);
  std::optional<size_t> meeting;
  if (!shared.empty() && random_.Chance(60)) {
    meeting = random_.Pick(shared);
    stores_[*meeting].readable = false;
  }
  Body(1, static_cast<int>(random_.Between(1, 6)));
  if (meeting) Accumulate(*meeting);
  if (const auto value = ValueFor(row_type, target.limit); value && value->IsValue()) {
    b_.Store(target.operand, row, Kept(target, *value));
  }
  stores_[view].readable = readable;
  if (meeting) stores_[*meeting].readable = true;
  in_parallel_ = false;
  vals_.resize(vals);
  stores_.resize(stores);
  repeat_ = outer;
  if (nested) {
    b_.Parallel(domains[1], b_.PopRegion({}));
    b_.Parallel(domains[0], b_.PopRegion({}));
  } else {
    b_.Parallel(axes == 1 ? domains[0] : b_.DomainProduct(domains), b_.PopRegion({}));
  }
}

}  // namespace intent::testing
