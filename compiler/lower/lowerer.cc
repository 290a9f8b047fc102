#include "compiler/lower/lowerer.h"

#include "compiler/diag/check.h"
#include "compiler/driver/intent_call.h"
#include "compiler/plan/arithmetic.h"
#include "compiler/plan/describe.h"
#include "compiler/plan/reshape.h"
#include "compiler/tile/fuse_multiply_add.h"
#include "compiler/tile/idle_memory.h"

namespace intent::lower {

namespace {

constexpr int64_t kSmallProduct = 256;  // elements of a result that is not worth a block

}  // namespace

bool Lowerer::ContractsInside(const Op& op) const {
  bool found = false;
  for (const auto& region : op.regions) {
    ForEachOp(*region, [&](const Op& inner) {
      if (!plan::IsContraction(inner)) return;
      const Extent count = ElementCount(ResultType(inner).shape());
      found |= !count.IsConstant() || count.constant() > kSmallProduct;
    });
  }
  return found;
}

Lowerer::Lowerer(const Module& module, const LowerOptions& options, const plan::TiledLoops& loops)
    : function_(module.kernel_function()),
      options_(options),
      loops_(loops),
      plan_(plan::MakePlan(function_, {.materialize_all = options.materialize_all,
                                       .row_groups = options.row_groups,
                                       .recompute = options.block_threads > 0})),
      ranges_(module, function_) {
  for (const auto& [loop, tiles] : loops_.tiles) {
    tile_values_[tiles.tiles] = tile_values_[tiles.tile] = &tiles;
    if (tiles.meet != kNoValue) tile_values_[tiles.meet] = &tiles;
  }
}

Lowered Lowerer::Run() {
  program_ = std::make_unique<tile::Program>();
  for (const Parameter& parameter : function_.parameters) {
    if (parameter.type.IsView()) {
      program_->views.push_back({parameter.type.dtype(), parameter.type.rank(),
                                 parameter.type.access() != Access::kOut,
                                 parameter.type.access() != Access::kIn});
    } else {
      program_->scalars.push_back(parameter.type.dtype());
    }
  }
  builder_ = std::make_unique<tile::TileBuilder>(program_.get());
  conditions_.dense_rows = options_.row_tiles > 0;
  report_ = plan::Describe(plan_, function_);
  BindParameters();
  LowerBlock(function_.body);
  if (options_.fuse_multiply_add) tile::FuseMultiplyAdd(program_.get());
  if (options_.row_tiles > 0) {
    tile::RemoveUnreadMemory(program_.get());
    tile::RemoveIdleFences(program_.get());
  }
  ReportBounds();
  if (contiguous_variants_ > 0) {
    report_.push_back({ReportTopic::kLoops, kNoOrdinal,
                       std::to_string(contiguous_variants_) +
                           " loops in two variants: contiguous, chosen at the call, and strided"});
  }
  return Lowered{std::move(program_), std::move(report_), std::move(row_extents_),
                 std::move(conditions_), held_rows_};
}

Id Lowerer::StrideOf(int view, int axis) {
  const bool last = axis + 1 == program_->views[static_cast<size_t>(view)].rank;
  return conditions_.dense_rows && last ? b().Index(1) : b().ViewStride(view, axis);
}

void Lowerer::BindParameters() {
  symbols_.assign(function_.symbol_count, kNoId);
  int view = 0, scalar = 0;
  for (size_t i = 0; i < function_.parameters.size(); ++i) {
    const Parameter& parameter = function_.parameters[i];
    const ValueId value = function_.body.arguments[i];
    if (!parameter.type.IsView()) {
      Bind(value, Binding::Scalar(b().ScalarArg(scalar++)));
      continue;
    }
    auto resource = std::make_shared<Resource>();
    resource->origin = {MemoryOrigin::Kind::kView, view, kNoValue};
    resource->base = b().ViewBase(view);
    resource->dtype = parameter.type.dtype();
    for (int axis = 0; axis < parameter.type.rank(); ++axis) {
      const Extent& extent = parameter.type.shape()[axis];
      resource->strides.push_back(StrideOf(view, axis));
      // A symbol is read where it first stands; the caller has checked that equal symbols agree.
      extent.ForEachLeaf([&](AtomKind kind, uint32_t symbol) {
        if (kind == AtomKind::kSymbol && extent == Extent::Symbol(symbol) &&
            symbols_[symbol] == kNoId) {
          symbols_[symbol] = b().ViewExtent(view, axis);
        }
      });
    }
    view_params_.push_back(&parameter);
    Binding binding;
    binding.kind = Binding::Kind::kResource;
    binding.resource = std::move(resource);
    Bind(value, std::move(binding));
    ++view;
  }
  for (size_t i = 0; i < function_.parameters.size(); ++i) {
    if (!function_.parameters[i].type.IsView()) continue;
    bindings_[function_.body.arguments[i]].resource->extents =
        ExtentIds(function_.parameters[i].type.shape());
  }
}

void Lowerer::Report(const Op& op, ReportTopic topic, const std::string& text) {
  report_.push_back({topic, op.ordinal, plan::Label(op) + ": " + text});
}

std::string Lowerer::Tasks(bool divisible) const {
  if (divisible && HasParts()) return ", split among the warps of its task";
  if (in_parallel_ && OnUnits()) return ", by the threads of its task";
  if (in_parallel_) return ", on one thread: it is inside a task";
  return options_.parallel ? ", split among tasks" : ", on one thread: parallel is off";
}

void Lowerer::Fence() {
  if (OnUnits()) b().Fence();
}

void Lowerer::Alone(const std::function<void()>& body) {
  if (!OnUnits() || in_parallel_) return body();
  in_parallel_ = true;
  b().Parallel(b().Index(0), b().Index(1), b().Index(1), [&](Id, Id) { body(); });
  in_parallel_ = false;
}

Id Lowerer::ZeroOf(DType dtype) { return b().Const({dtype, 0}); }

TensorPtr Lowerer::NewLazy(const Op& op, std::vector<Binding> operands) {
  auto tensor = std::make_shared<Tensor>();
  tensor->serial = ++serials_;
  const Type& type = ResultType(op);
  tensor->dtype = type.dtype();
  tensor->extents = ExtentIds(type.shape());
  tensor->op = &op;
  tensor->operands = std::move(operands);
  return tensor;
}

TensorPtr Lowerer::NewStrided(DType dtype, std::vector<Id> extents, Id base,
                              std::vector<Id> strides, MemoryOrigin origin) {
  auto tensor = std::make_shared<Tensor>();
  tensor->serial = ++serials_;
  tensor->dtype = dtype;
  tensor->extents = std::move(extents);
  tensor->strided = true;
  tensor->base = base;
  tensor->strides = std::move(strides);
  tensor->origin = origin;
  return tensor;
}

TensorPtr Lowerer::NewComputed(
    DType dtype, std::vector<Id> extents, std::vector<Binding> operands,
    std::vector<std::vector<int>> follows,
    std::function<Id(const std::vector<Coord>&, const Context&)> element) {
  auto tensor = std::make_shared<Tensor>();
  tensor->serial = ++serials_;
  tensor->dtype = dtype;
  tensor->extents = std::move(extents);
  tensor->operands = std::move(operands);
  tensor->computed =
      std::make_shared<const Computed>(Computed{std::move(element), std::move(follows)});
  return tensor;
}

TensorPtr Lowerer::AllocateDense(DType dtype, const std::vector<Id>& extents) {
  return NewStrided(dtype, extents, b().Alloc(dtype, Count(extents)), DenseStrides(extents), {});
}

// The value of a scalar, or the one element of a rank-0 tensor.
Id Lowerer::Scalar(ValueId value) { return Eval(Of(value), {}, {}); }

void Lowerer::LowerBlock(const Block& block) {
  const Block* outer_block = block_;
  const size_t outer_position = position_;
  const size_t outer_pending = pending_.size();
  const size_t outer_begin = pending_begin_;
  const bool outer_parts = parts_;
  pending_begin_ = outer_pending;
  block_ = &block;
  for (position_ = 0; position_ < block.ops.size();) {
    b().SetOrdinal(block.ops[position_]->ordinal);
    if (!in_parallel_)
      parts_ = OnUnits() && options_.parallel && ContractsInside(*block.ops[position_]);
    size_t next = position_ + 1;
    if (LowerGroup(block, position_, &next)) {
      position_ = next;
      continue;
    }
    LowerOp(*block.ops[position_]);
    ++position_;
  }
  pending_.resize(outer_pending);
  pending_begin_ = outer_begin;
  parts_ = outer_parts;
  block_ = outer_block;
  position_ = outer_position;
}

void Lowerer::LowerOp(const Op& op) {
  MaterializePending(op);
  switch (op.kind) {
    case OpKind::kConstant:
    case OpKind::kDim:
    case OpKind::kDomain:
    case OpKind::kDomainProduct:
    case OpKind::kSubregion:
    case OpKind::kIndices:
    case OpKind::kRegionEnd:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kBroadcast:
    case OpKind::kFull:
    case OpKind::kJoin:
    case OpKind::kMakeTuple:
    case OpKind::kMakeRecord:
    case OpKind::kExtract:
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kMask:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
    case OpKind::kGather:
    case OpKind::kRandomBits:
      LowerPure(op);
      return;
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad:
      Bind(op.result, LowerLoad(op, op.attr<IndexAttr>()));
      if (plan_.materialize.contains(op.result) && Of(op.result).kind == Binding::Kind::kTensor) {
        Materialize(Of(op.result).tensor, {});
      }
      return;
    case OpKind::kViewStore:
    case OpKind::kBufferStore:
      LowerStore(op, op.attr<IndexAttr>());
      return;
    case OpKind::kBuffer: {
      const Type& type = ResultType(op);
      auto resource = std::make_shared<Resource>();
      resource->origin = {MemoryOrigin::Kind::kBuffer, -1, op.result};
      resource->dtype = type.dtype();
      resource->extents = ExtentIds(type.shape());
      resource->strides = DenseStrides(resource->extents);
      const Extent count = ElementCount(type.shape());
      const int64_t bytes = StorageBytes(type.dtype());
      resource->base = count.IsConstant() && count.constant() <= 4096 / bytes
                           ? b().StackAlloc(type.dtype(), std::max<int64_t>(count.constant(), 1))
                           : b().Alloc(type.dtype(), Count(resource->extents));
      if (!op.operands.empty()) {
        StoreStage(Of(op.operands[0]), resource->extents, resource->base, resource->strides, {},
                   true);
      }
      Binding binding;
      binding.kind = Binding::Kind::kResource;
      binding.resource = std::move(resource);
      Bind(op.result, std::move(binding));
      return;
    }
    case OpKind::kAssumeInBounds:
      assumed_.insert({op.operands[0], op.operands[1], op.attr<AxisAttr>().axis.value});
      return;
    case OpKind::kReduce:
      LowerReduce(op);
      return;
    case OpKind::kScan:
      LowerScan(op);
      return;
    case OpKind::kContract:
      LowerContract(op);
      return;
    case OpKind::kScaledContract:
      LowerScaledContract(op);
      return;
    case OpKind::kSparseContract:
      LowerSparseContract(op);
      return;
    case OpKind::kHistogram:
      LowerHistogram(op);
      return;
    case OpKind::kQuantize:
      LowerQuantize(op);
      return;
    case OpKind::kQuantizedDot:
      LowerQuantizedDot(op);
      return;
    case OpKind::kScatterUnique:
      LowerScatterUnique(op);
      return;
    case OpKind::kScatterReduce:
      LowerScatterReduce(op);
      return;
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
    case OpKind::kAtomicCas:
      LowerAtomic(op);
      return;
    case OpKind::kIf:
      LowerIf(op);
      return;
    case OpKind::kFor:
      LowerFor(op);
      return;
    case OpKind::kWhile:
      LowerWhile(op);
      return;
    case OpKind::kParallel:
      LowerParallel(op);
      return;
    case OpKind::kYield:
    case OpKind::kReturn:
      return;
    case OpKind::kConstexpr:
    case OpKind::kConstexprIf:
    case OpKind::kCall:
      INTENT_UNREACHABLE() << "specialisation leaves no " << InfoOf(op.kind).name;
      return;
    case OpKind::kRegionFold:
      LowerRegionFold(op);
      return;
    case OpKind::kRegionScan:
      LowerRegionScan(op);
      return;
  }
}

void Lowerer::LowerPure(const Op& op) {
  const Type& type = ResultType(op);
  switch (op.kind) {
    case OpKind::kConstant: {
      const auto tiles = tile_values_.find(op.result);
      Bind(op.result,
           Binding::Scalar(tiles == tile_values_.end() ? b().Const(op.attr<ConstantAttr>().value)
                                                       : TilesMeet(*tiles->second)));
      return;
    }
    case OpKind::kDim: {
      const Type& source = TypeOf(op.operands[0]);
      Bind(op.result, Binding::Scalar(ExtentId(source.shape()[op.attr<AxisAttr>().axis.value])));
      return;
    }
    case OpKind::kDomain: {
      Binding binding;
      binding.kind = Binding::Kind::kDomain;
      if (const std::optional<DomainAxis> tile = TileDomain(op)) {
        binding.domain = {*tile};
        Bind(op.result, std::move(binding));
        return;
      }
      DomainAxis axis;
      axis.begin = Scalar(op.operands[0]);
      axis.step = Scalar(op.operands[2]);
      b().Guard(b().Less(b().Index(0), axis.step), axis.step, b().Index(0), INTENT_BAD_STEP, -1,
                -1);
      // An extent is counted in index: what spans more has none.
      if (!ranges_.ExtentOf(op.operands[0]).ProvablyNonNegative()) {
        const Id end = Scalar(op.operands[1]);
        const Id span = b().Sub(end, axis.begin);
        b().Guard(b().Or(b().LessEqual(end, axis.begin), b().Less(b().Index(0), span)), axis.begin,
                  end, INTENT_BAD_STEP, -1, -1);
      }
      axis.extent = ExtentId(type.shape()[0]);
      axis.value = op.result;
      binding.domain = {axis};
      Bind(op.result, std::move(binding));
      return;
    }
    case OpKind::kSubregion: {
      const SubregionAttr& attr = op.attr<SubregionAttr>();
      DomainAxis axis = Of(op.operands[0]).domain[0];
      const Id begin = axis.begin;
      const Id end = b().Add(begin, b().Mul(axis.extent, axis.step));
      Id start = begin, stop = end;
      size_t next = 1;
      if (attr.has_start) start = Scalar(op.operands[next++]);
      if (attr.has_stop) stop = Scalar(op.operands[next]);
      b().Guard(b().LessEqual(begin, start), start, begin, INTENT_BAD_STEP, -1, -1);
      b().Guard(b().LessEqual(start, stop), start, stop, INTENT_BAD_STEP, -1, -1);
      b().Guard(b().LessEqual(stop, end), stop, end, INTENT_BAD_STEP, -1, -1);
      axis.begin = start;
      axis.extent = BoundExtent(type.shape()[0], ExtentId(type.shape()[0]), axis.extent);
      axis.value = op.result;
      Binding binding;
      binding.kind = Binding::Kind::kDomain;
      binding.domain = {axis};
      Bind(op.result, std::move(binding));
      return;
    }
    case OpKind::kDomainProduct: {
      Binding binding;
      binding.kind = Binding::Kind::kDomain;
      for (ValueId operand : op.operands) {
        for (const DomainAxis& axis : Of(operand).domain) binding.domain.push_back(axis);
      }
      Bind(op.result, std::move(binding));
      return;
    }
    case OpKind::kRegionEnd: {
      const DomainAxis& axis = Of(op.operands[0]).domain[0];
      const Op* source = function_.value(axis.value).op;
      // The exclusive end as written, which a step may not reach exactly.
      Id end = b().Add(axis.begin, b().Mul(axis.extent, axis.step));
      if (source->kind == OpKind::kDomain) end = Scalar(source->operands[1]);
      if (source->kind == OpKind::kSubregion && source->attr<SubregionAttr>().has_stop) {
        end = Scalar(source->operands.back());
      }
      Bind(op.result, Binding::Scalar(end));
      return;
    }
    case OpKind::kMakeTuple:
    case OpKind::kMakeRecord: {
      std::vector<Binding> fields;
      for (ValueId operand : op.operands) fields.push_back(Of(operand));
      Bind(op.result, Binding::Product(std::move(fields)));
      return;
    }
    case OpKind::kExtract:
      Bind(op.result, Of(op.operands[0]).fields[op.attr<AxisAttr>().axis.value]);
      return;
    default:
      break;
  }
  std::vector<Binding> operands;
  for (ValueId operand : op.operands) operands.push_back(Of(operand));
  if (type.IsScalar()) {
    if (op.kind == OpKind::kGather) {
      Bind(op.result, LowerLoad(op, op.attr<IndexAttr>()));
      return;
    }
    std::vector<Id> ids;
    for (const Binding& operand : operands) ids.push_back(Eval(operand, {}, {}));
    Bind(op.result, Binding::Scalar(EvalPointwise(op, ids)));
    return;
  }
  // Merging axes of a lazy expression would need divisions per element; over dense memory it is
  // free.
  if (op.kind == OpKind::kReshape) {
    const std::vector<Extent>& from = TypeOf(op.operands[0]).shape();
    if (!(ElementCount(from) == ElementCount(type.shape()))) {
      const Id lhs = Count(ExtentIds(from)), rhs = Count(ExtentIds(type.shape()));
      b().Guard(b().Equal(lhs, rhs), lhs, rhs, INTENT_BAD_SHAPE, -1, -1);
      b().Guard(b().LessEqual(lhs, b().Index(kMostElements / 2)), lhs, rhs, INTENT_BAD_SHAPE, -1,
                -1);
      for (Id extent : ExtentIds(type.shape())) {
        b().Guard(b().LessEqual(b().Index(0), extent), extent, b().Index(0), INTENT_NEGATIVE_EXTENT,
                  -1, -1);
      }
    }
    if (!plan::SplitsOnly(from, type.shape()) && operands[0].kind == Binding::Kind::kTensor) {
      const TensorPtr dense = EnsureDense(operands[0]);
      const std::vector<Id> extents = ExtentIds(type.shape());
      Bind(op.result, Binding::OfTensor(NewStrided(type.dtype(), extents, dense->base,
                                                   DenseStrides(extents), {})));
      return;
    }
  }
  if (op.kind == OpKind::kFull) {
    for (const Extent& extent : type.shape()) {
      if (extent.ProvablyNonNegative()) continue;
      const Id id = ExtentId(extent);
      b().Guard(b().LessEqual(b().Index(0), id), id, b().Index(0), INTENT_NEGATIVE_EXTENT, -1, -1);
    }
  }
  if (op.kind == OpKind::kGather) {
    Bind(op.result, LowerLoad(op, op.attr<IndexAttr>()));
  } else {
    Bind(op.result, Binding::OfTensor(NewLazy(op, std::move(operands))));
  }
  if (plan_.materialize.contains(op.result)) Materialize(Of(op.result).tensor, {});
}

Lowered LowerToTiles(const Module& module, const LowerOptions& options) {
  bool has_points = false;
  ForEachOp(module.kernel_function().body,
            [&](const Op& op) { has_points |= op.kind == OpKind::kParallel; });
  if (!options.owned_axes || !options.parallel || !has_points) {
    return Lowerer(module, options, {}).Run();
  }
  const bool units = options.block_threads > 0;
  const int64_t rows = units ? kOwnedRowsOfUnits : kOwnedRows;
  const std::unique_ptr<Module> tiled = Clone(module);
  const plan::TiledLoops loops = plan::TileParallel(
      &tiled->kernel_function(),
      {.contractions = units, .rows = options.owned_rows > 0 ? options.owned_rows : rows});
  return Lowerer(*tiled, options, loops).Run();
}

}  // namespace intent::lower
