#include "compiler/tile/tile_builder.h"

#include <algorithm>
#include <optional>

#include "compiler/diag/check.h"

namespace intent::tile {
namespace {

void AppendRaw(std::string* key, const void* data, size_t size) {
  key->append(static_cast<const char*>(data), size);
}
template <typename T>
void AppendKey(std::string* key, const T& value) {
  AppendRaw(key, &value, sizeof(value));
}

// Everything that makes two pure operations equal, the result's type included.
std::string KeyOf(const Op& op, const Type& result) {
  std::string key;
  AppendKey(&key, op.kind);
  AppendKey(&key, result.kind);
  AppendKey(&key, result.dtype);
  AppendKey(&key, result.lanes);
  AppendKey(&key, op.constant.dtype);
  AppendKey(&key, op.constant.bits);
  AppendKey(&key, op.unary);
  AppendKey(&key, op.binary);
  AppendKey(&key, op.compare);
  AppendKey(&key, op.combine);
  AppendKey(&key, op.approximate);
  AppendKey(&key, op.flush_to_zero);
  AppendKey(&key, op.rounds);
  AppendKey(&key, op.index);
  AppendKey(&key, op.axis);
  for (int32_t lane : op.lanes) AppendKey(&key, lane);
  key.push_back('|');
  for (Id operand : op.operands) AppendKey(&key, operand);
  return key;
}

std::optional<int64_t> FoldIndex(BinaryKind kind, int64_t a, int64_t b) {
  int64_t result;
  switch (kind) {
    case BinaryKind::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case BinaryKind::kSub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case BinaryKind::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case BinaryKind::kFloorDiv:
      if (b <= 0) return std::nullopt;
      return a / b - (a % b < 0 ? 1 : 0);
    case BinaryKind::kMod: {
      if (b <= 0) return std::nullopt;
      const int64_t rest = a % b;
      return rest < 0 ? rest + b : rest;
    }
    case BinaryKind::kMinimum:
      return std::min(a, b);
    case BinaryKind::kMaximum:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

TileBuilder::TileBuilder(Program* program) : program_(program) { Push(&program->body); }

void TileBuilder::Push(Block* block) { scopes_.push_back({block, {}, {}}); }
void TileBuilder::Pop() { scopes_.pop_back(); }

Op* TileBuilder::Append(OpKind kind, std::vector<Id> operands, const std::vector<Type>& results) {
  Op* op = program_->NewOp(kind, std::move(operands), results);
  op->ordinal = ordinal_;
  scopes_.back().block->ops.push_back(op);
  return op;
}

Id TileBuilder::Pure(OpKind kind, std::vector<Id> operands, Type result,
                     const std::function<void(Op*)>& set) {
  Op probe;
  probe.kind = kind;
  probe.operands = operands;
  if (set) set(&probe);
  std::string key = KeyOf(probe, result);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->known.find(key);
    if (found != scope->known.end()) return found->second;
  }
  Op* op = Append(kind, std::move(operands), {result});
  if (set) set(op);
  scopes_.back().known.emplace(std::move(key), op->results[0]);
  return op->results[0];
}

Id TileBuilder::Recall(const std::string& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->remembered.find(key);
    if (found != scope->remembered.end()) return found->second;
  }
  return kNoId;
}

const ScalarValue* TileBuilder::ConstantOf(Id id) const {
  const Op* op = program_->definition(id);
  return op != nullptr && op->kind == OpKind::kConst ? &op->constant : nullptr;
}

std::optional<int64_t> TileBuilder::IndexConstant(Id id) const {
  const ScalarValue* value = ConstantOf(id);
  if (value == nullptr || value->dtype != DType::kIndex || lanes(id) != 1) return std::nullopt;
  return static_cast<int64_t>(value->bits);
}

bool TileBuilder::IsIndex(Id id, int64_t value) const { return IndexConstant(id) == value; }

Id TileBuilder::Const(const ScalarValue& value) {
  return Pure(OpKind::kConst, {}, Type::Scalar(value.dtype), [&](Op* op) { op->constant = value; });
}

Id TileBuilder::Index(int64_t value) {
  return Const({DType::kIndex, static_cast<uint64_t>(value)});
}
Id TileBuilder::Bool(bool value) { return Const({DType::kBool, value ? 1u : 0u}); }

Id TileBuilder::ViewBase(int view) {
  return Pure(OpKind::kViewBase, {}, Type::Mem(program_->views[view].dtype),
              [&](Op* op) { op->index = view; });
}
Id TileBuilder::ViewExtent(int view, int axis) {
  return Pure(OpKind::kViewExtent, {}, Type::Scalar(DType::kIndex), [&](Op* op) {
    op->index = view;
    op->axis = axis;
  });
}
Id TileBuilder::ViewStride(int view, int axis) {
  return Pure(OpKind::kViewStride, {}, Type::Scalar(DType::kIndex), [&](Op* op) {
    op->index = view;
    op->axis = axis;
  });
}
Id TileBuilder::ScalarArg(int index) {
  return Pure(OpKind::kScalarArg, {}, Type::Scalar(program_->scalars[index]),
              [&](Op* op) { op->index = index; });
}
Id TileBuilder::Overlap(int a, int b) {
  return Pure(OpKind::kOverlap, {}, Type::Scalar(DType::kBool), [&](Op* op) {
    op->index = std::min(a, b);
    op->axis = std::max(a, b);
  });
}
Id TileBuilder::SameView(int a, int b) {
  return Pure(OpKind::kSameView, {}, Type::Scalar(DType::kBool), [&](Op* op) {
    op->index = std::min(a, b);
    op->axis = std::max(a, b);
  });
}

Id TileBuilder::Alloc(DType dtype, Id count) {
  return Append(OpKind::kAlloc, {count}, {Type::Mem(dtype)})->results[0];
}
Id TileBuilder::StackAlloc(DType dtype, int64_t count) {
  Op* op = Append(OpKind::kStackAlloc, {}, {Type::Mem(dtype)});
  op->index = count;
  return op->results[0];
}
Id TileBuilder::MemOffset(Id mem, Id elements) {
  if (IsIndex(elements, 0)) return mem;
  return Pure(OpKind::kMemOffset, {mem, elements}, type(mem));
}

Id TileBuilder::MemCast(Id mem, DType dtype) {
  if (type(mem).dtype == dtype) return mem;
  return Pure(OpKind::kMemCast, {mem}, Type::Mem(dtype));
}

Id TileBuilder::AtomicLoad(Id mem, Id offset, MemoryOrder order) {
  Op* op = Append(OpKind::kAtomicLoad, {mem, offset}, {Type::Scalar(type(mem).dtype)});
  op->order = order;
  return op->results[0];
}
void TileBuilder::AtomicStore(Id mem, Id offset, Id value, MemoryOrder order) {
  Append(OpKind::kAtomicStore, {mem, offset, value}, {})->order = order;
}
Id TileBuilder::AtomicRmw(RmwKind kind, Id mem, Id offset, Id value, MemoryOrder order) {
  Op* op = Append(OpKind::kAtomicRmw, {mem, offset, value}, {Type::Scalar(type(mem).dtype)});
  op->rmw = kind;
  op->order = order;
  return op->results[0];
}
TileBuilder::Exchanged TileBuilder::AtomicCas(Id mem, Id offset, Id expected, Id desired,
                                              MemoryOrder order) {
  Op* op = Append(OpKind::kAtomicCas, {mem, offset, expected, desired},
                  {Type::Scalar(type(mem).dtype), Type::Scalar(DType::kBool)});
  op->order = order;
  return {op->results[0], op->results[1]};
}

Id TileBuilder::Load(Id mem, Id offset, int32_t lanes, Id stride, Id mask, Id fill) {
  std::vector<Id> operands{mem, offset};
  const std::optional<int64_t> fixed = lanes == 1 ? 0 : IndexConstant(stride);
  if (!fixed) operands.push_back(stride);
  if (mask != kNoId) operands.push_back(Splat(mask, lanes));
  if (fill != kNoId) operands.push_back(Splat(fill, lanes));
  Op* op = Append(OpKind::kLoad, std::move(operands), {Type::Tile(type(mem).dtype, lanes)});
  op->has_stride = !fixed;
  op->has_mask = mask != kNoId;
  op->has_fill = fill != kNoId;
  op->index = fixed.value_or(0);
  return op->results[0];
}

void TileBuilder::Store(Id mem, Id offset, Id value, Id stride, Id mask) {
  const int32_t count = mask == kNoId ? lanes(value) : std::max(lanes(value), lanes(mask));
  std::vector<Id> operands{mem, offset, Splat(value, count)};
  const std::optional<int64_t> fixed = count == 1 ? 0 : IndexConstant(stride);
  if (!fixed) operands.push_back(stride);
  if (mask != kNoId) operands.push_back(Splat(mask, count));
  Op* op = Append(OpKind::kStore, std::move(operands), {});
  op->has_stride = !fixed;
  op->has_mask = mask != kNoId;
  op->index = fixed.value_or(0);
}

Id TileBuilder::Gather(Id mem, Id offsets, Id mask, Id fill) {
  const int32_t count = lanes(offsets);
  std::vector<Id> operands{mem, offsets};
  if (mask != kNoId) operands.push_back(Splat(mask, count));
  if (fill != kNoId) operands.push_back(Splat(fill, count));
  Op* op = Append(OpKind::kGather, std::move(operands), {Type::Tile(type(mem).dtype, count)});
  op->has_mask = mask != kNoId;
  op->has_fill = fill != kNoId;
  return op->results[0];
}

void TileBuilder::Scatter(Id mem, Id offsets, Id value, Id mask) {
  const int32_t count = lanes(offsets);
  std::vector<Id> operands{mem, offsets, Splat(value, count)};
  if (mask != kNoId) operands.push_back(Splat(mask, count));
  Append(OpKind::kScatter, std::move(operands), {})->has_mask = mask != kNoId;
}

Id TileBuilder::Splat(Id scalar, int32_t count) {
  if (count == lanes(scalar)) return scalar;
  INTENT_CHECK(lanes(scalar) == 1) << "splat of a tile";
  if (const ScalarValue* constant = ConstantOf(scalar)) {
    return Pure(OpKind::kConst, {}, Type::Tile(constant->dtype, count),
                [&](Op* op) { op->constant = *constant; });
  }
  return Pure(OpKind::kSplat, {scalar}, Type::Tile(type(scalar).dtype, count));
}

Id TileBuilder::Iota(int32_t count) {
  if (count == 1) return Index(0);
  return Pure(OpKind::kIota, {}, Type::Tile(DType::kIndex, count));
}

void TileBuilder::Match(Id* a, Id* b) {
  const int32_t count = std::max(lanes(*a), lanes(*b));
  *a = Splat(*a, count);
  *b = Splat(*b, count);
}

Id TileBuilder::Unary(UnaryKind kind, Id x, bool approximate, bool flush_to_zero) {
  if (kind == UnaryKind::kNot && type(x).dtype == DType::kBool && lanes(x) == 1) {
    if (const ScalarValue* constant = ConstantOf(x)) return Bool(constant->bits == 0);
  }
  return Pure(OpKind::kUnary, {x}, type(x), [&](Op* op) {
    op->unary = kind;
    op->approximate = approximate;
    op->flush_to_zero = flush_to_zero;
  });
}

Id TileBuilder::Binary(BinaryKind kind, Id a, Id b, bool approximate, bool flush_to_zero) {
  if (lanes(a) == 1 && lanes(b) == 1 && type(a).dtype == DType::kIndex) {
    const auto x = IndexConstant(a), y = IndexConstant(b);
    if (x && y) {
      if (const auto folded = FoldIndex(kind, *x, *y)) return Index(*folded);
    }
    if (kind == BinaryKind::kAdd && x == 0) return b;
    if ((kind == BinaryKind::kAdd || kind == BinaryKind::kSub) && y == 0) return a;
    if (kind == BinaryKind::kMul && (x == 0 || y == 0)) return Index(0);
    if (kind == BinaryKind::kMul && x == 1) return b;
    if ((kind == BinaryKind::kMul || kind == BinaryKind::kFloorDiv) && y == 1) return a;
    if (kind == BinaryKind::kMod && y == 1) return Index(0);
    if ((kind == BinaryKind::kMinimum || kind == BinaryKind::kMaximum) && a == b) return a;
    if (kind == BinaryKind::kSub && a == b) return Index(0);
  }
  if (lanes(a) == 1 && lanes(b) == 1 && type(a).dtype == DType::kBool) {
    for (Id side : {a, b}) {
      const ScalarValue* constant = ConstantOf(side);
      if (constant == nullptr) continue;
      const Id other = side == a ? b : a;
      if (kind == BinaryKind::kAnd) return constant->bits ? other : side;
      if (kind == BinaryKind::kOr) return constant->bits ? side : other;
    }
  }
  Match(&a, &b);
  return Pure(OpKind::kBinary, {a, b}, type(a), [&](Op* op) {
    op->binary = kind;
    op->approximate = approximate;
    op->flush_to_zero = flush_to_zero;
  });
}

Id TileBuilder::Rounded(BinaryKind kind, Id a, Id b) {
  Match(&a, &b);
  return Pure(OpKind::kBinary, {a, b}, type(a), [&](Op* op) {
    op->binary = kind;
    op->rounds = true;
  });
}

Id TileBuilder::RoundedProduct(Id x) {
  const Op* op = program_->definition(x);
  if (op == nullptr || op->kind != OpKind::kBinary || op->binary != BinaryKind::kMul ||
      !IsFloat(type(x).dtype)) {
    return x;
  }
  return Rounded(BinaryKind::kMul, op->operands[0], op->operands[1]);
}

Id TileBuilder::Compare(CompareKind kind, Id a, Id b) {
  if (lanes(a) == 1 && lanes(b) == 1) {
    const auto x = IndexConstant(a), y = IndexConstant(b);
    if (x && y) {
      switch (kind) {
        case CompareKind::kEq:
          return Bool(*x == *y);
        case CompareKind::kNe:
          return Bool(*x != *y);
        case CompareKind::kLt:
          return Bool(*x < *y);
        case CompareKind::kLe:
          return Bool(*x <= *y);
        case CompareKind::kGt:
          return Bool(*x > *y);
        case CompareKind::kGe:
          return Bool(*x >= *y);
      }
    }
  }
  Match(&a, &b);
  return Pure(OpKind::kCompare, {a, b}, Type::Tile(DType::kBool, lanes(a)),
              [&](Op* op) { op->compare = kind; });
}

Id TileBuilder::Fma(Id a, Id b, Id c) {
  const int32_t count = std::max({lanes(a), lanes(b), lanes(c)});
  a = Splat(a, count), b = Splat(b, count), c = Splat(c, count);
  return Pure(OpKind::kFma, {a, b, c}, type(a));
}

Id TileBuilder::Select(Id condition, Id a, Id b) {
  if (a == b) return a;
  if (lanes(condition) == 1) {
    if (const ScalarValue* constant = ConstantOf(condition)) return constant->bits ? a : b;
  }
  if (!type(a).IsMem()) {
    const int32_t count = std::max({lanes(condition), lanes(a), lanes(b)});
    condition = Splat(condition, count), a = Splat(a, count), b = Splat(b, count);
  }
  return Pure(OpKind::kSelect, {condition, a, b}, type(a));
}

Id TileBuilder::Cast(Id x, DType dtype) {
  if (type(x).dtype == dtype) return x;
  return Pure(OpKind::kCast, {x}, Type::Tile(dtype, lanes(x)));
}
Id TileBuilder::SaturatingCast(Id x, DType dtype) {
  // Not for narrow floats, whose infinities clamp in their own format too.
  const bool clamps = IsFloat(dtype) && dtype != DType::kF32 && dtype != DType::kF64;
  if (type(x).dtype == dtype && !clamps) return x;
  return Pure(OpKind::kSaturatingCast, {x}, Type::Tile(dtype, lanes(x)));
}
Id TileBuilder::Bitcast(Id x, DType dtype) {
  if (type(x).dtype == dtype) return x;
  return Pure(OpKind::kBitcast, {x}, Type::Tile(dtype, lanes(x)));
}

Id TileBuilder::Bounded(Id extent, Id most) {
  if (IndexConstant(extent) || extent == most) return extent;
  return Pure(OpKind::kBounded, {extent, most}, type(extent));
}

Id TileBuilder::Shuffle(Id tile, std::vector<int32_t> order) {
  const Type result = Type::Tile(type(tile).dtype, static_cast<int32_t>(order.size()));
  return Pure(OpKind::kShuffle, {tile}, result, [&](Op* op) { op->lanes = order; });
}
Id TileBuilder::ExtractLane(Id tile, int lane) {
  if (lanes(tile) == 1) return tile;
  return Pure(OpKind::kExtractLane, {tile}, Type::Scalar(type(tile).dtype),
              [&](Op* op) { op->index = lane; });
}
Id TileBuilder::ReduceLanes(CombineKind kind, Id tile) {
  if (lanes(tile) == 1) return tile;
  return Pure(OpKind::kReduceLanes, {tile}, Type::Scalar(type(tile).dtype),
              [&](Op* op) { op->combine = kind; });
}

std::vector<Id> TileBuilder::For(Id lo, Id hi, Id step, const std::vector<Id>& inits,
                                 const Body& body) {
  std::vector<Id> operands{lo, hi, step};
  std::vector<Type> types;
  for (Id init : inits) {
    operands.push_back(init);
    types.push_back(type(init));
  }
  Op* op = Append(OpKind::kFor, std::move(operands), types);
  Block* block = op->regions[0].get();
  std::vector<Id> arguments{program_->NewArgument(block, Type::Scalar(DType::kIndex))};
  for (const Type& carried : types) arguments.push_back(program_->NewArgument(block, carried));
  Push(block);
  std::vector<Id> yields = body(arguments);
  INTENT_CHECK(yields.size() == types.size()) << "for carries";
  for (size_t i = 0; i < yields.size(); ++i)
    yields[i] = types[i].IsMem() ? yields[i] : Splat(yields[i], types[i].lanes);
  Append(OpKind::kYield, std::move(yields), {});
  Pop();
  return op->results;
}

std::vector<Id> TileBuilder::While(const std::vector<Id>& inits,
                                   const std::function<Id(const std::vector<Id>&)>& condition,
                                   const Body& body) {
  std::vector<Type> types;
  for (Id init : inits) types.push_back(type(init));
  Op* op = Append(OpKind::kWhile, inits, types);
  for (int region = 0; region < 2; ++region) {
    Block* block = op->regions[region].get();
    std::vector<Id> arguments;
    for (const Type& carried : types) arguments.push_back(program_->NewArgument(block, carried));
    Push(block);
    std::vector<Id> yields = region == 0 ? std::vector<Id>{condition(arguments)} : body(arguments);
    Append(OpKind::kYield, std::move(yields), {});
    Pop();
  }
  return op->results;
}

std::vector<Id> TileBuilder::If(Id condition, const std::function<std::vector<Id>()>& then_body,
                                const std::function<std::vector<Id>()>& else_body) {
  // The result types are known only after the first arm is built.
  Op* op = Append(OpKind::kIf, {condition}, {});
  std::vector<std::vector<Id>> yields(2);
  for (int region = 0; region < 2; ++region) {
    Push(op->regions[region].get());
    yields[region] = region == 0 ? then_body() : else_body();
    Pop();
  }
  INTENT_CHECK(yields[0].size() == yields[1].size()) << "if yields";
  std::vector<Type> types;
  for (size_t i = 0; i < yields[0].size(); ++i) {
    Type result = type(yields[0][i]);
    result.lanes = std::max(result.lanes, lanes(yields[1][i]));
    types.push_back(result);
  }
  for (int region = 0; region < 2; ++region) {
    Push(op->regions[region].get());
    for (size_t i = 0; i < types.size(); ++i) {
      if (!types[i].IsMem()) yields[region][i] = Splat(yields[region][i], types[i].lanes);
    }
    Append(OpKind::kYield, std::move(yields[region]), {});
    Pop();
  }
  program_->AddResults(op, types);
  return op->results;
}

void TileBuilder::If(Id condition, const std::function<void()>& then_body) {
  if (const ScalarValue* constant = ConstantOf(condition)) {
    if (constant->bits) then_body();
    return;
  }
  If(
      condition,
      [&] {
        then_body();
        return std::vector<Id>{};
      },
      [] { return std::vector<Id>{}; });
}

void TileBuilder::Parallel(Id lo, Id hi, Id grain, const std::function<void(Id, Id)>& body) {
  Op* op = Append(OpKind::kParallel, {lo, hi, grain}, {});
  Block* block = op->regions[0].get();
  const Id begin = program_->NewArgument(block, Type::Scalar(DType::kIndex));
  const Id end = program_->NewArgument(block, Type::Scalar(DType::kIndex));
  Push(block);
  body(begin, end);
  Append(OpKind::kYield, {}, {});
  Pop();
}

void TileBuilder::Contract(Id points, Id rows, Id columns, Id depth, DType sums,
                           const ContractBodies& bodies) {
  Op* op = Append(OpKind::kContract, {points, rows, columns, depth}, {});
  for (size_t region = 0; region < op->regions.size(); ++region) {
    Block* block = op->regions[region].get();
    std::vector<Id> at;
    for (int i = 0; i < 3; ++i)
      at.push_back(program_->NewArgument(block, Type::Scalar(DType::kIndex)));
    Push(block);
    std::vector<Id> yields;
    if (region == 2) {
      bodies.store(at[0], at[1], at[2], program_->NewArgument(block, Type::Scalar(sums)));
    } else {
      yields.push_back((region == 0 ? bodies.left : bodies.right)(at[0], at[1], at[2]));
    }
    Append(OpKind::kYield, std::move(yields), {});
    Pop();
  }
}

void TileBuilder::Guard(Id condition, Id value, Id limit, int32_t status, int32_t parameter,
                        int32_t axis) {
  if (const ScalarValue* constant = ConstantOf(condition); constant != nullptr && constant->bits)
    return;
  Op* op = Append(OpKind::kGuard, {condition, value, limit}, {});
  op->status = status;
  op->index = parameter;
  op->axis = axis;
}

void TileBuilder::Poll() { Append(OpKind::kPoll, {}, {}); }

void TileBuilder::Fence() {
  const std::vector<Op*>& ops = scopes_.back().block->ops;
  if (!ops.empty() && ops.back()->kind == OpKind::kFence) return;
  Append(OpKind::kFence, {}, {});
}

}  // namespace intent::tile
