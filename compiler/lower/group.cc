// Row groups (codegen.md 2): stages that are independent along a common axis 0 run row block by row
// block, so that a row is read from memory once and its intermediate values stay in the cache.
// Everything that does not depend on the row - windows, guards, snapshots, results - is set up
// before the loop.

#include <algorithm>

#include "compiler/lower/access.h"

namespace intent::lower {
namespace {

constexpr int64_t kPointBlock = 2048;
constexpr int64_t kPartBlock = 256;   // the same of a warp that takes its part of a task
constexpr int64_t kTurnedBlock = 16;  // rows at once where a column of them shares a cache line
constexpr int64_t kTurnedColumns = 64;

}  // namespace
bool Lowerer::LowerGroup(const Block& block, size_t first, size_t* next) {
  const auto found = plan_.groups.find(&block);
  if (found == plan_.groups.end()) return false;
  const plan::RowGroup* group = nullptr;
  for (const plan::RowGroup& candidate : found->second) {
    if (candidate.first == first) group = &candidate;
  }
  if (group == nullptr) return false;

  std::vector<RowStage> stages;
  for (size_t at = group->first; at < group->end; ++at) {
    const Op& op = *block.ops[at];
    position_ = at;
    b().SetOrdinal(op.ordinal);
    if (std::find(group->stages.begin(), group->stages.end(), at) == group->stages.end()) {
      LowerOp(op);
      continue;
    }
    RowStage stage;
    stage.position = at;
    stage.ordinal = op.ordinal;
    if (op.kind == OpKind::kReduce) {
      stage.reduction = MakeReduction(op);
      stage.value = Of(op.operands[0]);
      stage.results = BindOutputs(op, stage.reduction->retained);
    } else if (InfoOf(op.kind).effect == Effect::kWrite) {
      stage.value = Of(op.operands[1]);
      stage.target = AffineWindow(BindAccess(op, op.attr<IndexAttr>(), 2));
      stage.writes = true;
    } else {
      // A lazy value worth keeping: its rows, or all of it if something after the group reads it.
      plan_.materialize.erase(op.result);
      LowerOp(op);
      const TensorPtr tensor = Of(op.result).tensor;
      const auto source = std::make_shared<Tensor>(*tensor);
      source->serial = ++serials_;
      stage.value = Binding::OfTensor(source);
      const bool outlives = plan_.last_use.at(op.result) >= group->end;
      const TensorPtr memory = outlives ? AllocateDense(tensor->dtype, tensor->extents)
                                        : NewStrided(tensor->dtype, tensor->extents, kNoId,
                                                     DenseStrides(tensor->extents), {});
      *tensor = *memory;
      tensor->serial = ++serials_;
      stage.target = tensor;
      if (!outlives) stage.row_local = tensor;
    }
    stages.push_back(std::move(stage));
  }
  const Id entangled = ResolveGroupHazards(*group, stages);
  RunGroup(*group, stages, entangled);
  position_ = group->end - 1;
  *next = group->end;
  return true;
}

// Copies what a row-by-row order would let a write change too early. Returns whether two views that
// the group writes overlap: then stages must run whole, one after another.
Id Lowerer::ResolveGroupHazards(const plan::RowGroup& group, const std::vector<RowStage>& stages) {
  std::vector<std::pair<TensorPtr, Id>> hazards;
  const auto note = [&](const TensorPtr& leaf, Id condition) {
    for (auto& [known, when] : hazards) {
      if (known != leaf) continue;
      when = b().Or(when, condition);
      return;
    }
    hazards.emplace_back(leaf, condition);
  };
  Id entangled = b().Bool(false);
  for (size_t w = 0; w < stages.size(); ++w) {
    if (!stages[w].writes) continue;
    const Tensor& target = *stages[w].target;
    const int rank = target.rank();
    for (size_t other = 0; other < w; ++other) {
      if (!stages[other].writes) continue;
      const MemoryOrigin& origin = stages[other].target->origin;
      if (!MayAlias(origin, target.origin)) continue;
      entangled =
          b().Or(entangled, origin == target.origin ? b().Bool(true)
                                                    : b().Overlap(origin.view, target.origin.view));
    }
    for (size_t r = 0; r < stages.size(); ++r) {
      std::vector<Binding> leaves;
      stages[r].value.Leaves(&leaves);
      for (const Binding& value : leaves) {
        if (value.kind != Binding::Kind::kTensor) continue;
        WalkLeaves(
            value, StageCoords(value.tensor->rank(), -1),
            [&](const TensorPtr& leaf, const std::vector<SymbolicCoord>& coords) {
              const MemoryOrigin origin = OriginOf(*leaf);
              if (!MayChange(target.origin, *leaf)) return;
              // Reads of the same rows before they are written need no copy.
              bool safe = leaf->strided && static_cast<int>(coords.size()) == rank && r <= w;
              for (int axis = 0; safe && axis < (r == w ? rank : 1); ++axis) {
                safe = coords[axis].axis == axis;
              }
              if (origin == target.origin) {
                if (safe && leaf->base == target.base && leaf->strides == target.strides) return;
                note(leaf, b().Bool(true));
                return;
              }
              const Id overlap = b().Overlap(origin.view, target.origin.view);
              bool whole = safe && IsWholeView(*leaf) && IsWholeView(target);
              note(leaf,
                   whole ? b().And(overlap, b().Not(b().SameView(origin.view, target.origin.view)))
                         : overlap);
            });
      }
    }
    for (size_t i = pending_begin_; i < pending_.size(); ++i) {
      const auto& [value, leaf] = pending_[i];
      const auto last = plan_.last_use.find(value);
      if (last == plan_.last_use.end() || last->second < group.end) continue;
      const MemoryOrigin origin = OriginOf(*leaf);
      if (!MayChange(target.origin, *leaf)) continue;
      note(leaf,
           origin == target.origin ? b().Bool(true) : b().Overlap(origin.view, target.origin.view));
    }
  }
  for (const auto& [leaf, condition] : hazards) Snapshot(leaf, condition);
  return entangled;
}

// Leaves whose rows several stages read along the vector axis, and whose stride there is known at
// run time only.
std::vector<TensorPtr> Lowerer::RepeatedRows(const std::vector<RowStage>& stages) {
  std::vector<std::pair<TensorPtr, int>> readers;
  for (const RowStage& stage : stages) {
    std::vector<Binding> values;
    stage.value.Leaves(&values);
    std::vector<TensorPtr> here;
    for (const Binding& value : values) {
      if (value.kind != Binding::Kind::kTensor) continue;
      const int rank = value.tensor->rank();
      WalkLeaves(value, StageCoords(rank, rank - 1),
                 [&](const TensorPtr& leaf, const std::vector<SymbolicCoord>& coords) {
                   if (!leaf->strided || leaf->rank() < 2 || coords[0].axis != 0) return;
                   if (coords.back().lane != SymbolicCoord::Lane::kUnit) return;
                   if (b().ConstantOf(leaf->strides.back()) != nullptr || leaf->base == kNoId)
                     return;
                   if (std::find(here.begin(), here.end(), leaf) == here.end())
                     here.push_back(leaf);
                 });
    }
    for (const TensorPtr& leaf : here) {
      auto known = std::find_if(readers.begin(), readers.end(),
                                [&](const auto& r) { return r.first == leaf; });
      if (known == readers.end()) {
        readers.emplace_back(leaf, 1);
      } else {
        ++known->second;
      }
    }
  }
  std::vector<TensorPtr> repeated;
  for (const auto& [leaf, count] : readers) {
    if (count > 1) repeated.push_back(leaf);
  }
  return repeated;
}

// A transposed view: elements of one row are far apart, those of one column lie together.
Id Lowerer::IsTurned(const Tensor& leaf) {
  if (leaf.rank() != 2) return b().Bool(false);
  return b().And(b().Not(b().Equal(leaf.strides.back(), b().Index(1))),
                 b().Equal(leaf.strides[0], b().Index(1)));
}

// Copies the leaf's rows into contiguous memory if they are not, and lets it read them there. Only
// stages do, and each begins with a fence.
void Lowerer::StageRows(const TensorPtr& leaf, Id block, const Window& rows) {
  const auto original = std::make_shared<Tensor>(*leaf);
  original->serial = ++serials_;
  const std::vector<Id> dense = DenseStrides(leaf->extents);
  const Id scattered = b().Not(b().Equal(leaf->strides.back(), b().Index(1)));
  const std::vector<Id> row(leaf->extents.begin() + 1, leaf->extents.end());
  const Id memory =
      b().Alloc(leaf->dtype, b().Select(scattered, Count({block, Count(row)}), b().Index(0)));
  const Id shifted = b().MemOffset(memory, b().Sub(b().Index(0), b().Mul(rows.low, dense[0])));
  b().If(scattered, [&] {
    Fence();
    const Id turned = IsTurned(*original);
    if (b().ConstantOf(turned) != nullptr) {
      StoreStage(Binding::OfTensor(original), leaf->extents, shifted, dense, rows, false);
      return;
    }
    b().If(
        turned,
        [&] {
          // Neighbouring rows share cache lines: a short run of columns serves all rows while it is
          // near.
          const Id zero = b().Index(0), one = b().Index(1);
          const int32_t lanes = LanesFor({leaf->dtype}, leaf->extents[1]);
          b().For(
              zero, leaf->extents[1], b().Index(kTurnedColumns), {},
              [&](const std::vector<Id>& tile) {
                const Id last =
                    b().Min(b().Add(tile[0], b().Index(kTurnedColumns)), leaf->extents[1]);
                b().For(rows.low, rows.high, one, {}, [&](const std::vector<Id>& row) {
                  VectorLoop(
                      tile[0], last, lanes, b().Bool(false), {},
                      [&](const Coord& column, const Context& context) {
                        const Id value = EvalTensor(*original, {CoordOf(row[0]), column}, context);
                        b().Store(shifted, b().Add(b().Mul(row[0], dense[0]), column.base), value,
                                  one, context.mask);
                      });
                  return std::vector<Id>{};
                });
                return std::vector<Id>{};
              });
          return std::vector<Id>{};
        },
        [&] {
          StoreStage(Binding::OfTensor(original), leaf->extents, shifted, dense, rows, false);
          return std::vector<Id>{};
        });
  });
  leaf->base = b().Select(scattered, shifted, original->base);
  for (size_t axis = 0; axis < dense.size(); ++axis) {
    leaf->strides[axis] = b().Select(scattered, dense[axis], original->strides[axis]);
  }
  leaf->serial = ++serials_;
}

void Lowerer::RunGroup(const plan::RowGroup& group, std::vector<RowStage>& stages, Id entangled) {
  const Id rows = ExtentId(group.rows);
  // Rows of one element go by blocks that fit the cache and fill vectors; longer rows one by one.
  bool points = true;
  for (const RowStage& stage : stages) points &= !stage.reduction && stage.target->rank() == 1;
  const std::vector<TensorPtr> staged = points ? std::vector<TensorPtr>{} : RepeatedRows(stages);
  Id step = b().Index(!points ? 1 : HasParts() ? kPartBlock : kPointBlock);
  for (const TensorPtr& leaf : staged)
    step = b().Select(IsTurned(*leaf), b().Index(kTurnedBlock), step);
  if (Exclude(entangled)) entangled = b().Bool(false);
  const Id block = b().Select(entangled, b().Max(rows, b().Index(1)), step);
  Id work = b().Index(1);
  for (const RowStage& stage : stages) {
    if (stage.reduction) {
      std::vector<Id> extents(stage.reduction->retained.begin() + 1,
                              stage.reduction->retained.end());
      extents.insert(extents.end(), stage.reduction->reduced.begin(),
                     stage.reduction->reduced.end());
      work = b().Add(work, Product(extents));
    } else {
      work =
          b().Add(work, Product({stage.target->extents.begin() + 1, stage.target->extents.end()}));
    }
  }
  const bool allocates =
      !staged.empty() || std::any_of(stages.begin(), stages.end(), [](const RowStage& stage) {
        return stage.row_local != nullptr ||
               (stage.reduction && !stage.reduction->combine.elementwise);
      });
  const bool in_parts = HasParts() && !allocates;
  Report(*block_->ops[stages[0].position],
         (points ? "blocks of " + std::to_string(HasParts() ? kPartBlock : kPointBlock) + " rows"
                 : "rows one by one") +
             Tasks(!allocates));
  single_rows_ = !points;
  const auto run_rows = [&](const Window& rows_here) {
    std::vector<Tensor> originals;
    for (const TensorPtr& leaf : staged) {
      originals.push_back(*leaf);
      StageRows(leaf, block, rows_here);
    }
    for (const RowStage& stage : stages) {
      b().SetOrdinal(stage.ordinal);
      if (stage.reduction) {
        // Made here, for what its leaves read may have moved into copies.
        RunReduction(MakeReduction(*block_->ops[stage.position]), stage.results, rows_here);
        continue;
      }
      if (stage.row_local != nullptr) {
        const Tensor& tensor = *stage.row_local;
        const std::vector<Id> row(tensor.extents.begin() + 1, tensor.extents.end());
        const Id memory = b().Alloc(tensor.dtype, Count({block, Count(row)}));
        stage.row_local->base =
            b().MemOffset(memory, b().Sub(b().Index(0), b().Mul(rows_here.low, tensor.strides[0])));
      }
      StoreStage(stage.value, stage.target->extents, stage.target->base, stage.target->strides,
                 rows_here, false, stage.target->origin);
    }
    for (size_t i = 0; i < staged.size(); ++i) *staged[i] = originals[i];
  };
  const auto run = [&](const Window& window) {
    const Id begin = window.low == kNoId ? b().Index(0) : window.low;
    const Id end = window.high == kNoId ? rows : window.high;
    b().For(begin, end, block, {}, [&](const std::vector<Id>& arguments) {
      b().Poll();
      const Id next = b().Add(arguments[0], block);
      const bool one = in_part_ && b().IsIndex(block, 1);
      run_rows({arguments[0], one ? next : b().Min(next, end), one});
      return std::vector<Id>{};
    });
  };
  if (options_.row_tiles > 0 && b().IsIndex(block, 1)) {
    EachRow(rows, run_rows);
    single_rows_ = false;
    return;
  }
  if (in_parts) {
    InParts(rows, block, [&](Id begin, Id end) { run({begin, end}); });
    single_rows_ = false;
    return;
  }
  if (!options_.parallel || in_parallel_) {
    run({});
    single_rows_ = false;
    return;
  }
  const Id grain = b().Max(block, b().Add(b().FloorDiv(b().Index(1 << 14), work), b().Index(1)));
  in_parallel_ = true;
  b().Parallel(b().Index(0), rows, grain, [&](Id begin, Id end) { run({begin, end}); });
  in_parallel_ = false;
  single_rows_ = false;
}

}  // namespace intent::lower
