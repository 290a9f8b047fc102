#pragma once

// The state of one generation, shared by the files of this folder.

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
  kFuzzy,    // within a tolerance
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
  bool fuzzy = false;  // may hold what is compared within a tolerance
  bool sink = false;   // nothing reads it: holds values of any exactness but fuzzy ones
};

// The largest magnitude up to which every whole number is exact.
double ExactLimit(DType dtype);

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
  Operand Number(DType dtype, int64_t value);  // a constant of the dtype
  DType PickDType();
  // An index scalar within [0, extent) that is no literal, if there is one.
  Operand IndexBelow(int64_t extent, const Operand& source, int64_t axis);

  // values.cc: pure operations.
  void Pointwise();
  void UnaryOf(const Val& value);
  void BinaryOf(const Val& value);
  void Comparison();
  void Choice();
  void Conversion();
  void ShapeChange();
  void Construction();
  void Product();
  // A partner of equal dtype that broadcasts with `value`.
  Val PartnerOf(const Val& value);
  // The value with magnitude at most `bound`, if it is a float; NaN stays.
  Val Clamp(const Val& value, int64_t bound);
  // A whole number of magnitude at most 8, finite unless this kernel's data is not.
  Val Settle(const Val& value);
  Val Convert(const Val& value, DType dtype);
  Fact ConversionFact(const Val& value, DType dtype) const;
  Val MakeVal(const Operand& operand, Fact fact) { return {operand, b_.TypeOf(operand), fact}; }

  // structured.cc: reductions, scans, contractions, row chains.
  void Reduction();
  void GenericReduction();
  void ArgReduction();
  void Cumulative();
  void GenericScan();
  void Contraction();
  void RowChain();

  // memory.cc: loads, stores, gathers, buffers.
  void LoadFrom();
  void StoreTo();
  void GatherFrom();
  void MakeBuffer();
  struct Indexed {
    std::vector<IndexItem> items;
    bool writable = true;  // no element is met twice
  };
  Indexed MakeIndex(const Operand& source, const Type& type, bool for_store);
  // A value of the dtype that broadcasts to the indexed shape.
  std::optional<Operand> ValueFor(const Type& target, bool fuzzy);

  // control.cc.
  void Branch(int depth);
  void Loop(int depth);
  void WhileLoop(int depth);
  void ParallelLoop();
  Operand SmallDomain(int64_t* low, int64_t* high);
  void Body(int depth, int statements);

  // arguments.cc: memory layouts and data.
  void PlaceViews();
  ViewPlace PlaceView(const Shape& shape, bool writable, int64_t* low, int64_t* high);
  void FillAllocation(Allocation* allocation);

  RandomSource random_;
  KernelBuilder b_;
  CallData data_;
  std::vector<Extent> symbols_;
  std::vector<int64_t> symbol_values_;
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
