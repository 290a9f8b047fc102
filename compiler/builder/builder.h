#pragma once

// KernelBuilder: makes KIR the way an author writes it. The Python front end and C++ users call it;
// literals, dtype and shape rules, broadcasts and diagnostics live here and nowhere else
// (decisions.md A.1).
//
// Operands are values, literals or constexpr expressions. A literal takes the dtype it meets;
// without context bool, i64 or f64 (language.md 2). Shapes broadcast from the right and the
// broadcast becomes an operation. Every method that cannot do what was asked reports a diagnostic
// at the current span and returns a poison Operand; methods given poison return poison silently, so
// several errors of one kernel are found at once.
//
// One builder makes one module with one kernel. Not thread-safe.

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"
#include "compiler/verify/literal.h"

namespace intent {

struct Poison {};

// What builder methods take and give.
class Operand {
 public:
  Operand() : content_(Poison{}) {}
  Operand(Literal literal) : content_(literal) {}  // NOLINT
  static Operand OfValue(ValueId id) { return Operand(Content(id)); }
  static Operand OfConstexpr(ConstexprId id) { return Operand(Content(ConstexprRef{id})); }

  bool IsPoison() const { return std::holds_alternative<Poison>(content_); }
  bool IsValue() const { return std::holds_alternative<ValueId>(content_); }
  bool IsLiteral() const { return std::holds_alternative<Literal>(content_); }
  bool IsConstexpr() const { return std::holds_alternative<ConstexprRef>(content_); }
  ValueId value() const { return std::get<ValueId>(content_); }
  const Literal& literal() const { return std::get<Literal>(content_); }
  ConstexprId constexpr_id() const { return std::get<ConstexprRef>(content_).id; }

 private:
  struct ConstexprRef {
    ConstexprId id;
  };
  using Content = std::variant<Poison, ValueId, Literal, ConstexprRef>;
  explicit Operand(Content content) : content_(std::move(content)) {}
  Content content_;
};

// One term of an index relation as an author writes it.
struct IndexItem {
  enum class Kind : uint8_t {
    kFull,      // :
    kSlice,     // start:stop, either may be absent
    kOperand,   // literal, constexpr, scalar, tensor, domain or subregion
    kNewAxis,   // None
    kEllipsis,  // ...
  } kind = Kind::kFull;
  Operand operand;               // kOperand
  std::optional<Operand> start;  // kSlice
  std::optional<Operand> stop;
};

struct ViewConstraints {
  std::optional<std::string> alias;
  bool noalias = false;
};

class KernelBuilder {
 public:
  KernelBuilder();
  ~KernelBuilder();
  KernelBuilder(const KernelBuilder&) = delete;

  // --- Places and diagnostics.
  uint32_t AddFile(std::string name);
  void SetSpan(const Span& span);  // of everything that follows
  const Span& span() const;
  bool ok() const;
  const std::vector<Diagnostic>& diagnostics() const;
  // A front end's own mistakes go through the same sink, at the current span unless given.
  Diagnostic& Error(DiagnosticCode code, std::string message);
  // Snapshot and rollback of diagnostics, for speculative tracing.
  size_t DiagnosticMark() const;
  void DiagnosticRollback(size_t mark);

  // --- Signature. Call in order of the parameters, before any operation.
  void SetKernelName(std::string name);
  // An extent of an annotation: a static integer, a symbol, or a constexpr expression.
  Extent SymbolExtent(const std::string& name);
  Operand AddView(std::string name, DType dtype, std::vector<Extent> shape, Access access,
                  const ViewConstraints& constraints);
  Operand AddScalar(std::string name, DType dtype);
  uint32_t AddEnum(std::string name, std::vector<std::pair<std::string, int64_t>> members);
  // `fixed`: bound early by the front end to the default; the daemon refuses another value.
  Operand AddConstexpr(std::string name, ConstexprKind kind, uint32_t enum_type,
                       std::optional<ConstexprValue> default_value, bool fixed);
  Operand EnumMember(uint32_t enum_type, int64_t value);
  // The extent that an integer literal, constexpr, index value or domain stands for, for the shapes
  // of annotations; reports and gives an invalid extent for anything else.
  Extent ExtentOf(const Operand& operand);

  // --- Facts about operands.
  // none for poison and for unbound literals.
  Type TypeOf(const Operand& operand) const;
  // "f32", "tensor<f32, [M, N]>" with the author's symbol names, "literal 3".
  std::string Describe(const Operand& operand) const;
  std::string Describe(const Type& type) const;
  // The known compile-time integer of a literal, constant or folded constexpr.
  std::optional<int64_t> StaticIntOf(const Operand& operand) const;
  // Literal and constexpr operands (bool, int, float, enum): decidable before run time.
  bool IsConstexpr(const Operand& operand) const;
  // A literal becomes a value of its contextless dtype; constexprs likewise; values pass through.
  Operand Materialize(const Operand& operand);
  // A literal or constexpr becomes a constant of `dtype`, range-checked; a value must have it
  // already.
  Operand Instantiate(const Operand& operand, DType dtype);
  // `x.shape[axis]`: an index value (op dim). Negative axes are counted from the end.
  Operand Dim(const Operand& source, int64_t axis);

  // --- Pointwise. Constexpr operands fold into constexpr expressions; literal with literal folds
  // exactly.
  Operand Unary(UnaryKind kind, const Operand& x,
                const Operand& approximate = Literal{Literal::Kind::kBool},
                const Operand& flush_to_zero = Literal{Literal::Kind::kBool});
  Operand Binary(BinaryKind kind, const Operand& a, const Operand& b,
                 const Operand& approximate = Literal{Literal::Kind::kBool},
                 const Operand& flush_to_zero = Literal{Literal::Kind::kBool});
  Operand Compare(CompareKind kind, const Operand& a, const Operand& b);
  // Python's `and`, `or`, `not`: scalar bool only; tensors are refused with a pointer to & | ~.
  Operand LogicalAnd(const Operand& a, const Operand& b);
  Operand LogicalOr(const Operand& a, const Operand& b);
  Operand LogicalNot(const Operand& a);
  Operand Select(const Operand& condition, const Operand& a, const Operand& b);
  Operand Mask(const Operand& value, const Operand& valid, const Operand& fill);
  Operand Cast(const Operand& x, DType dtype);
  Operand SaturatingCast(const Operand& x, DType dtype);
  Operand Bitcast(const Operand& x, DType dtype);

  // --- Shapes. A shape entry is an index value, a literal, a constexpr or a domain (its extent).
  Operand Full(std::span<const Operand> shape, const Operand& fill, DType dtype);
  Operand Reshape(const Operand& x,
                  std::span<const Operand> shape);  // one literal -1 may be inferred
  Operand Transpose(const Operand& x, std::optional<std::vector<int64_t>> permutation);
  Operand Broadcast(const Operand& x, std::span<const Operand> shape);
  Operand Join(const Operand& a, const Operand& b);

  // --- Domains.
  Operand Domain(const Operand& begin, const Operand& end, const Operand& step);
  Operand Subregion(const Operand& domain, std::optional<Operand> start,
                    std::optional<Operand> stop);
  Operand DomainProduct(std::span<const Operand> domains);
  Operand Indices(const Operand& domain);
  Operand RegionEnd(const Operand& domain);
  void AssumeInBounds(const Operand& index, const Operand& resource, const Operand& axis);

  // --- Products. Leaves keep their own types; literals in them are materialised.
  Operand MakeTuple(std::span<const Operand> fields);
  Operand MakeRecord(std::span<const std::string> names, std::span<const Operand> fields);
  Operand Extract(const Operand& product, int64_t position);
  Operand Field(const Operand& record, const std::string& name);

  // --- Memory. Load serves views, buffers and tensors: op view_load, buffer_load or gather.
  Operand Load(const Operand& source, std::span<const IndexItem> index);
  Operand Gather(const Operand& source, std::span<const IndexItem> index,
                 std::optional<Operand> valid, std::optional<Operand> fill);
  void Store(const Operand& resource, std::span<const IndexItem> index, const Operand& value);
  void ScatterUnique(const Operand& view, std::span<const IndexItem> index, const Operand& value);
  Operand Buffer(std::span<const Operand> shape, DType dtype, std::optional<Operand> init);
  Operand AtomicLoad(const Operand& resource, std::span<const IndexItem> index, MemoryOrder order);
  void AtomicStore(const Operand& resource, std::span<const IndexItem> index, const Operand& value,
                   MemoryOrder order);
  Operand AtomicRmw(RmwKind kind, const Operand& resource, std::span<const IndexItem> index,
                    const Operand& value, MemoryOrder order);
  Operand AtomicCas(const Operand& resource, std::span<const IndexItem> index,
                    const Operand& expected, const Operand& desired, MemoryOrder order);
  Operand RandomBits(const Operand& seed, const Operand& counter);

  // --- Regions. PushRegion starts a block with arguments of the given types; what is built next
  // goes there. PopRegion(yields) ends it. DropRegion forgets it (speculative tracing). `isolated`
  // regions (callbacks) may use only their arguments, constants and constexprs; using another value
  // is reported as E0803.
  class Region;  // owns a finished block and the types it yields
  using RegionPtr = std::shared_ptr<Region>;
  std::vector<Operand> PushRegion(std::span<const Type> arguments, bool isolated = false);
  RegionPtr PopRegion(std::span<const Operand> yields);
  void DropRegion();
  std::vector<Type> YieldTypes(const RegionPtr& region) const;

  // `condition` scalar bool value or constexpr. Both regions yield the same types (E0407 names both
  // sides); returns one operand per yielded leaf.
  std::vector<Operand> If(const Operand& condition, RegionPtr then_region, RegionPtr else_region);
  // The domain's coordinates come first among the body's arguments, then the carries.
  void Parallel(const Operand& domain, RegionPtr body);
  std::vector<Operand> For(const Operand& domain, std::span<const Operand> inits, RegionPtr body);
  std::vector<Operand> While(std::span<const Operand> inits, RegionPtr condition, RegionPtr body);

  // --- Structured. `value` is a tensor or a product; axes may be negative.
  // Exactly one of kind (not kRegion) and region says how members combine. `identity` literal takes
  // the dtype.
  Operand Reduce(const Operand& value, std::span<const int64_t> axes, const Operand& identity,
                 CombineKind kind, RegionPtr combine, std::span<const Operand> captures);
  // Schema that a combine region's two states have for this value, axes and identity.
  std::optional<Type> CombineSchema(const Operand& value, std::span<const int64_t> axes,
                                    const Operand& identity);
  Operand Scan(const Operand& value, int64_t axis, const Operand& identity, CombineKind kind,
               RegionPtr combine, std::span<const Operand> captures, const Operand& inclusive,
               const Operand& reverse);
  // Builtins of language.md 7: widening, identities, bool rules. name: "sum", "max", "any", "all".
  Operand ReduceBuiltin(const std::string& name, const Operand& value,
                        std::span<const int64_t> axes, std::optional<DType> acc_dtype);
  Operand ArgMax(const Operand& value, int64_t axis,
                 std::optional<DType> acc_dtype);  // tuple (values, indices)
  Operand CumulativeBuiltin(const std::string& name, const Operand& value, int64_t axis,
                            const Operand& inclusive, const Operand& reverse,
                            std::optional<DType> acc_dtype);
  // Region operations (language.md 8). `source` is a tensor or a tuple of tensors that share the
  // extent of `axis`. Their callbacks see slices: tensors of these types, whose axis has an extent
  // of its own. Nothing if the source has no such axis.
  struct SliceSchema {
    std::vector<Type> types;  // one per component of the source
    int64_t axis = 0;
    uint32_t symbol = 0;  // the extent of a slice
  };
  std::optional<SliceSchema> Slices(const Operand& source, int64_t axis);
  // Regions are isolated: summarize(slices..., captures...), combine(summary, summary),
  // apply(summary, state), emit(slices..., state, captures...); each yields one value.
  Operand RegionFold(const Operand& source, const SliceSchema& slices, const Operand& identity,
                     RegionPtr summarize, RegionPtr combine, std::span<const Operand> captures);
  // A tuple of the outputs and the final state.
  Operand RegionScan(const Operand& source, const SliceSchema& slices, const Operand& identity,
                     const Operand& initial_state, RegionPtr summarize, RegionPtr combine,
                     RegionPtr apply, RegionPtr emit, std::span<const Operand> captures);
  Operand Contract(const Operand& lhs, const Operand& rhs,
                   std::span<const std::pair<int64_t, int64_t>> reduce,
                   std::span<const std::pair<int64_t, int64_t>> batch, DType acc_dtype);
  // dot, matvec, vecmat, matmul, outer of language.md 9, made of contract, reshape, broadcast,
  // transpose.
  Operand Dot(const Operand& l, const Operand& r, DType acc_dtype);
  Operand Matvec(const Operand& m, const Operand& v, DType acc_dtype, bool transpose);
  Operand Vecmat(const Operand& v, const Operand& m, DType acc_dtype, bool transpose);
  Operand Matmul(const Operand& l, const Operand& r, DType acc_dtype, bool transpose_lhs,
                 bool transpose_rhs);
  Operand Outer(const Operand& l, const Operand& r);
  Operand ScaledContract(const Operand& lhs, const Operand& lhs_scale, const Operand& rhs,
                         const Operand& rhs_scale, ScaledFormat lhs_format, ScaledFormat rhs_format,
                         int64_t group_size, DType acc_dtype);
  Operand SparseContract(const Operand& compressed, const Operand& metadata, const Operand& rhs,
                         SparseFormat format, int64_t compression_axis,
                         std::span<const std::pair<int64_t, int64_t>> reduce,
                         std::span<const std::pair<int64_t, int64_t>> batch, DType acc_dtype);
  Operand Histogram(const Operand& values, const Operand& bins, const Operand& valid,
                    DType count_dtype);
  Operand Quantize(const Operand& values);
  Operand QuantizedDot(const Operand& lhs, const Operand& rhs);
  void ScatterReduce(const Operand& view, std::span<const IndexItem> index, const Operand& value,
                     CombineKind kind, RegionPtr combine);

  // --- The end. Numbers operations, runs the verifier's whole-module rules (reads before writes,
  // dominance) and hands over module and map; null if there was any error.
  std::unique_ptr<Module> Finish(SourceMap* map);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace intent
