#pragma once

// What a KernelBuilder has made so far, and the steps its methods share.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/builder/builder.h"
#include "compiler/verify/constexpr_eval.h"
#include "compiler/verify/infer.h"

namespace intent {

class KernelBuilder::Region {
 public:
  std::unique_ptr<Block> block;  // null once an operation has taken it
  std::vector<Operand> yields;
  std::vector<Type> types;
  bool poisoned = false;  // something it yields is poison: the mistake is reported already
};

struct KernelBuilder::State {
  struct Frame {
    std::unique_ptr<Block> owned;  // null for the body of the kernel
    Block* block;
    uint32_t isolation;  // values of this number may be used
  };

  State();

  // --- Operations.
  InferContext Context();
  // Appends an operation; its type is inferred, from `declared` where operands do not decide it.
  // Poison if a rule is broken.
  Operand Emit(OpKind kind, Type declared, std::vector<ValueId> operands,
               Attributes attributes = NoAttr{}, std::vector<RegionPtr> regions = {});
  Operand Fail(DiagnosticCode code, std::string message);
  // False if the operand is poison or (with an error) a value that an isolated region may not see.
  bool Usable(const Operand& operand);
  bool Usable(std::span<const Operand> operands);

  // --- Types and values.
  const Type& TypeOf(ValueId id) const { return function->type(id); }
  std::string Describe(const Type& type) const { return type.ToString(namer); }
  std::string Describe(const Operand& operand) const;
  Operand Constant(const ScalarValue& value);
  Operand IndexConstant(int64_t value);
  // A literal or constexpr becomes a value of its contextless dtype.
  Operand Materialize(const Operand& operand);
  // A literal or constexpr meets a dtype; a value must have it.
  Operand Instantiate(const Operand& operand, DType dtype);
  // A value that is an index scalar; literals and constexprs meet index.
  Operand IndexScalar(const Operand& operand, const char* what);
  // An explicit broadcast unless the value has that shape already; `tensor` tells rank 0 from
  // scalar. Poison with an error if it does not broadcast.
  Operand BroadcastTo(const Operand& value, const std::vector<Extent>& shape, bool tensor);
  // Elementwise values of one shape from several that broadcast jointly.
  std::optional<std::vector<ValueId>> Align(std::span<const Operand> values);
  // What to say of a vector that does not broadcast with a shape of which it is another axis;
  // else empty.
  std::string ColumnHint(const std::vector<Extent>& line, const std::vector<Extent>& shape) const;
  // Two operands as values of one dtype.
  std::optional<std::array<Operand, 2>> Meet(const Operand& a, const Operand& b, const char* what);
  // Python's `and` and `or`, and what their operands may be.
  Operand Logical(ConstexprOp op, BinaryKind kind, const Operand& a, const Operand& b);
  bool CheckLogical(const Operand& operand, const char* word, const char* symbol);
  // False with an error that says what the operand is instead.
  bool CheckElementwise(const Operand& operand, const char* what);
  std::optional<std::vector<Extent>> Shape(std::span<const Operand> shape);
  std::optional<Extent> ExtentOf(const Operand& operand, const char* what);

  // --- Compile-time values.
  ConstexprId NewNode(ConstexprNode node, std::optional<ConstexprValue> value);
  ConstexprId NodeOf(const Operand& operand);  // of a literal (in 64 bits) or constexpr
  ConstexprType ConstexprTypeOf(ConstexprId id) const;
  // A node over compile-time operands; poison with an error if it has no meaning.
  Operand Fold(ConstexprOp op, std::span<const Operand> operands);
  // The value as a literal, if it is known now. Enums have none.
  std::optional<Literal> LiteralOf(const Operand& operand) const;
  static bool IsCompileTime(const Operand& operand) {
    return operand.IsLiteral() || operand.IsConstexpr();
  }
  // A flag of an operation: literal or constexpr bool.
  std::optional<StaticInt> Flag(const Operand& operand, const char* what);

  // --- Axes and indices.
  std::optional<std::vector<ValueId>> Fields(std::span<const Operand> fields);
  std::optional<int64_t> Axis(int64_t axis, int rank);
  std::optional<std::vector<int64_t>> Axes(std::span<const int64_t> axes, int rank);
  struct Relation {
    std::vector<IndexTerm> terms;
    std::vector<ValueId> operands;
    IndexRelation result;
  };
  std::optional<Relation> Index(const Type& source, ValueId source_value,
                                std::span<const IndexItem> items);
  bool IndexItemTerm(const Type& source, ValueId source_value, size_t axis, const IndexItem& item,
                     Relation* relation);
  bool StaticTerm(const Type& source, size_t axis, const Operand& position, Relation* relation);
  std::optional<ValueId> SliceBound(const Type& source, size_t axis,
                                    const std::optional<Operand>& bound, bool is_stop,
                                    ValueId source_value);
  // The value that a store of this relation takes: dtype met, shape broadcast.
  Operand StoredValue(const Type& target, const Relation& relation, const Operand& value);
  Operand LoadElements(ValueId source, const Relation& relation, std::optional<ValueId> valid,
                       std::optional<ValueId> fill);
  // The element that an atomic acts on.
  std::optional<Relation> AtomicIndex(const Operand& resource, std::span<const IndexItem> index);

  bool CheckWritable(const Operand& resource, const char* what);
  Operand EmitAtomic(OpKind kind, const Operand& resource, std::span<const IndexItem> index,
                     std::span<const Operand> values, RmwKind rmw, MemoryOrder order);

  // --- Regions.
  bool Takes(const RegionPtr& region) const;
  std::vector<Operand> Unpack(const Operand& product, size_t count);
  std::vector<Operand> Splice(const RegionPtr& region);

  // --- Structured.
  // The value of a reduction or scan: a tensor or product; poison with an error otherwise.
  bool CheckFoldValue(const Operand& value, const char* what);
  int ComponentRank(const Type& value) const;
  // The identity beside its value: literals take the leaf's dtype, rank-0 tensors become scalars.
  Operand FoldIdentity(const Type& value, const Operand& identity);
  std::optional<std::vector<ValueId>> FoldOperands(const Operand& value, const Operand& identity,
                                                   std::span<const Operand> captures,
                                                   CombineKind kind, const RegionPtr& combine);
  Operand BuiltinValue(const std::string& name, const Operand& value, bool logical, bool sums,
                       std::optional<DType> acc_dtype);

  // A region fold or scan: operands, then captures.
  Operand EmitRegionOp(OpKind kind, std::span<const Operand> operands, const SliceSchema& slices,
                       std::span<const Operand> captures, std::vector<RegionPtr> regions);

  // --- Contractions.
  bool CheckMatrix(const Operand& operand, int min_rank, int max_rank, const char* what);
  std::optional<ContractAttr> ContractAxes(const Operand& lhs, const Operand& rhs,
                                           std::span<const std::pair<int64_t, int64_t>> reduce,
                                           std::span<const std::pair<int64_t, int64_t>> batch);
  Operand BatchedContract(Operand lhs, Operand rhs, int lhs_own, int rhs_own, int lhs_axis,
                          int rhs_axis, DType acc_dtype);

  std::unique_ptr<Module> module;
  Function* function;
  SourceMap map;
  Span span;
  std::vector<Diagnostic> diagnostics;
  std::vector<Frame> frames;
  uint32_t isolations = 0;
  std::vector<uint32_t> isolation_of;  // by value
  std::map<std::string, uint32_t> symbols;
  std::map<std::string, int32_t> alias_groups;
  std::map<ValueId, Literal> literals;               // values that a literal without context became
  std::vector<std::optional<ConstexprValue>> known;  // by constexpr node
  std::unique_ptr<ValueExtents> extents;
  ExtentNamer namer;
};

inline bool operator==(const Literal& a, const Literal& b) {
  return a.kind == b.kind && a.int_value == b.int_value && a.float_value == b.float_value;
}

inline Literal IntLiteral(__int128 value) { return {Literal::Kind::kInt, value, 0}; }
inline Literal FloatLiteral(double value) { return {Literal::Kind::kFloat, 0, value}; }
inline Literal BoolLiteral(bool value) { return {Literal::Kind::kBool, value, 0}; }

}  // namespace intent
