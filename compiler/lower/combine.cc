// How two members of a reduction or scan meet: builtin kinds, or the operation's own region,
// inlined.

#include <algorithm>
#include <utility>

#include "compiler/diag/check.h"
#include "compiler/lower/elementwise_combine.h"
#include "compiler/lower/lowerer.h"

namespace intent::lower {
Lowerer::Combine Lowerer::MakeCombine(const Op& op, CombineKind kind, size_t first_capture,
                                      const std::vector<DType>& leaves) {
  Combine combine;
  combine.op = &op;
  combine.kind = kind;
  const bool floating = std::any_of(leaves.begin(), leaves.end(), IsFloat);
  combine.rounds = floating && (kind == CombineKind::kAdd || kind == CombineKind::kRegion);
  if (kind != CombineKind::kRegion) return combine;
  combine.region = op.regions.at(0).get();
  for (size_t i = first_capture; i < op.operands.size(); ++i)
    combine.captures.push_back(Of(op.operands[i]));
  combine.elementwise = IsElementwiseCombine(function_, *combine.region);
  for (const Binding& capture : combine.captures) {
    if (capture.kind != Binding::Kind::kScalar) combine.elementwise = false;
  }
  return combine;
}

Binding Lowerer::BindLeaves(const Type& type, const std::vector<Id>& leaves, size_t* next) {
  if (!type.IsProduct()) return Binding::Scalar(leaves[(*next)++]);
  std::vector<Binding> fields;
  for (const Type& field : type.fields()) fields.push_back(BindLeaves(field, leaves, next));
  return Binding::Product(std::move(fields));
}

std::vector<Id> Lowerer::EvalRegion(const Block& block, const std::vector<Binding>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) Bind(block.arguments[i], arguments[i]);
  for (const Op* op : block.ops) {
    switch (op->kind) {
      case OpKind::kYield: {
        std::vector<Id> leaves;
        for (ValueId operand : op->operands) {
          std::vector<Binding> flat;
          Of(operand).Leaves(&flat);
          for (const Binding& leaf : flat) leaves.push_back(leaf.scalar);
        }
        return leaves;
      }
      case OpKind::kMakeTuple:
      case OpKind::kMakeRecord:
      case OpKind::kExtract:
        LowerPure(*op);
        break;
      case OpKind::kConstant:
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kSelect:
      case OpKind::kMask:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
      case OpKind::kFull:
      case OpKind::kBroadcast: {
        std::vector<Id> ids;
        for (ValueId operand : op->operands) ids.push_back(Of(operand).scalar);
        Bind(op->result, Binding::Scalar(EvalPointwise(*op, ids)));
        break;
      }
      default:
        INTENT_UNREACHABLE() << InfoOf(op->kind).name << " is not elementwise";
        break;
    }
  }
  INTENT_UNREACHABLE() << "a region without yield";
  return {};
}

Lowerer::Leaves Lowerer::RunCallback(const Block& block, const std::vector<Binding>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) Bind(block.arguments[i], arguments[i]);
  const uint32_t ordinal = b().ordinal();
  const bool single_rows = std::exchange(single_rows_, false);
  ++callbacks_;
  LowerBlock(block);
  --callbacks_;
  single_rows_ = single_rows;
  b().SetOrdinal(ordinal);
  Leaves leaves;
  for (ValueId operand : block.ops.back()->operands) Of(operand).Leaves(&leaves);
  return leaves;
}

std::vector<Id> Lowerer::CombineLeaves(const Combine& combine, const std::vector<Id>& lhs,
                                       const std::vector<Id>& rhs) {
  switch (combine.kind) {
    case CombineKind::kAdd:
    case CombineKind::kMaximum:
    case CombineKind::kMinimum:
    case CombineKind::kAnd:
    case CombineKind::kOr: {
      const BinaryKind kind = combine.kind == CombineKind::kAdd       ? BinaryKind::kAdd
                              : combine.kind == CombineKind::kMaximum ? BinaryKind::kMaximum
                              : combine.kind == CombineKind::kMinimum ? BinaryKind::kMinimum
                              : combine.kind == CombineKind::kAnd     ? BinaryKind::kAnd
                                                                      : BinaryKind::kOr;
      std::vector<Id> result;
      for (size_t i = 0; i < lhs.size(); ++i) result.push_back(b().Binary(kind, lhs[i], rhs[i]));
      return result;
    }
    case CombineKind::kArgMax: {
      // The greater value, a NaN before all numbers; among equals the lower index.
      const Id value = lhs[0], other = rhs[0];
      Id greater = b().Compare(CompareKind::kGt, other, value);
      Id equal = b().Equal(other, value);
      if (IsFloat(b().type(value).dtype)) {
        const Id nan = b().Compare(CompareKind::kNe, value, value);
        const Id other_nan = b().Compare(CompareKind::kNe, other, other);
        greater = b().Or(greater, b().And(other_nan, b().Not(nan)));
        equal = b().Or(equal, b().And(nan, other_nan));
      }
      const Id take = b().Or(greater, b().And(equal, b().Less(rhs[1], lhs[1])));
      return {b().Select(take, other, value), b().Select(take, rhs[1], lhs[1])};
    }
    case CombineKind::kRegion: {
      std::vector<Binding> arguments;
      size_t next = 0;
      for (const std::vector<Id>* side : {&lhs, &rhs}) {
        size_t leaf = 0;
        arguments.push_back(BindLeaves(TypeOf(combine.region->arguments[next++]), *side, &leaf));
      }
      arguments.insert(arguments.end(), combine.captures.begin(), combine.captures.end());
      if (combine.elementwise) return EvalRegion(*combine.region, arguments);
      std::vector<Id> results;
      for (const Binding& leaf : RunCallback(*combine.region, arguments))
        results.push_back(Eval(leaf, {}, {}));
      return results;
    }
  }
  return lhs;
}

std::vector<Id> Lowerer::CombineLanes(const Combine& combine, std::vector<Id> tiles) {
  const int32_t lanes = b().lanes(tiles[0]);
  if (lanes == 1) return tiles;
  if (combine.kind != CombineKind::kRegion && combine.kind != CombineKind::kArgMax) {
    for (Id& tile : tiles) tile = b().ReduceLanes(combine.kind, tile);
    return tiles;
  }
  if (OnUnits()) return CombineLanesOnUnit(combine, std::move(tiles));
  for (int32_t half = lanes / 2; half > 0; half /= 2) {
    std::vector<int32_t> order;
    for (int32_t lane = 0; lane < lanes; ++lane) order.push_back((lane + half) % lanes);
    std::vector<Id> moved;
    for (Id tile : tiles) moved.push_back(b().Shuffle(tile, order));
    tiles = CombineLeaves(combine, tiles, moved);
    for (Id& tile : tiles) tile = b().Splat(tile, lanes);
  }
  for (Id& tile : tiles) tile = b().ExtractLane(tile, 0);
  return tiles;
}

}  // namespace intent::lower
