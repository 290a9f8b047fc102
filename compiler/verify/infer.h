#pragma once

// The type rules of KIR, in one place (language.md 1-12, seed 000): builder and verifier ask the
// same function. Every rule that an operation, its operands' types, its attributes and the
// signatures of its regions decide is checked here; dominance, purity, effects over paths and
// module tables are the verifier's.
//
// Before specialisation attributes may refer to constexprs: what they decide is then taken from the
// declared type and checked after binding.

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "compiler/ir/module.h"
#include "compiler/verify/value_extents.h"

namespace intent {

using ExtentNamer = std::function<std::string(AtomKind, uint32_t)>;

struct InferContext {
  const Module& module;
  const Function& function;
  ValueExtents& extents;
  // Takes every error. Messages are shorter than 600 bytes.
  std::function<void(DiagnosticCode, std::string)> report;
  ExtentNamer namer;         // null: s<i>, c<i>, %<i>
  bool specialized = false;  // constexpr references are errors
};

// The result type of an operation whose result, if the operands do not decide it (reshape, cast,
// full, accumulation dtypes, ...), is declared already; nullopt if anything was reported. The
// operation has the number of operands and regions that ops.def demands, its values exist and its
// regions end in a yield.
std::optional<Type> InferType(const InferContext& context, const Op& op);

// The outcome of an index relation over a source type.
struct IndexRelation {
  std::vector<Extent> shape;
  bool has_tensor = false;  // a tensor-valued term: the result is a tensor, even of rank 0
  bool has_region = false;
  Type ResultType(DType dtype) const;
};
// `operands` are the relation's index operands, in the order of its terms.
std::optional<IndexRelation> InferIndex(const InferContext& context, const Type& source,
                                        const std::vector<IndexTerm>& terms,
                                        std::span<const ValueId> operands);

// Schemas of a reduce or scan: what the combine takes twice and gives, and the operation's result.
struct FoldSchema {
  Type state;
  Type result;
};
std::optional<FoldSchema> InferReduce(const InferContext& context, const Type& value,
                                      const std::vector<int64_t>& axes, const Type& identity);
std::optional<FoldSchema> InferScan(const InferContext& context, const Type& value, int64_t axis,
                                    const Type& identity);

// Right-aligned broadcast: extents are provably equal or one of them is the literal 1.
std::optional<std::vector<Extent>> BroadcastShapes(const std::vector<Extent>& a,
                                                   const std::vector<Extent>& b);
// True if `from` broadcasts to exactly `to`.
bool BroadcastsTo(const std::vector<Extent>& from, const std::vector<Extent>& to);

// max(0, ceildiv(end - begin, step)).
Extent DomainExtent(const Extent& begin, const Extent& end, const Extent& step);

}  // namespace intent
