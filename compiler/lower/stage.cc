// Loops over iteration spaces, and the stages that end in memory.

#include <algorithm>

#include "compiler/lower/lowerer.h"
#include "compiler/tile/units.h"

namespace intent::lower {
namespace {

// Elements that one task should at least have: below, threads cost more than they bring.
constexpr int64_t kTaskElements = 1 << 14;
// On a unit of many threads a task is cheap; a few vectors of a block keep its memory busy.
constexpr int64_t kUnitTaskElements = 1 << 12;
constexpr int kPartAccess = 128;           // bits of a thread's access there
constexpr int64_t kPartElements = 1 << 7;  // least of what a warp takes of a task

}  // namespace

Id Lowerer::UnitCondition(const std::vector<Id>& watch) {
  Id unit = b().Bool(true);
  for (Id stride : watch) unit = b().And(unit, b().Equal(stride, b().Index(1)));
  return unit;
}

Id Lowerer::TailMask(Id at, Id high, int32_t lanes) {
  return b().Less(b().Iota(lanes), b().Splat(b().Sub(high, at), lanes));
}

void Lowerer::Finish(std::function<void()> rest) {
  if (deferred_ == nullptr) return rest();
  deferred_->push_back(std::move(rest));
}

bool Lowerer::IsOneTile(Id low, Id high, int32_t lanes) const {
  if (!in_part_ || lanes == 1 || !builder_->IsIndex(low, 0)) return false;
  const std::optional<int64_t> most = MostOf(high);
  return most && *most <= lanes;
}

// Where strides are known there is no variant to choose: a warp's full tiles pass by the mask's
// side that costs a test, and code is half as long.
bool Lowerer::IsMaskedThroughout(Id unit) const {
  const ScalarValue* known = builder_->ConstantOf(unit);
  return in_part_ && known != nullptr && known->bits == 1;
}

void Lowerer::VectorLoop(Id low, Id high, int32_t lanes, Id unit, const std::vector<Id>& watch,
                         const std::function<void(const Coord&, const Context&)>& body,
                         int32_t vectors) {
  if (lanes == 1) {
    b().For(low, high, b().Index(1), {}, [&](const std::vector<Id>& arguments) {
      body(CoordOf(arguments[0]), {});
      return std::vector<Id>{};
    });
    return;
  }
  if (HoldsRow(low, high, lanes)) return StoreHeldRow(high, lanes, body);
  if (IsOneTile(low, high, lanes)) {
    Coord coord;
    coord.base = low;
    coord.step = 1;
    Context context;
    context.lanes = lanes;
    context.mask = TailMask(low, high, lanes);
    context.guarded = true;
    return body(coord, context);
  }
  if (!OnUnits()) vectors = 1;
  const int64_t step = int64_t{lanes} * vectors;
  const Id count = b().Sub(high, low);
  const Id whole =
      IsMaskedThroughout(unit)
          ? b().Index(0)
          : b().Select(unit, b().Sub(count, b().Mod(count, b().Index(step))), b().Index(0));
  const Id middle = b().Add(low, whole);
  Coord coord;
  coord.step = 1;
  if (middle != low) {
    contiguous_variants_ += watch.empty() ? 0 : 1;
    b().For(low, middle, b().Index(step), {}, [&](const std::vector<Id>& arguments) {
      Context context;
      context.lanes = lanes;
      context.unit = &watch;
      std::vector<std::function<void()>> rest;
      if (vectors > 1) deferred_ = &rest;
      for (int32_t vector = 0; vector < vectors; ++vector) {
        coord.base = b().Add(arguments[0], b().Index(int64_t{vector} * lanes));
        body(coord, context);
      }
      deferred_ = nullptr;
      for (const std::function<void()>& step : rest) step();
      return std::vector<Id>{};
    });
  }
  b().For(middle, high, b().Index(lanes), {}, [&](const std::vector<Id>& arguments) {
    coord.base = arguments[0];
    Context context;
    context.lanes = lanes;
    context.mask = TailMask(arguments[0], high, lanes);
    body(coord, context);
    return std::vector<Id>{};
  });
}

void Lowerer::ForEachPoint(const std::vector<Id>& extents, int vector_axis, int32_t lanes,
                           const std::vector<Id>& watch, const Window& window,
                           const PointBody& body, int32_t vectors) {
  const int rank = static_cast<int>(extents.size());
  if (rank == 0) {
    body({}, {});
    return;
  }
  const Id unit = UnitCondition(watch);
  std::vector<int> order;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != vector_axis) order.push_back(axis);
  }
  if (vector_axis >= 0) order.push_back(vector_axis);
  std::vector<Coord> coords(rank);
  const auto low = [&](int axis) {
    return axis == 0 && window.low != kNoId ? window.low : b().Index(0);
  };
  const auto high = [&](int axis) {
    return axis == 0 && window.high != kNoId ? window.high : extents[axis];
  };
  std::function<void(size_t)> nest = [&](size_t depth) {
    if (depth == order.size()) {
      body(coords, {});
      return;
    }
    const int axis = order[depth];
    if (axis == 0 && window.one && axis != vector_axis) {
      coords[axis] = CoordOf(window.low);
      nest(depth + 1);
      return;
    }
    if (depth + 1 == order.size()) {
      VectorLoop(
          low(axis), high(axis), vector_axis >= 0 ? lanes : 1, unit, watch,
          [&](const Coord& coord, const Context& context) {
            coords[axis] = coord;
            body(coords, context);
          },
          vectors);
      return;
    }
    b().For(low(axis), high(axis), b().Index(1), {}, [&](const std::vector<Id>& arguments) {
      if (depth == 0) b().Poll();
      coords[axis] = CoordOf(arguments[0]);
      nest(depth + 1);
      return std::vector<Id>{};
    });
  };
  nest(0);
}

void Lowerer::InParallel(Id extent, Id work, const std::function<void(const Window&)>& stage,
                         int64_t multiple, bool divisible) {
  const bool in_parts = divisible && HasParts();
  if (!options_.parallel || (in_parallel_ && !in_parts)) {
    stage({});
    return;
  }
  const int64_t elements = in_parts ? kPartElements : OnUnits() ? kUnitTaskElements : kTaskElements;
  Id grain =
      b().Add(b().FloorDiv(b().Index(elements - 1), b().Max(work, b().Index(1))), b().Index(1));
  if (multiple > 1) {
    const Id whole = b().FloorDiv(b().Add(grain, b().Index(multiple - 1)), b().Index(multiple));
    grain = b().Mul(whole, b().Index(multiple));
  }
  if (in_parts) return InParts(extent, grain, [&](Id begin, Id end) { stage({begin, end}); });
  in_parallel_ = true;
  row_begun_ = false;
  b().Parallel(b().Index(0), extent, grain, [&](Id begin, Id end) { stage({begin, end}); });
  in_parallel_ = false;
}

void Lowerer::InParts(Id extent, Id grain, const std::function<void(Id, Id)>& part) {
  in_part_ = true;
  b().Parallel(b().Index(0), extent, grain, part);
  in_part_ = false;
}

void Lowerer::EachElement(const std::vector<Id>& extents, const Window& window, bool parallel,
                          const PointBody& points, bool divisible) {
  if (!parallel || !options_.parallel || extents.empty()) {
    return ForEachPoint(extents, -1, 1, {}, window, points);
  }
  if (!OnUnits() || (in_parallel_ && !(divisible && HasParts()))) {
    return InParallel(extents[0], Product({extents.begin() + 1, extents.end()}),
                      [&](const Window& rows) { ForEachPoint(extents, -1, 1, {}, rows, points); });
  }
  InParallel(
      Product(extents), b().Index(kUnitTaskElements),
      [&](const Window& range) {
        b().For(range.low, range.high, b().Index(1), {}, [&](const std::vector<Id>& at) {
          points(Decode(at[0], extents), {});
          return std::vector<Id>{};
        });
      },
      1, divisible);
}

void Lowerer::WatchStrides(const Binding& value, const std::vector<SymbolicCoord>& coords,
                           std::vector<Id>* watch) {
  WalkLeaves(value, coords, [&](const TensorPtr& leaf, const std::vector<SymbolicCoord>& at) {
    if (!leaf->strided || at.empty() || at.back().lane != SymbolicCoord::Lane::kUnit) return;
    const Id stride = leaf->strides.back();
    if (b().IsIndex(stride, 1) || std::find(watch->begin(), watch->end(), stride) != watch->end())
      return;
    watch->push_back(stride);
  });
}

void Lowerer::CollectDTypes(const Binding& binding, std::vector<DType>* dtypes, int* budget) const {
  if (--*budget < 0) return;
  if (binding.kind == Binding::Kind::kProduct) {
    for (const Binding& field : binding.fields) CollectDTypes(field, dtypes, budget);
    return;
  }
  if (binding.kind != Binding::Kind::kTensor) return;
  dtypes->push_back(binding.tensor->dtype);
  for (const Binding& operand : binding.tensor->operands) CollectDTypes(operand, dtypes, budget);
}

// Lanes by the widest element that fills registers; narrow axes are left to scalar code.
int32_t Lowerer::LanesFor(const std::vector<DType>& dtypes, Id inner_extent, bool of_unit) {
  if (options_.vector_bits == 0) return 1;
  const ScalarValue* extent = b().ConstantOf(inner_extent);
  if (extent != nullptr && static_cast<int64_t>(extent->bits) < 4) return 1;
  int bits = 8;
  for (DType dtype : dtypes) {
    if (dtype == DType::kBool || dtype == DType::kIndex) continue;
    bits = std::max(bits, BitWidth(dtype));
  }
  if (OnUnits()) return UnitLanes(bits, inner_extent, of_unit);
  return std::max(options_.vector_bits / std::max(bits, 16), 1);
}

// A whole block's vectors, or a warp's where the extent is known to be short or warps share a task.
int32_t Lowerer::UnitLanes(int bits, Id inner_extent, bool of_unit) {
  const bool in_parts = in_part_ || (HasParts() && !of_unit);
  // A warp's part holds little else in registers.
  const int access = in_parts ? kPartAccess : options_.vector_bits;
  const int32_t own = std::clamp(access / std::max(bits, 16), 1, 8);
  const int32_t block = in_parts ? tile::kMostWarpLanes : options_.block_threads * own;
  std::optional<int64_t> most;
  if (in_parts || b().ConstantOf(inner_extent) != nullptr) most = MostOf(inner_extent);
  if (!most && in_parts) return tile::kWarpThreads * own;
  if (!most) {
    row_extents_.push_back(inner_extent);
    const int32_t row = options_.short_rows ? std::min(block, 32 * own) : block;
    if (options_.row_tiles > 0) {
      conditions_.rows.push_back({inner_extent, int64_t{row} * options_.row_tiles, own});
    } else if (options_.short_rows) {
      conditions_.rows.push_back({inner_extent, kShortRow, 1});
    }
    return row;
  }
  int32_t lanes = 1;
  while (lanes < block && lanes < *most) lanes *= 2;
  return lanes;
}

int32_t Lowerer::StoreStage(const Binding& value, const std::vector<Id>& extents, Id base,
                            const std::vector<Id>& strides, const Window& window, bool parallel,
                            const MemoryOrigin& target) {
  const int rank = static_cast<int>(extents.size());
  if (value.kind == Binding::Kind::kTensor && !value.tensor->strided &&
      value.tensor->op != nullptr && value.tensor->op->kind == OpKind::kJoin && rank > 1) {
    // Each side fills its half of the trailing axis of two.
    for (int side = 0; side < 2; ++side) {
      StoreStage(value.tensor->operands[side], {extents.begin(), extents.end() - 1},
                 b().MemOffset(base, b().Mul(b().Index(side), strides.back())),
                 {strides.begin(), strides.end() - 1}, window, parallel, target);
    }
    return 1;
  }
  if (rank == 0) {
    const Id element = Eval(value, {}, {});
    Fence();
    b().Store(base, b().Index(0), element, b().Index(0));
    Fence();
    return 1;
  }
  std::vector<DType> dtypes{b().type(base).dtype};
  int budget = 64;
  CollectDTypes(value, &dtypes, &budget);
  const int32_t lanes = single_rows_ && rank == 1 ? 1 : LanesFor(dtypes, extents.back());
  std::vector<Id> watch;
  if (lanes > 1) {
    WatchStrides(value, StageCoords(rank, rank - 1), &watch);
    if (!b().IsIndex(strides.back(), 1) &&
        std::find(watch.begin(), watch.end(), strides.back()) == watch.end()) {
      watch.push_back(strides.back());
    }
  }
  // Several threads read a scalar, or a lane of few, before one of them replaces it.
  bool in_place = false;
  WalkLeaves(value, StageCoords(rank, -1),
             [&](const TensorPtr& leaf, const std::vector<SymbolicCoord>&) {
               in_place = in_place || MayAlias(OriginOf(*leaf), target);
             });
  const auto put = [&](const std::vector<Coord>& coords, const Context& context) {
    Id offset = b().Index(0);
    for (int axis = 0; axis < rank; ++axis) {
      offset = b().Add(offset, b().Mul(coords[axis].base, strides[axis]));
    }
    const Id element = Eval(value, coords, context);
    const Id stride = context.lanes == 1        ? b().Index(0)
                      : context.unit != nullptr ? b().Index(1)
                                                : strides.back();
    const bool fence = in_place && context.lanes < options_.block_threads;
    Finish(
        [this, base, offset, element, stride, fence, lanes = context.lanes, mask = context.mask] {
          if (fence) Fence();
          b().Store(base, offset, b().Splat(element, lanes), stride, mask);
        });
  };
  const auto stage = [&](const Window& rows) {
    ForEachPoint(extents, lanes > 1 ? rank - 1 : -1, lanes, watch, rows, put);
  };
  Fence();
  if (window.low != kNoId || !parallel) {
    stage(window);
  } else if (lanes == 1 && OnUnits()) {
    EachElement(extents, {}, true, put, /*divisible=*/true);
  } else {
    // On units loads are what takes time.
    const int64_t weight = OnUnits() ? 1 : 1 + static_cast<int64_t>(dtypes.size()) / 4;
    InParallel(extents[0],
               b().Mul(Product({extents.begin() + 1, extents.end()}), b().Index(weight)), stage,
               OnUnits() && rank == 1 ? int64_t{lanes} * kUnitVectors : 1, /*divisible=*/true);
  }
  Fence();
  return lanes;
}

void Lowerer::Materialize(const TensorPtr& tensor, const Window& window) {
  if (tensor->strided && tensor->origin.kind == MemoryOrigin::Kind::kPrivate) return;
  const auto source = std::make_shared<Tensor>(*tensor);
  source->serial = ++serials_;
  const TensorPtr dense = AllocateDense(tensor->dtype, tensor->extents);
  const int32_t lanes = StoreStage(Binding::OfTensor(source), tensor->extents, dense->base,
                                   dense->strides, window, true);
  if (tensor->op != nullptr && window.low == kNoId) {
    Report(*tensor->op, std::to_string(lanes) + " lanes" + Tasks(/*divisible=*/true));
  }
  dense->serial = tensor->serial;
  *tensor = *dense;
  tensor->serial = ++serials_;
}

TensorPtr Lowerer::EnsureDense(const Binding& value) {
  const TensorPtr& tensor = value.tensor;
  if (tensor->strided && tensor->origin.kind == MemoryOrigin::Kind::kPrivate &&
      tensor->strides == DenseStrides(tensor->extents)) {
    return tensor;
  }
  const auto copy = std::make_shared<Tensor>(*tensor);
  copy->serial = ++serials_;
  if (copy->strided) copy->origin = {MemoryOrigin::Kind::kBuffer, -1, kNoValue};
  Materialize(copy, {});
  return copy;
}

}  // namespace intent::lower
