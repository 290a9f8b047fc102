// Reads are values of their program point (seed 000 chapter 10): whatever a lazy value still has to
// read is copied out before a write that may change it. Views of different parameters are told
// apart at run time.

#include <algorithm>
#include <set>

#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

// Contains an atomic that lets other tasks see what was done before it, and change what was read.
bool Releases(const Op& op) {
  bool releases = false;
  const auto look = [&](const Op& inner) {
    switch (inner.kind) {
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas: {
        const MemoryOrder order = inner.attr<AtomicAttr>().order;
        releases |= order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel;
        return;
      }
      default:
        return;
    }
  };
  look(op);
  for (const auto& region : op.regions) ForEachOp(*region, look);
  return releases;
}

}  // namespace

MemoryOrigin Lowerer::OriginOf(const Tensor& leaf) {
  if (leaf.strided) return leaf.origin;
  if (!leaf.operands.empty() && leaf.operands[0].kind == Binding::Kind::kResource) {
    return leaf.operands[0].resource->origin;
  }
  return {};
}

bool Lowerer::MayAlias(const MemoryOrigin& a, const MemoryOrigin& c) const {
  if (a.kind == MemoryOrigin::Kind::kPrivate || a.kind != c.kind) return false;
  if (a.kind == MemoryOrigin::Kind::kBuffer) return a.buffer == c.buffer;
  return a.view == c.view || plan::ViewsMayAlias(*view_params_[a.view], *view_params_[c.view]);
}

bool Lowerer::MayChange(const MemoryOrigin& write, const Tensor& leaf) const {
  if (write.kind == MemoryOrigin::Kind::kView &&
      std::find(leaf.separated.begin(), leaf.separated.end(), write.view) != leaf.separated.end()) {
    return false;
  }
  return MayAlias(OriginOf(leaf), write);
}

void Lowerer::CollectWrites(const Op& op, std::vector<MemoryOrigin>* writes) const {
  const auto add = [&](const Op& inner) {
    if (InfoOf(inner.kind).effect != Effect::kWrite) return;
    const auto found = bindings_.find(inner.operands[0]);
    // A buffer declared inside is unknown outside, where nothing pending can read it.
    if (found != bindings_.end() && found->second.resource != nullptr) {
      writes->push_back(found->second.resource->origin);
    }
  };
  add(op);
  for (const auto& region : op.regions) ForEachOp(*region, add);
}

void Lowerer::MaterializePending(const Op& op) {
  if (InfoOf(op.kind).effect != Effect::kWrite && InfoOf(op.kind).effect != Effect::kControl)
    return;
  std::vector<MemoryOrigin> writes;
  CollectWrites(op, &writes);
  if (writes.empty()) return;
  const bool releases = in_parallel_ && Releases(op);
  for (size_t i = pending_begin_; i < pending_.size(); ++i) {
    const auto& [value, tensor] = pending_[i];
    const auto last = plan_.last_use.find(value);
    if (last == plan_.last_use.end()) continue;
    const bool needed = op.regions.empty() ? last->second > position_ : last->second >= position_;
    if (!needed) continue;
    const MemoryOrigin origin = OriginOf(*tensor);
    Id condition = b().Bool(releases);
    std::vector<int> separated;
    for (const MemoryOrigin& write : writes) {
      if (!MayChange(write, *tensor)) continue;
      condition = b().Or(condition,
                         write == origin ? b().Bool(true) : b().Overlap(origin.view, write.view));
      separated.push_back(write.view);
    }
    Snapshot(tensor, condition);
    tensor->separated.insert(tensor->separated.end(), separated.begin(), separated.end());
  }
}

void Lowerer::Snapshot(const TensorPtr& leaf, Id condition) {
  const ScalarValue* known = b().ConstantOf(condition);
  if (known != nullptr && known->bits == 0) return;
  if (known != nullptr) {
    Materialize(leaf, {});
    return;
  }
  if (Exclude(condition)) return;
  // Copy what the leaf reads, if need be, and read the copy from here on.
  std::vector<Id> extents = leaf->extents;
  Id base = leaf->base;
  std::vector<Id> strides = leaf->strides;
  if (!leaf->strided) {
    const Resource& resource = *leaf->operands[0].resource;
    extents = resource.extents;
    base = resource.base;
    strides = resource.strides;
  }
  const TensorPtr original = NewStrided(leaf->dtype, extents, base, strides, {});
  const Id count = b().Select(condition, Count(extents), b().Index(0));
  const Id copy = b().Alloc(leaf->dtype, count);
  const std::vector<Id> dense = DenseStrides(extents);
  b().If(condition, [&] {
    Fence();
    EachElement(extents, {}, OnUnits(),
                [&](const std::vector<Coord>& coords, const Context& context) {
                  Id offset = b().Index(0);
                  for (size_t axis = 0; axis < coords.size(); ++axis) {
                    offset = b().Add(offset, b().Mul(coords[axis].base, dense[axis]));
                  }
                  b().Store(copy, offset, EvalTensor(*original, coords, context), b().Index(0));
                });
    Fence();
  });
  std::vector<Id> chosen;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    chosen.push_back(b().Select(condition, dense[axis], strides[axis]));
  }
  const Id chosen_base = b().Select(condition, copy, base);
  if (leaf->strided) {
    leaf->base = chosen_base;
    leaf->strides = chosen;
    leaf->serial = ++serials_;
    return;
  }
  auto resource = std::make_shared<Resource>(*leaf->operands[0].resource);
  resource->base = chosen_base;
  resource->strides = chosen;
  leaf->operands[0].resource = std::move(resource);
  leaf->serial = ++serials_;
}

bool Lowerer::IsWholeView(const Tensor& window) {
  if (!window.strided || window.origin.kind != MemoryOrigin::Kind::kView) return false;
  const int view = window.origin.view;
  if (window.base != b().ViewBase(view) || view_params_[view]->type.rank() != window.rank())
    return false;
  for (int axis = 0; axis < window.rank(); ++axis) {
    if (window.strides[axis] != StrideOf(view, axis)) return false;
  }
  return true;
}

std::vector<std::pair<TensorPtr, Id>> Lowerer::Hazards(const Binding& value, const Tensor& target) {
  std::vector<std::pair<TensorPtr, Id>> hazards;
  if (value.kind != Binding::Kind::kTensor) return hazards;
  const int rank = target.rank();
  WalkLeaves(value, StageCoords(value.tensor->rank(), -1),
             [&](const TensorPtr& leaf, const std::vector<SymbolicCoord>& coords) {
               const MemoryOrigin origin = OriginOf(*leaf);
               if (!MayChange(target.origin, *leaf)) return;
               bool same_point = leaf->strided && static_cast<int>(coords.size()) == rank;
               for (int axis = 0; same_point && axis < rank; ++axis)
                 same_point = coords[axis].axis == axis;
               Id condition;
               if (origin == target.origin) {
                 if (same_point && leaf->base == target.base && leaf->strides == target.strides)
                   return;
                 condition = b().Bool(true);
               } else {
                 condition = b().Overlap(origin.view, target.origin.view);
                 const bool whole = same_point && IsWholeView(*leaf) && IsWholeView(target);
                 if (whole)
                   condition =
                       b().And(condition, b().Not(b().SameView(origin.view, target.origin.view)));
               }
               for (auto& [known, when] : hazards) {
                 if (known != leaf) continue;
                 when = b().Or(when, condition);
                 return;
               }
               hazards.emplace_back(leaf, condition);
             });
  return hazards;
}

void Lowerer::PrepareStage(const Binding& value, const Tensor& target) {
  // Leaves are changed only after the walk: one leaf may be reached by several ways.
  for (const auto& [leaf, condition] : Hazards(value, target)) Snapshot(leaf, condition);
}

}  // namespace intent::lower
