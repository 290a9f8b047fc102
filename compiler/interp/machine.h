#pragma once

// One run of a kernel: environments, control, and one method for each group of operations. Private
// to this folder.
//
// Errors are sticky: the first one is kept, methods then return empty values, and RunBlock stops
// after the operation that failed. A method that calls another checks failed() before it uses what
// came back.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/interp/index_access.h"
#include "compiler/interp/interp.h"
#include "compiler/interp/pointwise.h"
#include "compiler/interp/value.h"
#include "compiler/ir/module.h"

namespace intent::interp {

class Mask;
struct CheckedRun;
enum class AccessKind : uint8_t;

class Machine {
 public:
  Machine(const Module& module, const Options& options);
  ~Machine();
  std::optional<RuntimeError> RunKernel(std::span<const Argument> arguments);

 private:
  // A function's environment. Helpers do not recurse, so each function needs one.
  struct Frame {
    const Function* function = nullptr;
    std::vector<RuntimeValue> values;             // by ValueId
    std::vector<std::optional<int64_t>> symbols;  // by shape symbol
    std::vector<std::vector<ValueId>> released;   // by result: LastUses
  };
  // Scalars or tensors, one for each leaf of a product.
  using Leaves = std::vector<RuntimeValue>;
  class Combiner;
  class Laws;

  // --- machine.cc: environments and errors.
  bool failed() const { return error_.has_value(); }
  void Fail(ErrorKind kind, const Op& op, std::string message, int32_t parameter = -1,
            int32_t axis = -1);
  bool Interrupted(const Op& op);  // cancelled or out of steps; then failed
  Frame& FrameOf(uint32_t function);
  const RuntimeValue& Get(const Op& op, size_t operand) const {
    return frame_->values[op.operands[operand]];
  }
  const Type& ResultType(const Op& op) const { return frame_->function->type(op.result); }
  int64_t GetIndex(const Op& op, size_t operand) const;
  std::optional<int64_t> Evaluate(const Extent& extent) const;
  std::optional<Shape> EvaluateShape(const Op& op, const Type& type);
  // Checks that a value has the extents of its type; binds symbols that have no value yet.
  // `place` names the value in an error.
  bool BindShape(const Op& op, const Type& type, const RuntimeValue& value,
                 const std::string& place);
  std::shared_ptr<Tensor> NewTensor(const Op& op, DType dtype, Shape shape);
  // A tensor as the type wants it: a scalar if the type is one.
  static RuntimeValue Shaped(const Type& type, Tensor tensor);
  // Leaves from `next` on, put together as the type's products.
  static RuntimeValue Rebuild(const Type& type, const Leaves& leaves, size_t* next);

  // --- control.cc
  const Op* RunBlock(const Block& block);  // to its terminator; null: failed
  void SetArguments(const Block& block, size_t first, std::span<const RuntimeValue> values);
  Fields YieldedBy(const Op& terminator) const;
  RuntimeValue Execute(const Op& op);
  RuntimeValue If(const Op& op);
  RuntimeValue For(const Op& op);
  RuntimeValue Parallel(const Op& op);
  RuntimeValue While(const Op& op);
  RuntimeValue Call(const Op& op);
  // Runs an isolated region that yields one value.
  RuntimeValue CallRegion(const Block& region, std::span<const RuntimeValue> arguments);
  // Advances a point of a domain in row-major order; false after the last.
  static bool NextPoint(const Domain& domain, std::vector<int64_t>* ordinals);

  // --- domain_ops.cc
  RuntimeValue MakeDomain(const Op& op);
  RuntimeValue DomainProduct(const Op& op);
  RuntimeValue Subregion(const Op& op);
  RuntimeValue Indices(const Op& op);
  RuntimeValue RegionEnd(const Op& op);
  RuntimeValue Dim(const Op& op);

  // --- shape_ops.cc
  RuntimeValue Reshape(const Op& op);
  RuntimeValue Transpose(const Op& op);
  RuntimeValue Broadcast(const Op& op);
  RuntimeValue Full(const Op& op);
  RuntimeValue Join(const Op& op);
  RuntimeValue MakeProduct(const Op& op);
  RuntimeValue Extract(const Op& op);
  // Result axis i is source axis axes[i]; null: failed.
  std::shared_ptr<Tensor> Permuted(const Op& op, const Tensor& source,
                                   std::span<const int64_t> axes);
  std::shared_ptr<Tensor> BroadcastTo(const Op& op, const RuntimeValue& value, const Shape& shape);

  // --- pointwise_ops.cc
  RuntimeValue Unary(const Op& op);
  RuntimeValue Binary(const Op& op);
  RuntimeValue Compare(const Op& op);
  RuntimeValue Select(const Op& op, const RuntimeValue& condition, const RuntimeValue& if_true,
                      const RuntimeValue& if_false);
  RuntimeValue Cast(const Op& op);
  RuntimeValue Bitcast(const Op& op);
  RuntimeValue RandomBits(const Op& op);
  // The common shape of pointwise operands (scalars fit any); nullopt: failed.
  std::optional<Shape> CommonShape(const Op& op, std::span<const RuntimeValue* const> operands);
  RuntimeValue BinaryOn(const Op& op, BinaryKind kind, const RuntimeValue& lhs,
                        const RuntimeValue& rhs);
  RuntimeValue CastTo(const Op& op, const RuntimeValue& value, DType dtype);

  // --- memory_ops.cc
  RuntimeValue ViewOrBufferLoad(const Op& op);
  RuntimeValue Gather(const Op& op);
  RuntimeValue Store(const Op& op);
  RuntimeValue MakeBuffer(const Op& op);
  RuntimeValue ScatterUnique(const Op& op);
  RuntimeValue ScatterReduce(const Op& op);
  bool SampleUpdates(const Op& op, const Resource& resource, const IndexAccess& access,
                     const Mask& mask, const Tensor& value, size_t first_capture);
  RuntimeValue AtomicLoad(const Op& op);
  RuntimeValue AtomicStore(const Op& op);
  RuntimeValue AtomicRmw(const Op& op);
  RuntimeValue AtomicCas(const Op& op);
  // Index operands start at `first`; the count used is added to it. nullopt: failed.
  std::optional<IndexAccess> Access(const Op& op, const IndexAttr& attr, const Resource& resource,
                                    size_t* first);
  void FailBounds(const Op& op, const Resource& resource, const IndexAccess::Violation& violation);
  RuntimeValue Load(const Op& op, const Resource& resource, size_t first_index);
  // The address of the one element a scalar index names; null: failed.
  std::byte* ElementAddress(const Op& op, const IndexAttr& attr, size_t first_index);

  // --- fold_ops.cc. Members lie first axis first; retained[c] is the shape of component c's.
  using Tensors = std::vector<std::shared_ptr<Tensor>>;
  RuntimeValue Reduce(const Op& op);
  RuntimeValue Scan(const Op& op);
  Leaves ReduceTree(const Op& op, const Combiner& combiner, Leaves members, int64_t count,
                    const Leaves& identity, const std::vector<Shape>& retained);
  Leaves ReduceMembers(const Op& op, const Combiner& combiner, const Leaves& members, int64_t count,
                       const Leaves& identity, const std::vector<Shape>& retained);
  // Folds members in order, as a balanced tree.
  Leaves FoldBalanced(const Op& op, const Combiner& combiner, int64_t count,
                      const std::function<Leaves(int64_t)>& member, const Leaves& identity);
  Tensors ScanLifted(const Op& op, const Combiner& combiner, const Tensors& members,
                     const Leaves& identity, bool inclusive);
  Leaves ScanTree(const Op& op, const Combiner& combiner, const Leaves& members, int64_t count,
                  int64_t width);
  Tensors ScanMembers(const Op& op, const Combiner& combiner, const Tensors& members,
                      const Leaves& identity, bool inclusive);
  std::shared_ptr<Tensor> Flipped(const Op& op, const Tensor& source);  // along axis 0

  // --- region_ops.cc
  struct RegionSource {
    Leaves components;
    int64_t axis = 0;
    int64_t extent = 0;
  };
  std::optional<RegionSource> SourceOf(const Op& op);
  Leaves SliceOf(const Op& op, const Leaves& source, int64_t axis, int64_t first, int64_t extent);
  RuntimeValue RegionFold(const Op& op);
  RuntimeValue RegionScan(const Op& op);

  // --- contract_ops.cc
  RuntimeValue Contract(const Op& op);
  RuntimeValue ScaledContract(const Op& op);
  RuntimeValue SparseContract(const Op& op);
  RuntimeValue ContractTensors(const Op& op, const Tensor& lhs, const Tensor& rhs,
                               const ContractAttr& attr);

  // --- format_ops.cc
  RuntimeValue Histogram(const Op& op);
  RuntimeValue Quantize(const Op& op);
  RuntimeValue QuantizedDot(const Op& op);

  // --- checked_access.cc, checked_values.cc: what only a checked run looks at. False: failed.
  bool FailRecords(const Op& op);  // the records' budget is spent
  std::optional<RuntimeError> CheckViews(std::span<const Argument> arguments);
  bool ShadowBuffer(const Op& op, bool written, Resource* resource);
  RuntimeValue AssumeInBounds(const Op& op);
  bool CheckElement(const Op& op, const Resource& resource, int64_t offset, AccessKind kind,
                    bool reads, bool writes);
  bool CheckAccess(const Op& op, const Resource& resource, const IndexAccess& access,
                   const Mask& mask, AccessKind kind, bool reads);
  bool CheckAtomic(const Op& op, const Resource& resource, const std::byte* element, bool reads,
                   bool writes);
  bool CheckDistinct(const Op& op, const Resource& resource, const IndexAccess& access,
                     const Mask& mask, const Tensor* values);
  bool CheckStore(const Op& op, const Resource& resource, const IndexAccess& access,
                  const Mask& mask, const Tensor* values);
  bool CheckBinary(const Op& op, BinaryKind kind, const RuntimeValue& lhs, const RuntimeValue& rhs);
  bool CheckCast(const Op& op, const RuntimeValue& value, DType to);
  bool CheckCounter(const Op& op, const RuntimeValue& counter);
  bool CheckQuantize(const Op& op, const float* x, int64_t count, int64_t record);
  bool CheckQ8K(const Op& op, const std::byte* q8, int64_t record);
  bool CheckRelaxed(const Op& op);
  bool CheckShapes(const Op& op, const Type& type, const RuntimeValue& value);
  bool CheckCarries(const Op& op, const Fields& before, const Fields& after);

  const Module& module_;
  const Options& options_;
  MemoryBudget budget_;
  std::unique_ptr<CheckedRun> checked_;         // null: the run is not checked
  std::unique_ptr<Laws> laws_;                  // null: laws are not sampled
  std::vector<std::unique_ptr<Frame>> frames_;  // by function
  Frame* frame_ = nullptr;
  PointwiseRegions pointwise_;
  uint64_t steps_ = 0;
  int depth_ = 0;
  std::optional<RuntimeError> error_;
};

}  // namespace intent::interp
