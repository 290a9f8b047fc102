#pragma once

// Appends operations to a tile program. Index arithmetic on constants folds and equal pure
// operations of the enclosing blocks are shared, so lowering may ask for the same value again
// without cost. Scalars meet tiles by an implicit splat. Never folds floating point.

#include <map>
#include <string>
#include <vector>

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

class TileBuilder {
 public:
  explicit TileBuilder(Program* program);

  Program& program() { return *program_; }
  const Type& type(Id id) const { return program_->type(id); }
  int32_t lanes(Id id) const { return program_->type(id).lanes; }

  // What follows serves the KIR operation with this ordinal.
  void SetOrdinal(uint32_t ordinal) { ordinal_ = ordinal; }
  uint32_t ordinal() const { return ordinal_; }

  // Blocks: operations go to the innermost pushed one.
  void Push(Block* block);
  void Pop();
  // How many blocks are open: a value made at depth d may be used while that block stays open.
  size_t depth() const { return scopes_.size(); }

  // A memo of the open blocks: what was remembered is forgotten when its block closes.
  void Remember(const std::string& key, Id id) { scopes_.back().remembered.emplace(key, id); }
  Id Recall(const std::string& key) const;
  // What the innermost open block remembers by itself.
  const std::map<std::string, Id>& Remembered() const { return scopes_.back().remembered; }

  // Leaves.
  Id Const(const ScalarValue& value);
  Id Index(int64_t value);
  Id Bool(bool value);
  bool IsIndex(Id id, int64_t value) const;  // a known constant index
  const ScalarValue* ConstantOf(Id id) const;
  Id ViewBase(int view);
  Id ViewExtent(int view, int axis);
  Id ViewStride(int view, int axis);
  Id ScalarArg(int index);
  Id Overlap(int a, int b);
  Id SameView(int a, int b);

  // Memory.
  Id Alloc(DType dtype, Id count);
  Id StackAlloc(DType dtype, int64_t count);
  Id MemOffset(Id mem, Id elements);
  Id MemCast(Id mem, DType dtype);
  // A tile of `lanes` elements at mem[offset + l*stride]; stride is a constant index or a dynamic
  // one.
  Id Load(Id mem, Id offset, int32_t lanes, Id stride, Id mask = kNoId, Id fill = kNoId);
  void Store(Id mem, Id offset, Id value, Id stride, Id mask = kNoId);
  Id Gather(Id mem, Id offsets, Id mask = kNoId, Id fill = kNoId);
  void Scatter(Id mem, Id offsets, Id value, Id mask = kNoId);

  // Atomics on the element at mem[offset], an integer.
  Id AtomicLoad(Id mem, Id offset, MemoryOrder order);
  void AtomicStore(Id mem, Id offset, Id value, MemoryOrder order);
  Id AtomicRmw(RmwKind kind, Id mem, Id offset, Id value, MemoryOrder order);
  struct Exchanged {
    Id old, success;
  };
  Exchanged AtomicCas(Id mem, Id offset, Id expected, Id desired, MemoryOrder order);

  // Elementwise; a scalar operand is splat to the lanes of the other.
  Id Splat(Id scalar, int32_t lanes);
  Id Iota(int32_t lanes);
  Id Unary(UnaryKind kind, Id x, bool approximate = false, bool flush_to_zero = false);
  Id Binary(BinaryKind kind, Id a, Id b, bool approximate = false, bool flush_to_zero = false);
  // A floating operation that is rounded on its own: no multiply-add takes it in.
  Id Rounded(BinaryKind kind, Id a, Id b);
  // A product of floats rounded on its own, any other value as it is.
  Id RoundedProduct(Id x);
  Id Compare(CompareKind kind, Id a, Id b);
  Id Fma(Id a, Id b, Id c);
  Id Select(Id condition, Id a, Id b);
  Id Cast(Id x, DType dtype);
  Id SaturatingCast(Id x, DType dtype);
  Id Bitcast(Id x, DType dtype);
  Id Bounded(Id extent, Id most);

  Id Add(Id a, Id b) { return Binary(BinaryKind::kAdd, a, b); }
  Id Sub(Id a, Id b) { return Binary(BinaryKind::kSub, a, b); }
  Id Mul(Id a, Id b) { return Binary(BinaryKind::kMul, a, b); }
  Id FloorDiv(Id a, Id b) { return Binary(BinaryKind::kFloorDiv, a, b); }
  Id Mod(Id a, Id b) { return Binary(BinaryKind::kMod, a, b); }
  Id Min(Id a, Id b) { return Binary(BinaryKind::kMinimum, a, b); }
  Id Max(Id a, Id b) { return Binary(BinaryKind::kMaximum, a, b); }
  Id And(Id a, Id b) { return Binary(BinaryKind::kAnd, a, b); }
  Id Or(Id a, Id b) { return Binary(BinaryKind::kOr, a, b); }
  Id Not(Id a) { return Unary(UnaryKind::kNot, a); }
  Id Less(Id a, Id b) { return Compare(CompareKind::kLt, a, b); }
  Id LessEqual(Id a, Id b) { return Compare(CompareKind::kLe, a, b); }
  Id Equal(Id a, Id b) { return Compare(CompareKind::kEq, a, b); }

  // Across lanes.
  Id Shuffle(Id tile, std::vector<int32_t> lanes);
  Id ExtractLane(Id tile, int lane);
  Id ReduceLanes(CombineKind kind, Id tile);

  // Structure. The bodies are given as callbacks that build into the fresh block and return what it
  // yields.
  using Body = std::function<std::vector<Id>(const std::vector<Id>& arguments)>;
  std::vector<Id> For(Id lo, Id hi, Id step, const std::vector<Id>& inits, const Body& body);
  std::vector<Id> While(const std::vector<Id>& inits,
                        const std::function<Id(const std::vector<Id>&)>& condition,
                        const Body& body);
  std::vector<Id> If(Id condition, const std::function<std::vector<Id>()>& then_body,
                     const std::function<std::vector<Id>()>& else_body);
  void If(Id condition, const std::function<void()>& then_body);
  void Parallel(Id lo, Id hi, Id grain, const std::function<void(Id begin, Id end)>& body);
  struct ContractBodies {
    std::function<Id(Id point, Id own, Id member)> left, right;
    std::function<void(Id point, Id row, Id column, Id sum)> store;
  };
  void Contract(Id points, Id rows, Id columns, Id depth, DType sums, const ContractBodies& bodies);

  void Guard(Id condition, Id value, Id limit, int32_t status, int32_t parameter, int32_t axis);
  void Poll();
  // Nothing directly after another fence of the block.
  void Fence();

 private:
  struct Scope {
    Block* block;
    std::map<std::string, Id> known;  // pure operations
    std::map<std::string, Id> remembered;
  };

  Op* Append(OpKind kind, std::vector<Id> operands, const std::vector<Type>& results);
  // A pure operation: the same operation in an open block is reused.
  Id Pure(OpKind kind, std::vector<Id> operands, Type result,
          const std::function<void(Op*)>& set = nullptr);
  void Match(Id* a, Id* b);
  std::optional<int64_t> IndexConstant(Id id) const;

  Program* program_;
  uint32_t ordinal_ = kNoOrdinal;
  std::vector<Scope> scopes_;
};

}  // namespace intent::tile
