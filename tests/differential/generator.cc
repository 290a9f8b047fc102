#include "tests/differential/generator.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/numerics/scalar.h"

namespace intent::testing {

double ExactLimit(DType dtype) {
  switch (dtype) {
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

std::optional<Generator::Shape> Generator::Concrete(const std::vector<Extent>& shape) const {
  Shape result;
  for (const Extent& extent : shape) {
    const auto value =
        extent.Evaluate([&](AtomKind kind, uint32_t index) -> std::optional<int64_t> {
          if (kind == AtomKind::kSymbol) return symbol_values_[index];
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

DType Generator::PickDType() {
  return random_.Pick({DType::kF32, DType::kF32, DType::kF32, DType::kI32, DType::kI32,
                       DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kU32,
                       DType::kI64, DType::kU64, DType::kIndex, DType::kF16, DType::kBF16,
                       DType::kF64});
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

void Generator::MakeViews() {
  const int64_t inputs = random_.Between(1, 3), outputs = random_.Between(1, 4);
  // Each symbol is known from the first view's shape on.
  for (int64_t i = 0; i < inputs + outputs; ++i) {
    const bool input = i < inputs;
    std::vector<Extent> shape;
    int64_t count = 1;
    const int64_t rank =
        i == 0 ? static_cast<int64_t>(symbols_.size()) : random_.Pick({0, 1, 1, 2, 2, 2, 3});
    for (int64_t axis = 0; axis < rank; ++axis) {
      Extent extent = random_.Chance(20) ? Extent(random_.Between(1, 4)) : random_.Pick(symbols_);
      if (i == 0) extent = symbols_[static_cast<size_t>(axis)];
      const int64_t value = (*Concrete({extent}))[0];
      if (count * std::max<int64_t>(value, 1) > 5000 && i > 0) continue;
      count *= std::max<int64_t>(value, 1);
      shape.push_back(extent);
    }
    const Access access = input ? Access::kIn : random_.Pick({Access::kOut, Access::kInOut});
    const DType dtype = PickDType();
    Store store;
    store.fuzzy = access == Access::kOut && (dtype == DType::kF32 || dtype == DType::kF64) &&
                  random_.Chance(35);
    store.readable = access != Access::kOut;
    store.writable = !input;
    // Views of one group share memory.
    group_.push_back(static_cast<size_t>(i));
    if (!parallel_ && i > 0 && !store.fuzzy && random_.Chance(40)) {
      const auto other = static_cast<size_t>(random_.Below(i));
      if (!stores_[other].fuzzy) {
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
    const DType dtype = random_.Pick({DType::kIndex, DType::kI32, DType::kF32, DType::kBool});
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

void Generator::Statement(int depth) {
  if (budget_ <= 0) return;
  const size_t mark = b_.DiagnosticMark();
  const int64_t kind = random_.Below(100);
  if (kind < 26) {
    Pointwise();
  } else if (kind < 34) {
    ShapeChange();
  } else if (kind < 38) {
    Construction();
  } else if (kind < 41) {
    Product();
  } else if (kind < 47) {
    Reduction();
  } else if (kind < 50) {
    GenericReduction();
  } else if (kind < 52) {
    ArgReduction();
  } else if (kind < 56) {
    Cumulative();
  } else if (kind < 58) {
    GenericScan();
  } else if (kind < 63) {
    Contraction();
  } else if (kind < 66) {
    RowChain();
  } else if (kind < 74) {
    LoadFrom();
  } else if (kind < 84) {
    StoreTo();
  } else if (kind < 88) {
    GatherFrom();
  } else if (kind < 90) {
    MakeBuffer();
  } else if (depth > 0) {
    switch (random_.Below(4)) {
      case 0:
        Branch(depth - 1);
        break;
      case 1:
        Loop(depth - 1);
        break;
      case 2:
        WhileLoop(depth - 1);
        break;
      default:
        if (parallel_ && !in_parallel_) ParallelLoop();
    }
  }
  b_.DiagnosticRollback(mark);
}

GeneratedKernel Generator::Run() {
  b_.SetKernelName("random");
  special_ = random_.Chance(25);
  parallel_ = random_.Chance(45);
  MakeSymbols();
  MakeViews();
  MakeScalars();
  PlaceViews();
  for (int i = 0; i < 3; ++i) LoadFrom();
  const int64_t statements = random_.Between(4, 28);
  for (int64_t i = 0; i < statements; ++i) Statement(2);
  StoreOutputs();
  GeneratedKernel result;
  SourceMap map;
  result.module = b_.Finish(&map);
  for (const Diagnostic& diagnostic : b_.diagnostics())
    result.refusal += ToString(diagnostic) + "\n";
  result.data = std::move(data_);
  return result;
}

// Every output is stored to at least once near the end.
void Generator::StoreOutputs() {
  for (size_t i = 0; i < view_count_; ++i) {
    if (!stores_[i].writable || random_.Chance(25)) continue;
    const Store store = stores_[i];
    const size_t mark = b_.DiagnosticMark();
    if (const auto value = ValueFor(b_.TypeOf(store.operand), store.fuzzy)) {
      b_.Store(store.operand, {}, *value);
    }
    b_.DiagnosticRollback(mark);
  }
}

GeneratedKernel GenerateKernel(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace intent::testing
