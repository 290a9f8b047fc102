#pragma once

// The state of one generation, shared by the files of this folder.

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/builder/builder.h"
#include "tests/differential/kernel_generator.h"
#include "tests/differential/random_source.h"

namespace intent::testing {

// What is known of a float value's arithmetic.
enum class Exactness : uint8_t {
  kWhole,    // whole numbers of magnitude at most `bound`, or NaN and infinities
  kRounded,  // one certain value, but sums of it depend on order
  kFuzzy,    // within a few units in the last place: library functions, long sums
  kLoose,    // within 2^-10: the approximate tanh
};

struct Fact {
  Exactness exactness = Exactness::kWhole;
  double bound = 8;
  bool product = false;  // ends in a rounding multiply, which may fuse with an addition
  bool finite = true;
  // Scalars of index: the values it can have.
  bool ranged = false;
  int64_t low = 0, high = 0;
};

struct Val {
  Operand operand;
  Type type;
  Fact fact;
};

// A view or buffer.
struct Store {
  Operand operand;
  Type type;
  Fact fact;  // of whatever may be read from it
  bool readable = false;
  bool writable = false;
  bool sink = false;  // nothing reads it: holds values of any exactness up to `limit`
  Exactness limit = Exactness::kRounded;  // the least exact values it takes
  // Additions by atomics and scatters that it still takes while its values stay within fact.bound.
  double room = 0;

  bool full = false;  // holds a result that is not to be overwritten at the end

  bool fuzzy() const { return limit >= Exactness::kFuzzy; }
};

// The largest magnitude up to which every whole number is exact.
double ExactLimit(DType dtype);
// What values of `exactness` may differ by in a view of `dtype`.
Tolerance ToleranceOf(Exactness exactness, DType dtype);

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  GeneratedKernel Run();

 private:
  using Shape = std::vector<int64_t>;

  // generator.cc: signature, scopes and facts.
  void MakeSymbols();
  void MakeViews();
  void MakeScalars();
  void MakeConstexprs();
  std::vector<std::pair<DType, std::vector<Extent>>> ThemeViews();
  void ChooseWeights();
  // How often and how: each takes the depth to which control may still nest.
  static const std::vector<std::pair<int, void (Generator::*)(int)>>& Statements();
  void Statement(int depth);
  void StoreOutputs();
  std::optional<Shape> Concrete(const std::vector<Extent>& shape) const;
  int64_t Count(const Type& type) const;
  void Add(const Operand& operand, Fact fact);
  bool Usable(const Operand& operand) const { return operand.IsValue(); }
  const Val* PickVal(const std::function<bool(const Val&)>& filter);
  Operand Int(int64_t value) const {
    return Literal{.kind = Literal::Kind::kInt, .int_value = value};
  }
  Operand Flag(bool value) const { return Literal{Literal::Kind::kBool, value, 0}; }
  Operand Number(DType dtype, int64_t value);  // a constant of the dtype
  // Its extents, to build other values with.
  std::vector<Operand> ShapeOf(const Operand& tensor);
  DType PickDType();
  // An index scalar within [0, extent) that is no literal, if there is one.
  Operand IndexBelow(int64_t extent, const Operand& source, int64_t axis);

  // values.cc: pure operations.
  void Pointwise(int depth = 0);
  void UnaryOf(const Val& value);
  void BinaryOf(const Val& value);
  void Comparison();
  void Choice();
  void Conversion();
  void ShapeChange(int depth = 0);
  void Construction(int depth = 0);
  void Product(int depth = 0);
  void Bounds(int depth = 0);
  void OfConstexprs(int depth = 0);
  void LibraryFunction(int depth = 0);
  void Approximate(int depth = 0);
  // Adds what is only bounded, and often stores it at once where that may be.
  void AddFuzzy(const Operand& operand, const Fact& fact);
  // A partner of equal dtype that broadcasts with `value`.
  Val PartnerOf(const Val& value);
  // The value with magnitude at most `bound`, if it is a float; NaN stays.
  Val Clamp(const Val& value, int64_t bound);
  // A whole number of magnitude at most 8, finite unless this kernel's data is not.
  Val Settle(const Val& value);
  // The same, and never NaN or infinite.
  Val Tame(const Val& value);
  Val Convert(const Val& value, DType dtype);
  Fact ConversionFact(const Val& value, DType dtype) const;
  Val MakeVal(const Operand& operand, Fact fact) { return {operand, b_.TypeOf(operand), fact}; }

  // structured.cc: reductions, scans, contractions, row chains.
  void Reduction(int depth = 0);
  void GenericReduction(int depth = 0);
  void ArgReduction(int depth = 0);
  void Cumulative(int depth = 0);
  void GenericScan(int depth = 0);
  void Contraction(int depth = 0);
  void ContractionForm(int depth = 0);
  void RowChain(int depth = 0);

  // combines.cc: reductions and scans whose state is a slice or a product.
  void BuiltinCombine(int depth = 0);
  void SliceCombine(int depth = 0);
  void CapturingCombine(int depth = 0);
  KernelBuilder::RegionPtr Combine(
      const Type& schema, const std::function<Operand(const Operand&, const Operand&)>& body);
  Operand IdentityFor(CombineKind kind, DType dtype);
  Operand Fold(const Operand& members, int64_t axis, const Operand& identity, CombineKind kind,
               const KernelBuilder::RegionPtr& combine, std::span<const Operand> captures,
               bool scan);

  // regions.cc: region folds and scans.
  void RegionFold(int depth = 0);
  void RegionScan(int depth = 0);
  std::optional<Val> RegionSource(int minimum, int maximum);
  Operand RetainedFull(const Val& value, int64_t axis, const Operand& fill);
  Operand AlongSlice(const Operand& state, const Type& slice, int64_t axis);

  // formats.cc: operations on formats of their own.
  void ScaledContraction(int depth = 0);
  void SparseContraction(int depth = 0);
  void HistogramOf(int depth = 0);
  void Quantisation(int depth = 0);
  void RandomNumbers(int depth = 0);
  void ValueOnly(int depth = 0);
  // Whole numbers in [low, high] that depend on the coordinates: a tensor of index.
  Operand Pattern(std::span<const Operand> shape, int64_t low, int64_t high);
  struct Size {
    Operand operand;
    int64_t value;
  };
  // An extent of some value, at most `most`, or a literal.
  Size SomeExtent(std::initializer_list<int64_t> literals, int64_t most);
  // A tensor of this shape and dtype: a view's, where one has it, else a pattern in [low, high].
  Operand Carrier(std::span<const Operand> shape, DType dtype, int64_t low, int64_t high);

  // effects.cc: scatters, atomics, assumptions.
  void UniqueScatter(int depth = 0);
  void ReducingScatter(int depth = 0);
  void AtomicAccess(int depth = 0);
  // Positions in `stores_` that the current scope may write.
  std::vector<size_t> Writable(const std::function<bool(const Store&)>& filter) const;
  // Of one element; nothing if there is none.
  std::optional<std::vector<IndexItem>> ElementOf(const Store& store);
  // Combines `members` at most into the store by something that has no order.
  void Scatter(size_t target, const std::vector<IndexItem>& items, const Operand& value,
               double members);
  // Into elements that other points of the parallel loop meet, too.
  void Accumulate(size_t target);
  // False if sums of that much more could leave what is exact there.
  bool TakeRoom(size_t store, double amount);

  // violations.cc.
  void Violation();
  void Consume(const Operand& value);
  std::vector<size_t> Sinks() const;  // views that hold something

  // memory.cc: loads, stores, gathers, buffers.
  void LoadFrom(int depth = 0);
  void StoreTo(int depth = 0);
  void GatherFrom(int depth = 0);
  void MakeBuffer(int depth = 0);
  struct Indexed {
    std::vector<IndexItem> items;
    bool writable = true;  // no element is met twice
  };
  Indexed MakeIndex(const Operand& source, const Type& type, bool for_store);
  // A value of the dtype that broadcasts to the indexed shape.
  std::optional<Operand> ValueFor(const Type& target, Exactness limit);
  // The value as it may stand in the store: within its bound, if something reads it.
  Operand Kept(const Store& store, const Operand& value);

  // control.cc.
  void Branch(int depth);
  void Loop(int depth);
  void WhileLoop(int depth);
  void ParallelLoop(int depth = 0);
  Operand SmallDomain(int64_t* low, int64_t* high, int64_t* count);
  void Body(int depth, int statements);

  // arguments.cc: memory layouts and data.
  void PlaceViews();
  ViewPlace PlaceView(const Shape& shape, bool writable, int64_t* low, int64_t* high);
  void FillAllocation(Allocation* allocation);

  // finish.cc: what the builder has no words for.
  void AddActivePredicates(Module* module);
  void OutlineHelpers(Module* module);

  RandomSource random_;
  KernelBuilder b_;
  CallData data_;
  std::vector<Extent> symbols_;
  std::vector<int64_t> symbol_values_;
  std::vector<int64_t> constexpr_values_;
  std::vector<Operand> constexpr_ints_;
  std::optional<Operand> constexpr_bool_;
  std::vector<int> weights_;  // of statements, by position in the table of Statement
  std::unordered_map<ValueId, int64_t> known_values_;  // index scalars that shape types
  std::vector<Val> vals_;
  std::vector<Store> stores_;  // views first, in order of parameters; then buffers in scope
  size_t view_count_ = 0;
  std::vector<size_t> group_;  // by view: views of one group share an allocation
  bool special_ = false;       // float data holds NaN, infinities and signed zeros
  bool parallel_ = false;      // loops may be parallel, so views do not overlap
  bool in_parallel_ = false;
  size_t outside_ = 0;       // in a parallel body: stores that other points see
  int64_t budget_ = 30'000;  // elements computed by one kernel, roughly, times loops
  int64_t repeat_ = 1;
};

}  // namespace intent::testing
