#pragma once

// The lowering's state, shared by the files of this folder. One Lowerer lowers one kernel.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/lower/lower.h"
#include "compiler/lower/range.h"
#include "compiler/lower/tensor.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/tile_parallel.h"
#include "compiler/tile/tile_builder.h"

namespace intent::lower {

// Where elements are asked for: how many lanes at once and which of them are active.
struct Context {
  int32_t lanes = 1;
  Id mask = kNoId;       // bool tile; kNoId: all lanes are active
  bool guarded = false;  // the mask may have no active lane: uniform accesses need it too
  const std::vector<Id>* unit = nullptr;  // strides that are 1 wherever this code runs
};

// The rows of axis 0 that a stage covers; nothing means all.
struct Window {
  Id low = kNoId;
  Id high = kNoId;
  bool one = false;  // high is the next after low
};

// How one coordinate of an operand follows from a stage's coordinates, without emitting anything.
struct SymbolicCoord {
  int axis = -1;  // exactly this axis of the stage's coordinates; -1: something else
  enum class Lane : uint8_t {
    kUniform,
    kUnit,
    kOther
  } lane = Lane::kUniform;  // along the vector axis
};

class Lowerer {
 public:
  // `loops` are those of the module that were tiled, and must outlive this.
  Lowerer(const Module& module, const LowerOptions& options, const plan::TiledLoops& loops);
  Lowered Run();

 private:
  // --- lowerer.cc: blocks, bindings, extents.
  void BindParameters();
  Id StrideOf(int view, int axis);
  void LowerBlock(const Block& block);
  void LowerOp(const Op& op);
  void LowerPure(const Op& op);
  // Some block of the operation has a matrix product in it, of more than a few elements.
  bool ContractsInside(const Op& op) const;
  const Binding& Of(ValueId value) const { return bindings_.at(value); }
  void Bind(ValueId value, Binding binding) { bindings_[value] = std::move(binding); }
  const Type& TypeOf(ValueId value) const { return function_.type(value); }
  const Type& ResultType(const Op& op) const { return function_.type(op.result); }
  Id Scalar(ValueId value);  // the tile value of a scalar (or of a rank-0 tensor's element)
  void Report(const Op& op, const std::string& text) { Report(op, ReportTopic::kLoops, text); }
  void Report(const Op& op, ReportTopic topic, const std::string& text);
  // ", split among tasks", or why not. `divisible`: as InParallel says.
  std::string Tasks(bool divisible = false) const;
  TensorPtr NewLazy(const Op& op, std::vector<Binding> operands);
  TensorPtr NewStrided(DType dtype, std::vector<Id> extents, Id base, std::vector<Id> strides,
                       MemoryOrigin origin);
  TensorPtr NewComputed(
      DType dtype, std::vector<Id> extents, std::vector<Binding> operands,
      std::vector<std::vector<int>> follows,
      std::function<Id(const std::vector<Coord>& coords, const Context& context)> element);
  TensorPtr AllocateDense(DType dtype, const std::vector<Id>& extents);
  Id ZeroOf(DType dtype);

  // Between stages: what the lanes of a unit wrote is read by others, or overwritten.
  void Fence();
  // One task of one unit: where outside of `parallel` only an order of small steps is possible,
  // each of which would be a phase of the whole grid.
  void Alone(const std::function<void()>& body);
  bool OnUnits() const { return options_.block_threads > 0; }

  // --- extents.cc.
  Id ExtentId(const Extent& extent);
  std::vector<Id> ExtentIds(const std::vector<Extent>& shape);
  // `exact` as what it is from here on: guards in the open block have shown that the extent lies
  // from 0 to `most`.
  Id BoundExtent(const Extent& extent, Id exact, Id most);
  // Whether no value in it is without bound; loop coordinates count as if they were.
  bool IsBounded(const Extent& extent) const;
  // What an index never exceeds, as far as its definition tells without a call's arguments.
  std::optional<int64_t> MostOf(Id id) const;
  std::optional<int64_t> MostOfDefinition(const tile::Op& op) const;
  mutable std::unordered_map<Id, std::optional<int64_t>> most_;  // that are known
  struct BoundedExtent {
    Extent extent;
    ValueId value = kNoValue;       // that stands for it, beyond those of the function
    ValueId solved_for = kNoValue;  // a value of the function that equals `solution`
    Extent solution;
  };
  bool InScope(const BoundedExtent& known) const;
  // As little as can be of values that bounded extents follow from.
  Extent ReplaceBounded(const Extent& extent) const;
  std::vector<Id> DenseStrides(const std::vector<Id>& extents);
  Id Product(const std::vector<Id>& factors);
  // A product that memory depends on: exact up to half of kMostElements, beyond that some number
  // above it. Plain products wrap, and a wrapped one would make a small allocation.
  static constexpr int64_t kMostElements = int64_t{1} << 50;
  Id Count(const std::vector<Id>& factors);

  // --- eval.cc: elements of lazy tensors.
  Id Eval(const Binding& binding, const std::vector<Coord>& coords, const Context& context);
  Id EvalTensor(const Tensor& tensor, const std::vector<Coord>& coords, const Context& context);
  Id EvalLazy(const Tensor& tensor, const std::vector<Coord>& coords, const Context& context);
  Id EvalPointwise(const Op& op, const std::vector<Id>& operands);
  Id EvalStrided(const Tensor& tensor, const std::vector<Coord>& coords, const Context& context);
  Id CoordTile(const Coord& coord, int32_t lanes);
  Coord CoordOf(Id tile);
  Coord AddCoord(const Coord& a, Id scalar);
  Coord ScaleCoord(const Coord& a, Id scalar, int32_t lanes);
  Coord SumCoords(const Coord& a, const Coord& b, int32_t lanes);
  std::vector<Coord> ReshapeCoords(const Tensor& tensor, const std::vector<Extent>& from,
                                   const std::vector<Extent>& to, const std::vector<Coord>& coords,
                                   int32_t lanes);
  std::vector<Coord> BroadcastCoords(const Type& from, const Type& to,
                                     const std::vector<Coord>& coords);

  // --- symbolic.cc: the same walk without code: strides, rows and hazards.
  using LeafVisitor = std::function<void(const TensorPtr&, const std::vector<SymbolicCoord>&)>;
  void WalkLeaves(const Binding& binding, const std::vector<SymbolicCoord>& coords,
                  const LeafVisitor& visit);
  void WalkLeaves(const Binding& binding, const std::vector<SymbolicCoord>& coords,
                  const LeafVisitor& visit, std::set<std::string>* seen);
  static std::vector<SymbolicCoord> StageCoords(int rank, int vector_axis);

  // --- memory.cc: views, buffers and indexed accesses.
  struct Relation;  // one index relation with its operands bound
  Relation BindAccess(const Op& op, const IndexAttr& attr, size_t first_operand);
  // The strided window that an affine relation selects; nullptr if the relation is not affine.
  TensorPtr AffineWindow(const Relation& access);
  Binding LowerLoad(const Op& op, const IndexAttr& attr);
  void LowerStore(const Op& op, const IndexAttr& attr);
  Id EvalIndexed(const Tensor& tensor, const std::vector<Coord>& coords, const Context& context);
  std::vector<Coord> SourceCoords(const Relation& access, const std::vector<Coord>& coords,
                                  const Context& context);
  // The regions and slices of an access that no window stands for.
  void GuardWindows(const Relation& access);
  void GuardRegion(const Relation& access, size_t term, Id begin, Id step, Id extent,
                   const Context& context);
  void GuardIndex(const Relation& access, size_t term, Id index, const Context& context);
  // What keeps an index or region of an access inside its axis. True if that must be a guard.
  enum class Inside : uint8_t { kProven, kAssumed, kUnknown };
  bool NeedsGuard(const Relation& access, int axis, Inside inside);
  void ReportBounds();

  // --- scatter.cc: elements at addresses of their own.
  // put(offset, element) for every active element of op's value; `captures` are what put reads.
  void ScatterElements(const Relation& access, const std::vector<ValueId>& captures, bool parallel,
                       const std::function<void(Id offset, Id element)>& put);
  void LowerScatterUnique(const Op& op);
  void LowerScatterReduce(const Op& op);

  // --- atomics.cc.
  void LowerAtomic(const Op& op);
  // Replaces the element at mem[offset] by next(element), which may be computed more than once.
  // Returns the element it replaced.
  Id AtomicUpdate(Id mem, Id offset, MemoryOrder order, const std::function<Id(Id)>& next);

  // --- hazards.cc: reads are values of their program point.
  bool MayAlias(const MemoryOrigin& a, const MemoryOrigin& b) const;
  // A write there may change what the leaf has still to read.
  bool MayChange(const MemoryOrigin& write, const Tensor& leaf) const;
  static MemoryOrigin OriginOf(const Tensor& leaf);
  void MaterializePending(const Op& op);
  void Snapshot(const TensorPtr& leaf, Id condition);
  // All of a view, as it was passed.
  bool IsWholeView(const Tensor& window);
  // What a stage that writes `target` while it reads `value` must not read where it lies, and when.
  std::vector<std::pair<TensorPtr, Id>> Hazards(const Binding& value, const Tensor& target);
  // Before such a stage.
  void PrepareStage(const Binding& value, const Tensor& target);
  void CollectWrites(const Op& op, std::vector<MemoryOrigin>* writes) const;

  // --- stage.cc: loops.
  // Runs `body` for the points of an iteration space, with `lanes` points at once along
  // `vector_axis` (-1: none). Where all of `watch` are 1 and whole vectors fit, a variant without
  // masks runs. On units that takes `vectors` at once: more than one where bodies have no loops.
  static constexpr int32_t kUnitVectors = 2;
  using PointBody = std::function<void(const std::vector<Coord>& coords, const Context& context)>;
  void ForEachPoint(const std::vector<Id>& extents, int vector_axis, int32_t lanes,
                    const std::vector<Id>& watch, const Window& window, const PointBody& body,
                    int32_t vectors = kUnitVectors);
  // Masked lanes reach from low to high, whatever the call.
  bool IsOneTile(Id low, Id high, int32_t lanes) const;
  bool IsMaskedThroughout(Id unit) const;
  void VectorLoop(Id low, Id high, int32_t lanes, Id unit, const std::vector<Id>& watch,
                  const std::function<void(const Coord&, const Context&)>& body,
                  int32_t vectors = kUnitVectors);
  Id UnitCondition(const std::vector<Id>& watch);
  Id TailMask(Id at, Id high, int32_t lanes);
  // What is left to do when the elements of several neighbouring vectors have been computed: on
  // units their loads wait together. Null: at once.
  std::vector<std::function<void()>>* deferred_ = nullptr;
  void Finish(std::function<void()> rest);
  // Strides along the vector axis that decide between contiguous and strided access.
  void WatchStrides(const Binding& value, const std::vector<SymbolicCoord>& coords,
                    std::vector<Id>* watch);
  // Runs `stage` over [0, extent) split among tasks, or at once; work: elements per step of the
  // extent.
  // `multiple`: tasks of so many steps, or a multiple.
  // `divisible`: a task may share it among its parts, for it allocates nothing.
  void InParallel(Id extent, Id work, const std::function<void(const Window&)>& stage,
                  int64_t multiple = 1, bool divisible = false);
  // A task with matrix products in it is a block's, whose warps take rows of other stages.
  bool HasParts() const { return parts_ && in_parallel_ && !in_part_; }
  void InParts(Id extent, Id grain, const std::function<void(Id begin, Id end)>& part);
  // Elements one by one; `points` runs one of the whole iteration space. On units, every element is
  // a task.
  void EachElement(const std::vector<Id>& extents, const Window& window, bool parallel,
                   const PointBody& points, bool divisible = false);
  // `target` says what memory that is, where the value may read it. Returns the lanes it works on
  // at once.
  int32_t StoreStage(const Binding& value, const std::vector<Id>& extents, Id base,
                     const std::vector<Id>& strides, const Window& window, bool parallel,
                     const MemoryOrigin& target = {});
  void Materialize(const TensorPtr& tensor, const Window& window);
  TensorPtr EnsureDense(const Binding& value);
  // `of_unit`: all threads of a task are for it alone.
  int32_t LanesFor(const std::vector<DType>& dtypes, Id inner_extent, bool of_unit = false);
  void CollectDTypes(const Binding& binding, std::vector<DType>* dtypes, int* budget) const;

  using Leaves = std::vector<Binding>;  // scalars and tensors of a value, in order

  // --- combine.cc: how members meet.
  struct Combine {
    const Op* op = nullptr;
    CombineKind kind = CombineKind::kAdd;
    const Block* region = nullptr;
    std::vector<Binding> captures;
    bool elementwise = true;  // may run on several lanes
    bool rounds = true;       // parenthesisation changes results: bounded by blocks and trees
  };
  Combine MakeCombine(const Op& op, CombineKind kind, size_t first_capture,
                      const std::vector<DType>& leaves);
  std::vector<Id> CombineLeaves(const Combine& combine, const std::vector<Id>& lhs,
                                const std::vector<Id>& rhs);
  // All lanes of each leaf into one scalar each.
  std::vector<Id> CombineLanes(const Combine& combine, std::vector<Id> tiles);
  std::vector<Id> CombineLanesOnUnit(const Combine& combine, std::vector<Id> tiles);
  Binding BindLeaves(const Type& type, const std::vector<Id>& leaves, size_t* next);
  std::vector<Id> EvalRegion(const Block& block, const std::vector<Binding>& arguments);

  // The leaves that a callback yields, still lazy.
  Leaves RunCallback(const Block& block, const std::vector<Binding>& arguments);

  // --- slices.cc: values of one schema side by side in memory, and folds of them in order.
  Binding WindowOf(const Binding& source, const std::vector<WindowAxis>& axes,
                   std::vector<Id> extents);
  struct ValueArray {
    std::vector<Type> types;               // of the leaves
    std::vector<std::vector<Id>> extents;  // of each leaf of one value
    std::vector<Id> bases;
  };
  ValueArray MakeArray(const Type& schema, Id count);
  Leaves GetValue(const ValueArray& array, Id index);
  void SetValue(const ValueArray& array, Id index, const Leaves& value);
  // Combined runs of items, the latest on top, each as long as all above it together or longer.
  struct RunStack {
    ValueArray runs, scratch;
  };
  using CombineBody = std::function<Leaves(const Leaves& lhs, const Leaves& rhs)>;
  // The region on two values of the schema, then the captures.
  CombineBody CombineBy(const Block& region, const Type& schema, std::vector<Binding> captures);
  Id StackDepth(Id count);  // enough for `count` items
  RunStack MakeStack(const Type& schema, Id depth);
  // After item `ordinal` was set at the top: combines runs of equal length, or all of them at the
  // end. Returns the new depth.
  Id MergeRuns(const RunStack& stack, Id depth, Id ordinal, Id end, const CombineBody& combine);
  struct OrderedFold {
    Type schema;
    Leaves identity;
    std::function<Leaves(Id)> item;
    CombineBody combine;
  };
  Leaves FoldRange(const OrderedFold& fold, Id first, Id count);
  bool MaySplit(Id count);
  // Split among tasks where that pays; work: elements of an item.
  Leaves FoldOrdered(const OrderedFold& fold, Id count, Id work);

  // --- region.cc.
  struct RegionSource;
  RegionSource SourceOf(const Op& op);
  std::vector<Binding> SliceArguments(const RegionSource& source, Id slice);
  void ReportSlices(const Op& op, const RegionSource& source, bool split);
  void LowerRegionFold(const Op& op);
  void LowerRegionScan(const Op& op);

  // --- reduce.cc, scan.cc, contract.cc: structured operations.
  struct Reduction {
    Combine combine;
    std::vector<DType> dtypes;  // of the leaves
    std::vector<Id> retained;   // extents
    std::vector<Id> reduced;
    bool lanes_along_reduced = true;
    int32_t lanes = 1;
    std::vector<Id> watch;
    std::function<std::vector<Id>(const std::vector<Coord>& retained,
                                  const std::vector<Coord>& reduced, const Context& context)>
        element;
    std::function<std::vector<Id>(const std::vector<Coord>& retained, const Context& context)>
        identity;
  };
  void RunReduction(const Reduction& reduction, const std::vector<TensorPtr>& outputs,
                    const Window& window);
  void ReduceWhole(const Reduction& reduction, const std::vector<TensorPtr>& outputs,
                   const Window& window);
  // --- unit_columns.cc. False: there is nothing to cut. `whole` reduces what it is given into the
  // outputs.
  bool ReduceInChunks(const Reduction& reduction,
                      const std::function<void(const Reduction&)>& whole);
  std::vector<Id> ReduceRow(const Reduction& reduction, const std::vector<Coord>& retained);
  std::vector<Id> ReduceColumn(const Reduction& reduction, const std::vector<Coord>& retained,
                               const Context& context);
  // --- unit_reduce.cc: the same where tiles are as wide as a block of threads.
  using FoldStep = std::function<std::vector<Id>(Id at, const std::vector<Id>& sums)>;
  std::vector<Id> NestedFold(const Combine& combine, Id low, Id high, Id step,
                             const std::vector<Id>& identity, int loops, const FoldStep& body);
  // As that does, of members that go one by one.
  std::vector<Id> FoldSingly(const Combine& combine, Id low, Id high,
                             const std::vector<Id>& identity, const FoldStep& body);
  std::vector<Id> FoldMembers(const Reduction& reduction, const std::vector<Coord>& retained,
                              const std::vector<Coord>& outer, Id low, Id high);
  std::vector<Id> ReduceRowOnUnit(const Reduction& reduction, const std::vector<Coord>& retained);
  std::vector<Id> ReduceAllOnUnits(const Reduction& reduction);
  int32_t UnitLanes(int bits, Id inner_extent, bool of_unit);
  std::vector<Id> row_extents_;
  // --- held_rows.cc: rows that stay in registers from stage to stage.
  bool HoldsRow(Id low, Id high, int32_t lanes) const;
  // `mask`: the tile's lanes below the extent; kNoId: all of them.
  using TileBody = std::function<std::vector<Id>(Id at, Id mask, const std::vector<Id>& carried)>;
  std::vector<Id> OverHeldRow(Id extent, int32_t lanes, std::vector<Id> carried,
                              const TileBody& body);
  void StoreHeldRow(Id extent, int32_t lanes,
                    const std::function<void(const Coord&, const Context&)>& body);
  void EachRow(Id rows, const std::function<void(const Window&)>& stage);
  // The result of a reduction at a point, while its row is held.
  void RememberResult(const Tensor& tensor, const std::vector<Coord>& point, Id value);
  Id RecallResult(const Tensor& tensor, const std::vector<Coord>& point) const;
  // That does not hold for any call of this program. False: another must do.
  bool Exclude(Id condition);
  Assumptions conditions_;
  bool row_begun_ = false;  // some stage has read the row
  int64_t held_rows_ = 0;
  std::vector<Coord> Decode(Id linear, const std::vector<Id>& extents);
  void FoldTree(const Combine& combine, const std::vector<Id>& partials, Id count, int32_t lanes);
  Reduction MakeReduction(const Op& op);
  Reduction MakeReduction(const Op& op, const Leaves& leaves, const Leaves& identities);
  std::vector<TensorPtr> BindOutputs(const Op& op, const std::vector<Id>& extents);
  // Of leaves of one shape, with their results.
  Leaves ReduceLeaves(const Op& op, const Leaves& leaves, const Leaves& identities);
  void LowerReduce(const Op& op);
  Leaves ScanLeaves(const Op& op, const Leaves& leaves, const Leaves& identities);
  // --- unit_scan.cc: prefixes along the last axis, a unit's lanes along it.
  struct UnitScan {
    const Combine& combine;
    const Leaves& leaves;
    const std::vector<TensorPtr>& outputs;
    const std::vector<Id>& watch;
    int32_t lanes;
    bool inclusive, reverse;
    std::vector<Id> identity;  // tiles
  };
  std::vector<Id> ScanSlice(const UnitScan& scan, const std::vector<Coord>& row, Id at,
                            const std::vector<Id>& before, const std::vector<Id>& sums,
                            const Context& context);
  void ScanRowOnUnit(const UnitScan& scan, const std::vector<Coord>& row,
                     const std::vector<Id>& identity);
  void LowerScan(const Op& op);

  // --- slice_combines.cc: combines that are more than arithmetic on scalars.
  // A combine whose members are whole slices, not independent elements of slices.
  bool CombinesSlices(const Op& op) const;
  // All leaves have one shape.
  bool LeavesAgree(const Type& type) const;
  Leaves MemberAt(const Leaves& leaves, const std::vector<bool>& is_folded,
                  const std::vector<Coord>& member);
  void ReduceSlices(const Op& op);
  void ScanSlices(const Op& op);
  std::vector<Id> ReduceMembers(const Reduction& reduction, const std::vector<Coord>& retained);
  void LowerContract(const Op& op);
  // Contracts in the dtype of `output`, which receives the sums; `op` is only named.
  void Contract(const Op& op, const Binding& lhs, const Binding& rhs, const ContractAttr& attr,
                const TensorPtr& output);
  // packed_contract.cc. False: the contraction does not have the shape of a matrix product.
  bool PackedContract(const Op& op, const Binding& lhs, const Binding& rhs,
                      const ContractAttr& attr, const TensorPtr& output);
  struct PackedSide;
  struct PackedProblem;  // packed_contract.h
  // False: a side has no axis of its own.
  bool PlaceOperands(const Binding& lhs, const Binding& rhs, const ContractAttr& attr,
                     const TensorPtr& output, PackedProblem* placed);
  Id SideElement(const PackedSide& side, const Coord& own, const Coord& inner,
                 const std::vector<Coord>& outer, const Context& context);
  void PackPanel(const PackedSide& side, Id packed, int64_t width, Id first, Id limit, Id inner,
                 Id depth, const std::vector<Coord>& outer);
  void MicroKernel(const PackedProblem& problem, Id a, Id c_base, Id b_panel, Id row, Id column,
                   Id depth, Id first_block);
  void RunPacked(const PackedProblem& problem, const std::vector<Coord>& outer);
  // --- unit_contract.cc: the same where a block of threads has a matrix product of its own.
  // Both sides keep rows enough, and the sums fit matrix products.
  bool IsUnitContract(const Binding& lhs, const Binding& rhs, const ContractAttr& attr, DType sum);
  // Of an IsUnitContract; `output` says the extents and the dtype of sums.
  PackedProblem PlaceUnitContract(const Binding& lhs, const Binding& rhs, const ContractAttr& attr,
                                  const TensorPtr& output);
  using SumStore = std::function<void(const std::vector<Coord>& coords, Id sum)>;
  void RunUnitContract(const Op& op, const PackedProblem& problem, const SumStore& store);
  void StoreElement(const Tensor& target, const std::vector<Coord>& coords, Id element);
  bool IsPlain(const Binding& value, int budget) const;
  // --- lines.cc: operands as blocks of threads read them.
  struct SideLeaf {  // memory that a side is, its axes permuted or not; null: it is more than that
    TensorPtr tensor;
    int own, inner;  // of its axes; -1: several are inner
  };
  SideLeaf LeafOf(const PackedSide& side) const;
  bool IsArgument(Id id) const;
  bool HasKnownLines(const SideLeaf& leaf) const;
  // True where a copy pays; `uses`: rows or columns of the other side.
  Id LacksLines(const SideLeaf& leaf, Id uses);
  struct Lines {
    Id base;
    std::vector<Id> strides;
  };
  // Of the source, or of a copy that has lines. A copy of another dtype is always made.
  Lines CopyLines(const Tensor& source, DType dtype, Id condition);
  Binding OverLeaf(const Binding& value, const TensorPtr& leaf);
  void LayOut(PackedSide* side, const SideLeaf& leaf, DType dtype, Id condition);
  void GiveLines(PackedSide* side, Id uses);
  // 8-bit floats that enter as f16 become so in a copy.
  void WidenSide(PackedSide* side);
  // --- contract_into_store.cc.
  bool IsLazyOrScalar(const Op& op) const;
  bool StoresWindow(const Op& store) const;
  // The position of the store that alone takes the contraction's result.
  std::optional<size_t> StoreAfter(const Op& op) const;
  void CopySides(PackedProblem* problem, const std::vector<std::pair<TensorPtr, Id>>& hazards);
  // The contraction and all up to that store: position_ is then the store's.
  bool ContractIntoStore(const Op& op);

  // --- formats.cc, quantized.cc, histogram.cc, philox.cc: operations on formats, and the rest.
  void LowerScaledContract(const Op& op);
  void LowerSparseContract(const Op& op);
  Id DecodeE2M1(Id code);
  Id DecodeE8M0(Id code);
  TensorPtr DecodeScaled(const Binding& carriers, const Binding& scales, ScaledFormat format,
                         int free_axis, int group_axis, int element_axis, int64_t size);
  void LowerQuantize(const Op& op);
  void LowerQuantizedDot(const Op& op);
  void QuantizeRecord(const Binding& x, Id record, const TensorPtr& output, const Context& lanes);
  Id DotRecord(const Binding& lhs, const Binding& rhs, Id record, const Context& lanes);
  void ForEachRecord(Id records, const std::vector<Binding>& operands, int32_t lanes,
                     const std::function<void(Id record, const Context& context)>& body);
  void LowerHistogram(const Op& op);
  Id PhiloxBits(Id seed, Id counter);

  // --- control.cc.
  void LowerIf(const Op& op);
  void LowerFor(const Op& op);
  void LowerWhile(const Op& op);
  void LowerParallel(const Op& op);
  std::string DescribePoints(const Op& op) const;
  // --- owned_axis.cc: values of tiled loops that mean more than their text.
  // Tiles of one point may meet in memory.
  Id TilesMeet(const plan::ParallelTiles& tiles);
  // The domain of first rows, or of a tile's rows. Empty: another domain.
  std::optional<DomainAxis> TileDomain(const Op& op);
  // A loop of scalars outside of `parallel`, as one task on units.
  bool IsScalarLoop(const Op& op) const;
  void LowerAlone(const Op& op);
  // A value that crosses a loop or branch: scalars as they are, tensors as memory.
  struct Slot {
    Type type;
    std::vector<Id> extents;  // tensors
    Id current = kNoId;       // memory that holds the value
    Id other = kNoId;         // memory for the next value
  };
  // With `current` if `memories` is above 0, and `other` if it is above 1.
  std::vector<Slot> MakeSlots(const std::vector<Type>& types, int memories);
  Binding SlotBinding(const Slot& slot, Id memory_or_scalar);
  void FillSlot(const Slot& slot, const Binding& value, Id memory);
  std::vector<Id> EnterSlots(const std::vector<Slot>& slots, const std::vector<Binding>& inits);
  std::vector<Binding> SlotLeaves(const std::vector<Slot>& slots, const std::vector<Id>& ids);
  std::vector<Id> NextSlots(const std::vector<Slot>& slots, const Block& body,
                            const std::vector<Id>& ids);
  void BindCarries(const Op& op, size_t first_init, const Block& block, size_t first,
                   const std::vector<Binding>& leaves);
  void BindPoint(const Binding& domain, const Block& body, Id ordinal);
  Id PointCount(const Binding& domain);
  std::vector<Type> FlatTypes(const Type& type) const;
  Binding Unflatten(const Type& type, const std::vector<Binding>& leaves, size_t* next) const;

  // --- group.cc: stages over common rows.
  struct RowStage {
    size_t position = 0;  // in the block
    uint32_t ordinal = kNoOrdinal;
    Binding value;  // what the stage reads
    std::optional<Reduction> reduction;
    std::vector<TensorPtr> results;  // of the reduction
    TensorPtr
        target;  // otherwise: a window of a view or buffer, or the memory of a materialised value
    TensorPtr row_local;  // if set, the target gets its memory anew for every row block
    bool writes = false;  // the target is a view or buffer
  };
  bool LowerGroup(const Block& block, size_t first, size_t* next);
  Id ResolveGroupHazards(const plan::RowGroup& group, const std::vector<RowStage>& stages);
  std::vector<TensorPtr> RepeatedRows(const std::vector<RowStage>& stages);
  Id IsTurned(const Tensor& leaf);
  void StageRows(const TensorPtr& leaf, Id block, const Window& rows);
  void RunGroup(const plan::RowGroup& group, std::vector<RowStage>& stages, Id entangled);

  const Function& function_;
  LowerOptions options_;
  const plan::TiledLoops& loops_;
  std::unordered_map<ValueId, const plan::ParallelTiles*> tile_values_;  // `meet`, `tiles`, `tile`
  plan::Plan plan_;
  RangeAnalysis ranges_;
  std::unique_ptr<tile::Program> program_;
  std::unique_ptr<tile::TileBuilder> builder_;
  tile::TileBuilder& b() { return *builder_; }

  std::unordered_map<ValueId, Binding> bindings_;
  std::vector<Id> symbols_;                    // by shape symbol
  std::vector<BoundedExtent> bounded_;         // of open blocks, and some of closed ones
  uint32_t bounded_count_ = 0;                 // ever
  std::vector<const Parameter*> view_params_;  // by view position
  std::set<std::tuple<ValueId, ValueId, int64_t>> assumed_;  // index, resource, axis
  std::vector<std::pair<ValueId, TensorPtr>>
      pending_;               // lazy tensors of the open blocks that read memory
  size_t pending_begin_ = 0;  // entries of outer blocks stand before: their hazards were met there
  const Block* block_ = nullptr;  // being lowered
  size_t position_ = 0;           // in block_
  uint64_t serials_ = 0;
  bool in_parallel_ = false;
  bool parts_ = false;  // the operation at hand has matrix products in its tasks
  bool in_part_ = false;
  int callbacks_ = 0;         // being lowered, one in another
  bool single_rows_ = false;  // a window of axis 0 is one row: nothing to vectorise along it
  std::vector<ReportLine> report_;
  struct AccessBounds {
    const Op* op;
    Inside inside;
  };
  std::map<std::pair<uint32_t, int>, AccessBounds> access_bounds_;  // by ordinal and axis
  int64_t contiguous_variants_ = 0;
};

}  // namespace intent::lower
