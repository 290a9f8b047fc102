#include "compiler/plan/tile_parallel.h"

#include <algorithm>
#include <map>
#include <span>

#include "compiler/ir/index_operands.h"

namespace intent::plan {
namespace {

ScalarValue IndexValue(int64_t value) {
  return {DType::kIndex, static_cast<unsigned __int128>(static_cast<uint64_t>(value))};
}

// The type with `extent` for the axes that are flagged, from *next on.
Type WithExtent(const Type& type, const std::vector<bool>& flags, const Extent& extent,
                size_t* next) {
  if (type.IsProduct()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields())
      fields.push_back(WithExtent(field, flags, extent, next));
    return type.kind() == TypeKind::kTuple ? Type::Tuple(std::move(fields))
                                           : Type::Record(type.names(), std::move(fields));
  }
  if (!type.IsTensor() && !type.IsBuffer()) return type;
  std::vector<Extent> shape = type.shape();
  for (Extent& axis : shape) {
    if (flags[(*next)++]) axis = extent;
  }
  return type.IsTensor() ? Type::Tensor(type.dtype(), std::move(shape))
                         : Type::Buffer(type.dtype(), std::move(shape));
}

size_t AxisCount(const Type& type) {
  if (!type.IsProduct()) return type.IsTensor() || type.IsBuffer() ? type.shape().size() : 0;
  size_t count = 0;
  for (const Type& field : type.fields()) count += AxisCount(field);
  return count;
}

// Of the domain from `first` to first + min(rows, extent - first), as the type rules give it.
Extent TileExtent(const Extent& rows, const Extent& extent, ValueId first) {
  return Extent::Max(0, Extent::Min(rows, extent - Extent::Value(first)));
}

// Tiles of one loop.
class Tiler {
 public:
  Tiler(Function* function, Block* around, Op* loop, const OwnedAxis& owned, int64_t rows)
      : function_(function), around_(around), loop_(loop), owned_(owned), most_(rows) {}

  ParallelTiles Run() {
    std::vector<Op*> inner;  // before anything is added
    std::vector<Block*> blocks{loop_->regions[0].get()};
    while (!blocks.empty()) {
      Block* block = blocks.back();
      blocks.pop_back();
      for (Op* op : block->ops) {
        inner.push_back(op);
        for (const auto& region : op->regions) blocks.push_back(region.get());
      }
    }
    TileDomain();
    ReadWindows(inner);
    for (const auto& [value, flags] : owned_.values) {
      if (IsIndices(value)) continue;
      size_t next = 0;
      Type& type = function_->value(value).type;
      type = WithExtent(type, flags, extent_, &next);
    }
    std::vector<Op*>& body = loop_->regions[0]->ops;
    body.insert(body.begin(), start_.begin(), start_.end());
    return std::move(result_);
  }

 private:
  Op* Make(std::vector<Op*>* ops, OpKind kind, Type type, std::vector<ValueId> operands,
           Attributes attributes = NoAttr{}) {
    Op* op = function_->NewOp(kind, std::move(type), std::move(operands), std::move(attributes));
    op->ordinal = loop_->ordinal;
    ops->push_back(op);
    return op;
  }
  ValueId Index(std::vector<Op*>* ops, OpKind kind, std::vector<ValueId> operands,
                Attributes attributes) {
    return Make(ops, kind, Type::Scalar(DType::kIndex), std::move(operands), std::move(attributes))
        ->result;
  }
  ValueId Constant(std::vector<Op*>* ops, ScalarValue value) {
    return Make(ops, OpKind::kConstant, Type::Scalar(value.dtype), {}, ConstantAttr{value})->result;
  }

  // The loop's new domain, and each task's rows.
  void TileDomain() {
    std::vector<Op*> before;
    const ValueId zero = Constant(&before, IndexValue(0)), one = Constant(&before, IndexValue(1));
    const ValueId count =
        Index(&before, OpKind::kDim, {owned_.store->operands[0]}, AxisAttr{owned_.store_axis});
    const ValueId whole =
        Index(&before, OpKind::kBinary, {count, one}, BinaryAttr{BinaryKind::kMaximum});
    const Extent whole_extent = Extent::Max(owned_.extent, 1);
    result_.most = most_;
    result_.rows = Constant(&before, IndexValue(most_));
    Extent rows(most_);
    if (!owned_.conflicts.empty()) {
      result_.meet = Constant(&before, {DType::kBool, 0});
      result_.rows = Make(&before, OpKind::kSelect, Type::Scalar(DType::kIndex),
                          {result_.meet, whole, result_.rows})
                         ->result;
      rows = Extent::Value(result_.rows);
    }
    result_.conflicts = owned_.conflicts;
    result_.store = owned_.store;
    result_.store_axis = owned_.store_axis;
    const Extent tiles = Extent::Max(0, Extent::CeilDiv(whole_extent, rows));
    result_.tiles =
        Make(&before, OpKind::kDomain, Type::Domain({tiles}), {zero, whole, result_.rows})->result;

    const ValueId points = loop_->operands[0];
    const Op* made = function_->value(points).op;
    std::vector<ValueId> axes{points};
    if (made->kind == OpKind::kDomainProduct) axes = made->operands;
    axes.push_back(result_.tiles);
    std::vector<Extent> shape = function_->type(points).shape();
    shape.push_back(tiles);
    loop_->operands[0] =
        Make(&before, OpKind::kDomainProduct, Type::Domain(std::move(shape)), axes)->result;
    around_->ops.insert(std::find(around_->ops.begin(), around_->ops.end(), loop_), before.begin(),
                        before.end());

    Block* body = loop_->regions[0].get();
    const ValueId first = function_->NewArgument(body, Type::Scalar(DType::kIndex));
    const ValueId left =
        Index(&start_, OpKind::kBinary, {count, first}, BinaryAttr{BinaryKind::kSub});
    const ValueId size =
        Index(&start_, OpKind::kBinary, {result_.rows, left}, BinaryAttr{BinaryKind::kMinimum});
    result_.size = size;
    const ValueId end =
        Index(&start_, OpKind::kBinary, {first, size}, BinaryAttr{BinaryKind::kAdd});
    extent_ = TileExtent(rows, owned_.extent, first);
    result_.tile =
        Make(&start_, OpKind::kDomain, Type::Domain({extent_}), {first, end, one})->result;
  }

  bool IsIndices(ValueId value) const {
    const Op* op = function_->value(value).op;
    return op != nullptr && op->kind == OpKind::kIndices;
  }

  void ReadWindows(const std::vector<Op*>& inner) {
    std::unordered_map<ValueId, ValueId> coordinates;  // of whole domains, and their tile's
    for (Op* op : inner) {
      for (size_t i = 0; i < op->operands.size(); ++i) {
        const auto use = owned_.uses.find({op, i});
        if (use != owned_.uses.end())
          op->operands[i] = WindowOf(&start_, op->operands[i], use->second);
      }
    }
    std::vector<Block*> blocks{loop_->regions[0].get()};
    while (!blocks.empty()) {
      Block* block = blocks.back();
      blocks.pop_back();
      std::vector<Op*> ops;
      for (Op* op : block->ops) {
        ops.push_back(op);
        if (owned_.values.contains(op->result) && IsIndices(op->result)) {
          coordinates[op->result] = WindowOf(&ops, op->result, {true});
        }
        for (const auto& region : op->regions) blocks.push_back(region.get());
      }
      block->ops = std::move(ops);
    }
    for (Op* op : inner) {
      for (ValueId& operand : op->operands) {
        if (const auto tile = coordinates.find(operand); tile != coordinates.end()) {
          operand = tile->second;
        }
      }
      const auto whole = owned_.whole_terms.find(op);
      if (whole != owned_.whole_terms.end()) TakeTile(op, whole->second);
    }
  }

  // An access takes the tile's rows instead of the whole axis.
  void TakeTile(Op* op, size_t term) {
    std::vector<IndexTerm>& terms = op->attr<IndexAttr>().terms;
    terms[term].kind = IndexTermKind::kRegion;
    const bool stores = InfoOf(op->kind).effect == Effect::kWrite;
    const size_t operand = (stores ? 2 : 1) + IndexOperands(std::span(terms).first(term));
    op->operands.insert(op->operands.begin() + static_cast<std::ptrdiff_t>(operand), result_.tile);
  }

  // The tile's part of a value, made at the end of `ops`.
  ValueId WindowOf(std::vector<Op*>* ops, ValueId value, const std::vector<bool>& flags) {
    if (std::find(flags.begin(), flags.end(), true) == flags.end()) return value;
    const auto [known, fresh] = windows_.try_emplace({value, flags});
    if (!fresh) return known->second;
    const Type type = function_->type(value);
    size_t next = 0;
    const Type window = WithExtent(type, flags, extent_, &next);
    Op* op = nullptr;
    if (type.IsProduct()) {
      std::vector<ValueId> fields;
      auto flag = flags.begin();
      for (size_t i = 0; i < type.fields().size(); ++i) {
        const Type& field = type.fields()[i];
        const auto end = flag + static_cast<std::ptrdiff_t>(AxisCount(field));
        const ValueId part =
            Make(ops, OpKind::kExtract, field, {value}, AxisAttr{static_cast<int64_t>(i)})->result;
        fields.push_back(WindowOf(ops, part, {flag, end}));
        flag = end;
      }
      const bool tuple = type.kind() == TypeKind::kTuple;
      op = Make(ops, tuple ? OpKind::kMakeTuple : OpKind::kMakeRecord, window, fields);
    } else {
      IndexAttr attr;
      std::vector<ValueId> operands{value};
      for (const bool of_class : flags) {
        attr.terms.push_back({of_class ? IndexTermKind::kRegion : IndexTermKind::kFull, {}});
        if (of_class) operands.push_back(result_.tile);
      }
      op = Make(ops, OpKind::kGather, window, operands, std::move(attr));
    }
    return windows_[{value, flags}] = op->result;
  }

  Function* function_;
  Block* around_;
  Op* loop_;
  const OwnedAxis& owned_;
  const int64_t most_;
  std::vector<Op*> start_;  // of the body
  Extent extent_;           // of a tile
  std::map<std::pair<ValueId, std::vector<bool>>, ValueId> windows_;
  ParallelTiles result_;
};

bool IsWorthTiles(const Op& loop, const TileOptions& options) {
  bool worth = false;
  ForEachOp(*loop.regions[0], [&](const Op& op) {
    worth |= op.kind == OpKind::kRegionFold || op.kind == OpKind::kRegionScan;
    worth |= options.contractions && op.kind == OpKind::kContract;
  });
  return worth;
}

}  // namespace

TiledLoops TileParallel(Function* function, const TileOptions& options) {
  TiledLoops result;
  struct Loop {
    Block* around;
    Op* op;
  };
  std::vector<Loop> loops;
  std::vector<Block*> blocks{&function->body};
  while (!blocks.empty()) {
    Block* block = blocks.back();
    blocks.pop_back();
    for (Op* op : block->ops) {
      if (op->kind == OpKind::kParallel) {
        if (IsWorthTiles(*op, options)) loops.push_back({block, op});
        continue;
      }
      for (const auto& region : op->regions) blocks.push_back(region.get());
    }
  }
  for (const Loop& loop : loops) {
    Ownership ownership = FindOwnedAxis(*function, *loop.op);
    if (!ownership.owned) {
      result.whole[loop.op] = std::move(ownership.refusal);
      continue;
    }
    const Extent& extent = ownership.owned->extent;
    if (!TileExtent(Extent::Value(0), extent, 0).valid()) {
      result.whole[loop.op] = "the extent of the axis that they leave alone is too complex";
      continue;
    }
    if (extent.IsConstant() && extent.constant() <= options.rows) {
      result.whole[loop.op] =
          "the axis that they leave alone has " + std::to_string(extent.constant()) + " rows";
      continue;
    }
    result.tiles[loop.op] =
        Tiler(function, loop.around, loop.op, *ownership.owned, options.rows).Run();
  }
  return result;
}

}  // namespace intent::plan
