#include "tests/differential/generator.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/numerics/scalar.h"
#include "compiler/verify/verify.h"

namespace intent::testing {

double ExactLimit(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return 16;
    case DType::kF8E5M2:
      return 8;
    case DType::kF16:
      return 2048;
    case DType::kBF16:
      return 256;
    case DType::kF32:
      return 16777216;
    default:
      return 9007199254740992;
  }
}

Tolerance ToleranceOf(Exactness exactness, DType dtype) {
  if (exactness < Exactness::kFuzzy || !IsFloat(dtype)) return {};
  if (exactness == Exactness::kLoose) return {.relative = 0x1p-10, .absolute = 0x1p-147};
  // Many units where library functions and sums differ in their own precision; one where such a
  // result was rounded once more. Subnormals have fewer digits.
  switch (dtype) {
    case DType::kF64:
      return {.relative = 0x1p-46, .absolute = 0x1p-1072};
    case DType::kF32:
      return {.relative = 0x1p-17, .absolute = 0x1p-147};
    case DType::kF16:
      return {.relative = 0x1.01p-10, .absolute = 0x1.01p-24};
    case DType::kBF16:
      return {.relative = 0x1.01p-7, .absolute = 0x1p-132};
    case DType::kF8E4M3FN:
      return {.relative = 0x1.01p-3, .absolute = 0x1.01p-9};
    default:
      return {.relative = 0x1.01p-2, .absolute = 0x1.01p-16};
  }
}

std::optional<Generator::Shape> Generator::Concrete(const std::vector<Extent>& shape) const {
  Shape result;
  for (const Extent& extent : shape) {
    const auto value =
        extent.Evaluate([&](AtomKind kind, uint32_t index) -> std::optional<int64_t> {
          if (kind == AtomKind::kSymbol) {
            if (index >= symbol_values_.size()) return std::nullopt;  // a slice's
            return symbol_values_[index];
          }
          if (kind == AtomKind::kConstexpr) return constexpr_values_[index];
          const auto known = known_values_.find(index);
          if (kind != AtomKind::kValue || known == known_values_.end()) return std::nullopt;
          return known->second;
        });
    if (!value || *value < 0) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

int64_t Generator::Count(const Type& type) const {
  const Shape shape = *Concrete(type.shape());
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void Generator::Add(const Operand& operand, Fact fact) {
  if (!operand.IsValue()) return;
  Type type = b_.TypeOf(operand);
  if (!type.IsElementwise()) return;
  const auto shape = Concrete(type.shape());
  if (!shape) return;
  int64_t count = repeat_;
  for (int64_t extent : *shape) count *= std::max<int64_t>(extent, 1);
  if (count > 200'000) return;
  budget_ -= count / 8 + 1;
  if (!type.IsScalar(DType::kIndex)) fact.ranged = false;
  vals_.push_back({operand, std::move(type), fact});
}

const Val* Generator::PickVal(const std::function<bool(const Val&)>& filter) {
  std::vector<const Val*> fitting;
  for (const Val& val : vals_) {
    if (filter(val)) fitting.push_back(&val);
  }
  if (fitting.empty()) return nullptr;
  // Young values more often, so that chains grow.
  const size_t count = fitting.size();
  const size_t back = random_.Chance(60) ? std::min<size_t>(count, 4) : count;
  return fitting[count - 1 - static_cast<size_t>(random_.Below(static_cast<int64_t>(back)))];
}

Operand Generator::Number(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return b_.Cast(Literal{Literal::Kind::kBool, value != 0, 0}, dtype);
  return b_.Cast(Int(value), dtype);
}

std::vector<Operand> Generator::ShapeOf(const Operand& tensor) {
  std::vector<Operand> shape;
  const Type type = b_.TypeOf(tensor);
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Extent& extent = type.shape()[axis];
    shape.push_back(extent.IsConstant() ? Int(extent.constant()) : b_.Dim(tensor, axis));
  }
  return shape;
}

DType Generator::PickDType() {
  return random_.Pick({DType::kF32, DType::kF32, DType::kF32, DType::kI32, DType::kI32,
                       DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kU32,
                       DType::kI64, DType::kU64, DType::kIndex, DType::kF16, DType::kBF16,
                       DType::kF64, DType::kF8E4M3FN, DType::kF8E5M2});
}

void Generator::MakeSymbols() {
  const int64_t count = random_.Between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    symbols_.push_back(b_.SymbolExtent(std::string(1, static_cast<char>('N' + i))));
    symbol_values_.push_back(random_.Pick(
        {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 100, 129}));
  }
  if (random_.Chance(5)) symbol_values_[0] = random_.Pick({1023, 1024, 1025, 2049});
}

void Generator::MakeConstexprs() {
  if (!random_.Chance(25)) return;
  for (int64_t i = random_.Between(1, 2); i > 0; --i) {
    const int64_t value = random_.Between(0, 5);
    constexpr_values_.push_back(value);
    constexpr_ints_.push_back(
        b_.AddConstexpr("c" + std::to_string(i), ConstexprKind::kInt, 0,
                        ConstexprValue{.kind = ConstexprKind::kInt, .int_value = value}, false));
  }
  const int64_t flag = random_.Below(2);
  constexpr_values_.push_back(flag);
  constexpr_bool_ =
      b_.AddConstexpr("flag", ConstexprKind::kBool, 0,
                      ConstexprValue{.kind = ConstexprKind::kBool, .int_value = flag}, false);
}

// Views of kernels that use scaled, sparse and quantised formats much: shapes that those take.
std::vector<std::pair<DType, std::vector<Extent>>> Generator::ThemeViews() {
  const auto small = [&] { return Extent(random_.Between(1, 5)); };
  const auto any = [&] { return random_.Chance(40) ? random_.Pick(symbols_) : small(); };
  switch (random_.Below(12)) {
    case 0: {
      const Extent rows = any(), groups = small(), columns = any();
      const int64_t carrier = random_.Pick({2, 4, 8, 16});
      return {{random_.Pick({DType::kU8, DType::kF8E4M3FN}), {rows, groups, carrier}},
              {random_.Pick({DType::kU8, DType::kF8E4M3FN}), {rows, groups}},
              {random_.Pick({DType::kU8, DType::kF8E4M3FN}), {groups, carrier, columns}},
              {random_.Pick({DType::kU8, DType::kF8E4M3FN}), {columns, groups}}};
    }
    case 1: {
      const Extent stored = random_.Chance(50) ? random_.Pick(symbols_) * 2 : small() * 2;
      return {{random_.Pick({DType::kF32, DType::kI8, DType::kF16, DType::kI32}), {any(), stored}},
              {DType::kF32, {stored * 2, any()}}};
    }
    case 2:
      return {{DType::kU8, {any(), 144}}, {DType::kF32, {any(), 256}}};
    default:
      return {};
  }
}

void Generator::MakeViews() {
  const int64_t plain = random_.Between(1, 3), outputs = random_.Between(1, 4);
  const auto themed = ThemeViews();
  const int64_t inputs = plain + static_cast<int64_t>(themed.size());
  // Each symbol is known from the first view's shape on.
  for (int64_t i = 0; i < inputs + outputs; ++i) {
    const bool input = i < inputs;
    const bool theme = input && i >= plain;
    std::vector<Extent> shape;
    int64_t count = 1;
    const int64_t rank =
        i == 0 ? static_cast<int64_t>(symbols_.size()) : random_.Pick({0, 1, 1, 2, 2, 2, 3});
    for (int64_t axis = 0; axis < rank && !theme; ++axis) {
      Extent extent = random_.Chance(20) ? Extent(random_.Between(0, 4)) : random_.Pick(symbols_);
      if (random_.Chance(8)) {
        const Extent& symbol = random_.Pick(symbols_);
        extent = random_.Pick({symbol * 2, symbol + 1, Extent::FloorDiv(symbol + 1, 2)});
      }
      if (i == 0) extent = symbols_[static_cast<size_t>(axis)];
      const int64_t value = (*Concrete({extent}))[0];
      if (count * std::max<int64_t>(value, 1) > 5000 && i > 0) continue;
      count *= std::max<int64_t>(value, 1);
      shape.push_back(extent);
    }
    const Access access = input ? Access::kIn : random_.Pick({Access::kOut, Access::kInOut});
    const DType dtype = theme ? themed[static_cast<size_t>(i - plain)].first : PickDType();
    if (theme) shape = themed[static_cast<size_t>(i - plain)].second;
    Store store;
    if (access == Access::kOut && IsFloat(dtype) && random_.Chance(35)) {
      const bool loose = dtype == DType::kF32 && random_.Chance(30);
      store.limit = loose ? Exactness::kLoose : Exactness::kFuzzy;
    }
    store.readable = access != Access::kOut;
    store.writable = !input;
    // Views of one group share memory.
    group_.push_back(static_cast<size_t>(i));
    if (!parallel_ && i > 0 && !theme && !store.fuzzy() && random_.Chance(40)) {
      const auto other = static_cast<size_t>(random_.Below(i));
      if (!stores_[other].fuzzy()) {
        group_.back() = group_[other];
      }
    }
    const DType shared =
        group_.back() == static_cast<size_t>(i) ? dtype : stores_[group_.back()].type.dtype();
    ViewConstraints constraints;
    if (parallel_) constraints.noalias = random_.Chance(70);
    store.operand = b_.AddView("v" + std::to_string(i), shared, shape, access, constraints);
    store.type = b_.TypeOf(store.operand);
    store.fact.finite = !special_;
    // Some views of floats have room for sums.
    if (IsFloat(shared) && group_.back() == static_cast<size_t>(i) && random_.Chance(40)) {
      store.fact.bound = std::min(65536.0, ExactLimit(shared) / 2);
      store.room = store.fact.bound - 8;
    } else if (group_.back() != static_cast<size_t>(i)) {
      store.fact = stores_[group_.back()].fact;
    }
    stores_.push_back(std::move(store));
  }
  view_count_ = stores_.size();
  for (size_t i = 0; i < view_count_; ++i) {
    bool read = false;
    for (size_t j = 0; j < view_count_; ++j) read |= group_[j] == group_[i] && stores_[j].readable;
    stores_[i].sink = !read;
  }
}

void Generator::MakeScalars() {
  const int64_t count = random_.Below(3);
  for (int64_t i = 0; i < count; ++i) {
    const DType dtype =
        random_.Chance(70)
            ? random_.Pick({DType::kIndex, DType::kI32, DType::kF32, DType::kBool, DType::kU64})
            : PickDType();
    const int64_t value = dtype == DType::kBool ? random_.Below(2) : random_.Between(0, 5);
    const Operand operand = b_.AddScalar("k" + std::to_string(i), dtype);
    data_.scalars.push_back(IsFloat(dtype) ? numerics::MakeFloat(dtype, static_cast<double>(value))
                                           : numerics::MakeInteger(dtype, value));
    if (!operand.IsValue()) continue;
    if (dtype == DType::kIndex) known_values_[operand.value()] = value;
    Fact fact;
    fact.ranged = true;
    fact.low = fact.high = value;
    Add(operand, fact);
  }
}

const std::vector<std::pair<int, void (Generator::*)(int)>>& Generator::Statements() {
  using Make = void (Generator::*)(int);
  static const std::vector<std::pair<int, Make>> kStatements = {
      {26, &Generator::Pointwise},
      {8, &Generator::ShapeChange},
      {4, &Generator::Construction},
      {3, &Generator::Product},
      {6, &Generator::Reduction},
      {3, &Generator::GenericReduction},
      {2, &Generator::ArgReduction},
      {4, &Generator::Cumulative},
      {2, &Generator::GenericScan},
      {5, &Generator::Contraction},
      {3, &Generator::RowChain},
      {8, &Generator::LoadFrom},
      {10, &Generator::StoreTo},
      {4, &Generator::GatherFrom},
      {2, &Generator::MakeBuffer},
      {3, &Generator::Branch},
      {3, &Generator::Loop},
      {2, &Generator::WhileLoop},
      {3, &Generator::ParallelLoop},
      {5, &Generator::BuiltinCombine},
      {3, &Generator::SliceCombine},
      {1, &Generator::CapturingCombine},
      {4, &Generator::RegionFold},
      {4, &Generator::RegionScan},
      {2, &Generator::ScaledContraction},
      {2, &Generator::SparseContraction},
      {3, &Generator::HistogramOf},
      {2, &Generator::Quantisation},
      {2, &Generator::RandomNumbers},
      {4, &Generator::ValueOnly},
      {4, &Generator::UniqueScatter},
      {4, &Generator::ReducingScatter},
      {5, &Generator::AtomicAccess},
      {5, &Generator::LibraryFunction},
      {3, &Generator::Approximate},
      {2, &Generator::Bounds},
      {3, &Generator::OfConstexprs},
      {4, &Generator::ContractionForm},
  };
  return kStatements;
}

void Generator::Statement(int depth) {
  if (budget_ <= 0) return;
  const size_t mark = b_.DiagnosticMark();
  int64_t total = 0;
  for (const int weight : weights_) total += weight;
  int64_t chosen = random_.Below(total);
  size_t kind = 0;
  while (chosen >= weights_[kind]) chosen -= weights_[kind++];
  (this->*Statements()[kind].second)(depth);
  b_.DiagnosticRollback(mark);
}

// Every kernel has much of some statements and nothing of others, so that pairs meet.
void Generator::ChooseWeights() {
  for (const auto& [weight, make] : Statements()) {
    weights_.push_back(weight * random_.Pick({0, 1, 1, 1, 4}));
  }
  weights_[0] += 10;
}

GeneratedKernel Generator::Run() {
  b_.SetKernelName("random");
  special_ = random_.Chance(25);
  parallel_ = random_.Chance(45);
  ChooseWeights();
  MakeConstexprs();
  MakeSymbols();
  MakeViews();
  MakeScalars();
  PlaceViews();
  for (int i = 0; i < 3; ++i) LoadFrom(0);
  const int64_t statements = random_.Between(4, 24);
  for (int64_t i = 0; i < statements; ++i) Statement(2);
  StoreOutputs();
  GeneratedKernel result;
  if (random_.Chance(8)) {
    const size_t mark = b_.DiagnosticMark();
    Violation();
    b_.DiagnosticRollback(mark);
    result.may_fail = true;
  }
  SourceMap map;
  result.module = b_.Finish(&map);
  for (const Diagnostic& diagnostic : b_.diagnostics())
    result.refusal += ToString(diagnostic) + "\n";
  if (result.module != nullptr) {
    AddActivePredicates(result.module.get());
    if (random_.Chance(30)) OutlineHelpers(result.module.get());
    NumberOperations(result.module.get(), &map);
    for (const Diagnostic& diagnostic : Verify(*result.module)) {
      result.refusal += ToString(diagnostic) + "\n";
    }
    if (!result.refusal.empty()) result.module = nullptr;
  }
  result.data = std::move(data_);
  return result;
}

// Every output is stored to at least once near the end.
void Generator::StoreOutputs() {
  for (size_t i = 0; i < view_count_; ++i) {
    if (!stores_[i].writable || stores_[i].full || random_.Chance(25)) continue;
    const Store store = stores_[i];
    const size_t mark = b_.DiagnosticMark();
    if (const auto value = ValueFor(store.type, store.limit)) {
      b_.Store(store.operand, {}, *value);
    }
    b_.DiagnosticRollback(mark);
  }
}

GeneratedKernel GenerateKernel(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace intent::testing
