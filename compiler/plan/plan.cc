#include "compiler/plan/plan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/plan/arithmetic.h"
#include "compiler/plan/cost.h"
#include "compiler/plan/reshape.h"

namespace intent::plan {
namespace {

bool HasTensor(const Type& type) {
  if (type.IsTensor()) return true;
  for (const Type& field : type.fields()) {
    if (HasTensor(field)) return true;
  }
  return false;
}

bool IsRegionOp(const Op& op) {
  return op.kind == OpKind::kRegionFold || op.kind == OpKind::kRegionScan;
}

// A callback, which runs many times, takes the value as it is.
bool IsCapture(const Op& op, ValueId value) {
  size_t first = op.operands.size();
  if (op.kind == OpKind::kRegionScan) first = 3;
  if (op.kind == OpKind::kRegionFold || op.kind == OpKind::kReduce || op.kind == OpKind::kScan)
    first = 2;
  return std::find(op.operands.begin() + static_cast<std::ptrdiff_t>(first), op.operands.end(),
                   value) != op.operands.end();
}

bool IsLoop(OpKind kind) {
  return kind == OpKind::kFor || kind == OpKind::kWhile || kind == OpKind::kParallel;
}

// Where every operation stands and who uses every value.
class Planner {
 public:
  Planner(const Function& function, const PlanOptions& options, Plan* plan)
      : function_(function), options_(options), plan_(plan) {}

  void Run() {
    Index(function_.body, nullptr);
    Measure();
    Decide();
    LastUses();
    if (options_.row_groups) {
      for (const Block* block : blocks_) FormGroups(*block);
    }
  }

 private:
  struct Place {
    const Block* block = nullptr;
    size_t position = 0;
    const Op* parent = nullptr;  // the operation whose region the block is
  };
  struct Use {
    const Op* user;
  };

  void Index(const Block& body, const Op* parent) {
    struct Item {
      const Block* block;
      const Op* parent;
    };
    std::vector<Item> stack{{&body, parent}};
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      blocks_.push_back(item.block);
      for (ValueId argument : item.block->arguments) home_[argument] = item.block;
      for (size_t i = 0; i < item.block->ops.size(); ++i) {
        const Op* op = item.block->ops[i];
        place_[op] = {item.block, i, item.parent};
        home_[op->result] = item.block;
        order_.push_back(op);
        for (ValueId operand : op->operands) uses_[operand].push_back({op});
        function_.type(op->result).ForEachExtent([&](const Extent& extent) {
          extent.ForEachLeaf([&](AtomKind kind, uint32_t value) {
            if (kind != AtomKind::kValue) return;
            uses_[value].push_back({op});
            if (ReadsWindow(*op)) windowed_.insert(value);
          });
        });
        for (const auto& region : op->regions) stack.push_back({region.get(), op});
      }
    }
  }

  // Products, and what is taken out of them, are other names of their members.
  bool CanBeMemory(const Op& op) const {
    return op.kind != OpKind::kExtract && function_.type(op.result).IsTensor();
  }

  // What it reads is as long as data say, and no longer than its source.
  static bool ReadsWindow(const Op& op) {
    if (op.kind != OpKind::kViewLoad && op.kind != OpKind::kBufferLoad &&
        op.kind != OpKind::kGather) {
      return false;
    }
    const std::vector<IndexTerm>& terms = op.attr<IndexAttr>().terms;
    return std::any_of(terms.begin(), terms.end(), [](const IndexTerm& term) {
      return term.kind == IndexTermKind::kSlice || term.kind == IndexTermKind::kRegion;
    });
  }

  // Memory for it may have no bound before the launch.
  bool LacksBound(ValueId value) const {
    bool lacks = false;
    function_.type(value).ForEachExtent([&](const Extent& extent) {
      extent.ForEachLeaf([&](AtomKind kind, uint32_t leaf) {
        lacks |= kind == AtomKind::kValue && function_.value(leaf).op != nullptr &&
                 !windowed_.contains(leaf);
      });
    });
    return lacks;
  }

  // Size and cost of the lazy expression under each value, were nothing shared.
  void Measure() {
    for (const Block* block : blocks_) {
      for (const Op* op : block->ops) {
        if (!IsLazy(function_, *op)) continue;
        Cost cost;
        cost.depth = 1;
        if (IsArithmetic(*op)) cost.members.push_back(op->result);
        cost.expensive = IsExpensive(*op);
        for (ValueId operand : op->operands) {
          auto found = cost_.find(operand);
          if (found == cost_.end()) continue;
          // Shared parts count once: their elements are computed once.
          std::vector<ValueId> all;
          std::set_union(cost.members.begin(), cost.members.end(), found->second.members.begin(),
                         found->second.members.end(), std::back_inserter(all));
          cost.members = std::move(all);
          cost.expensive |= found->second.expensive;
          cost.depth = std::max(cost.depth, found->second.depth + 1);
        }
        const bool deep = cost.depth > options_.max_expression ||
                          cost.members.size() > static_cast<size_t>(options_.max_expression);
        if ((options_.materialize_all || deep) && CanBeMemory(*op)) {
          plan_->materialize[op->result] =
              options_.materialize_all ? MemoryReason::kPlain : MemoryReason::kLarge;
          continue;
        }
        cost_[op->result] = std::move(cost);
      }
    }
  }

  // Position in `home` of the operation that contains `op`; nullopt if `home` does not enclose it.
  std::optional<size_t> PositionIn(const Block* home, const Op* op, bool* in_loop) const {
    for (const Op* at = op; at != nullptr;) {
      const Place& place = place_.at(at);
      if (place.block == home) return place.position;
      if (place.parent != nullptr && IsLoop(place.parent->kind)) *in_loop = true;
      at = place.parent;
    }
    return std::nullopt;
  }

  void Decide() {
    std::unordered_map<ValueId, std::vector<const Op*>> roots;
    // Users come after definitions in every block, and nested blocks after the blocks around them.
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      for (auto it = (*block)->ops.rbegin(); it != (*block)->ops.rend(); ++it) {
        const Op* op = *it;
        if (!IsLazy(function_, *op) || plan_->materialize.contains(op->result)) continue;
        std::vector<const Op*>& mine = roots[op->result];
        bool in_loop = false, gathered = false, contracted = false;
        for (const Use& use : uses_[op->result]) {
          PositionIn(*block, use.user, &in_loop);
          in_loop |= IsCapture(*use.user, op->result);
          gathered |= use.user->kind == OpKind::kGather && use.user->operands[0] == op->result;
          contracted |= use.user->kind == OpKind::kContract;
          const bool lazy =
              IsLazy(function_, *use.user) && !plan_->materialize.contains(use.user->result);
          const std::vector<const Op*> one{use.user};
          for (const Op* root : lazy ? roots[use.user->result] : one) {
            if (std::find(mine.begin(), mine.end(), root) == mine.end() && mine.size() < 3) {
              mine.push_back(root);
            }
          }
        }
        const auto cost = cost_.find(op->result);
        if (cost == cost_.end() || !CanBeMemory(*op)) continue;
        // What a callback does with its slices is not known here.
        const bool sliced =
            std::any_of(mine.begin(), mine.end(), [](const Op* root) { return IsRegionOp(*root); });
        const bool again = options_.recompute && !gathered && !sliced && !IsSpread(op->result);
        const bool shared = (mine.size() > 1 && !again) || gathered || sliced;
        if (contracted && options_.recompute && cost->second.expensive && !in_loop &&
            !LacksBound(op->result)) {
          plan_->materialize[op->result] = MemoryReason::kContracted;
          continue;
        }
        if ((shared && cost->second.expensive) || (in_loop && !cost->second.members.empty())) {
          plan_->materialize[op->result] = in_loop ? MemoryReason::kHoisted : MemoryReason::kShared;
        }
      }
    }
  }

  // Whether one element of it serves many of a user.
  bool IsSpread(ValueId value) const {
    const auto uses = uses_.find(value);
    if (uses == uses_.end()) return false;
    return std::any_of(uses->second.begin(), uses->second.end(), [&](const Use& use) {
      const OpKind kind = use.user->kind;
      if (kind == OpKind::kBroadcast) return true;
      return (kind == OpKind::kReshape || kind == OpKind::kTranspose || kind == OpKind::kCast) &&
             IsSpread(use.user->result);
    });
  }

  void LastUses() {
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      for (auto it = (*block)->ops.rbegin(); it != (*block)->ops.rend(); ++it) {
        const Op* op = *it;
        size_t last = place_.at(op).position;
        for (const Use& use : uses_[op->result]) {
          bool in_loop = false;
          const std::optional<size_t> position = PositionIn(*block, use.user, &in_loop);
          if (!position) continue;
          last = std::max(last, *position);
          const bool lazy =
              IsLazy(function_, *use.user) && !plan_->materialize.contains(use.user->result);
          if (lazy && place_.at(use.user).block == *block) {
            last = std::max(last, plan_->last_use[use.user->result]);
          }
        }
        plan_->last_use[op->result] = last;
      }
    }
  }

  // --- Row groups.
  static constexpr int kIndependent = -1;  // of any value of the group

  // The axis along which a lazy value follows the rows of the group; nullopt: in no single way.
  std::optional<int> RowAxis(ValueId value, const RowGroup& group, const Block& block) {
    if (auto known = row_axis_.find(value); known != row_axis_.end()) return known->second;
    const Op* op = function_.value(value).op;
    if (op == nullptr) return kIndependent;
    const Place& place = place_.at(op);
    if (place.block != &block || place.position < group.first) return kIndependent;
    std::optional<int> axis = RowAxisOf(*op, group, block);
    row_axis_[value] = axis;
    return axis;
  }

  std::optional<int> RowAxisOf(const Op& op, const RowGroup& group, const Block& block) {
    std::optional<int> merged = kIndependent;
    for (ValueId operand : op.operands) {
      const std::optional<int> axis = RowAxis(operand, group, block);
      if (!axis) return std::nullopt;
      if (*axis == kIndependent) continue;
      if (*merged != kIndependent && *merged != *axis) return std::nullopt;
      merged = axis;
    }
    if (*merged == kIndependent) return merged;
    const int axis = *merged;
    const Type& from = function_.type(op.operands[0]);
    const Type& to = function_.type(op.result);
    switch (op.kind) {
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kSelect:
      case OpKind::kMask:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
      case OpKind::kRandomBits:
      case OpKind::kJoin:
      case OpKind::kExtract:
        return axis;
      case OpKind::kBroadcast:
        if (from.shape()[axis].IsConstant(1)) return std::nullopt;
        return axis + to.rank() - from.rank();
      case OpKind::kTranspose: {
        const auto& axes = op.attr<AxesAttr>().axes;
        for (size_t i = 0; i < axes.size(); ++i) {
          if (axes[i].value == axis) return static_cast<int>(i);
        }
        return std::nullopt;
      }
      case OpKind::kReshape: {
        Extent before(1);
        for (int i = 0; i < axis; ++i) before = before * from.shape()[i];
        Extent prefix(1);
        for (int i = 0; i < to.rank(); ++i) {
          if (prefix == before && to.shape()[i] == from.shape()[axis]) return i;
          prefix = prefix * to.shape()[i];
        }
        return std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  // True if the operation can be a stage of the group, or begin one when the group is empty.
  bool IsRowStage(const Op& op, RowGroup* group, const Block& block) {
    ValueId value;
    std::vector<Extent> shape;
    if (op.kind == OpKind::kReduce) {
      value = op.operands[0];
      for (const StaticInt& axis : op.attr<ReduceAttr>().axes) {
        if (axis.value == 0) return false;
      }
      if (!CommonShape(function_.type(value), &shape) || shape.size() < 2) return false;
      for (size_t i = 1; i < op.operands.size(); ++i) {
        if (RowAxis(op.operands[i], *group, block) != kIndependent) return false;
      }
      if (!op.regions.empty() && HasTensorArguments(*op.regions[0])) return false;
    } else if (op.kind == OpKind::kViewStore || op.kind == OpKind::kBufferStore) {
      value = op.operands[1];
      if (!function_.type(value).IsTensor()) return false;
      shape = function_.type(value).shape();
      bool row_seen = false;
      for (const IndexTerm& term : op.attr<IndexAttr>().terms) {
        if (term.kind == IndexTermKind::kValue) return false;
        if (term.kind == IndexTermKind::kFull || term.kind == IndexTermKind::kRegion)
          row_seen = true;
        if (!row_seen && term.kind != IndexTermKind::kStatic) return false;
      }
      for (size_t i = 2; i < op.operands.size(); ++i) {
        if (RowAxis(op.operands[i], *group, block) != kIndependent) return false;
      }
    } else if (IsLazy(function_, op) && plan_->materialize.contains(op.result)) {
      // A load keeps its place among the writes, which rows run in another order.
      if (InfoOf(op.kind).effect == Effect::kRead || SetUpReadsRows(op, *group, block)) {
        return false;
      }
      value = op.result;
      shape = function_.type(op.result).shape();
    } else {
      return false;
    }
    if (shape.empty()) return false;
    const std::optional<int> axis = RowAxis(value, *group, block);
    if (!axis || (*axis != kIndependent && *axis != 0)) return false;
    if (group->stages.empty()) {
      group->rows = shape[0];
      return true;
    }
    return shape[0] == group->rows;
  }

  // False if two tensors of a product differ in shape.
  static bool CommonShape(const Type& type, std::vector<Extent>* shape) {
    if (type.IsTensor() && shape->empty()) *shape = type.shape();
    if (type.IsTensor()) return type.shape() == *shape;
    return std::all_of(type.fields().begin(), type.fields().end(),
                       [&](const Type& field) { return CommonShape(field, shape); });
  }

  bool HasTensorArguments(const Block& block) const {
    for (ValueId argument : block.arguments) {
      if (HasTensor(function_.type(argument))) return true;
    }
    return false;
  }

  void FormGroups(const Block& block) {
    size_t at = 0;
    while (at < block.ops.size()) {
      RowGroup group = Grow(block, at);
      if (group.stages.size() >= 2) {
        at = group.end;
        plan_->groups[&block].push_back(std::move(group));
      } else {
        ++at;
      }
    }
  }

  RowGroup Grow(const Block& block, size_t first) {
    RowGroup group;
    group.first = group.end = first;
    row_axis_.clear();
    std::vector<const Parameter*> written;
    std::vector<ValueId> written_buffers;
    for (size_t i = first; i < block.ops.size(); ++i) {
      const Op& op = *block.ops[i];
      const Effect effect = InfoOf(op.kind).effect;
      if (IsRowStage(op, &group, block)) {
        group.stages.push_back(i);
        group.end = i + 1;
        if (op.kind == OpKind::kReduce || !(effect == Effect::kWrite)) row_axis_[op.result] = 0;
        if (effect == Effect::kWrite) {
          if (const Parameter* view = ViewOf(op.operands[0])) {
            written.push_back(view);
          } else {
            written_buffers.push_back(op.operands[0]);
          }
        }
        continue;
      }
      if (group.stages.empty() && i == first && effect != Effect::kPure && effect != Effect::kRead)
        break;
      if (effect == Effect::kRead) {
        if (!function_.type(op.result).IsTensor()) break;
        const Parameter* view = ViewOf(op.operands[0]);
        bool conflict = false;
        for (const Parameter* other : written)
          conflict |= view != nullptr && (view == other || ViewsMayAlias(*view, *other));
        for (ValueId other : written_buffers) conflict |= other == op.operands[0];
        if (conflict || RowAxisOf(op, group, block) != kIndependent) break;
        continue;
      }
      if (effect != Effect::kPure || !op.regions.empty()) break;
      if (IsLazy(function_, op)) {
        // One that is no stage and becomes memory does so before the first row.
        const bool early = plan_->materialize.contains(op.result);
        if (SetUpReadsRows(op, group, block) || (early && FollowsRows(op, 0, group, block))) break;
        continue;
      }
      // Scalars and other structured operations must not need anything of the group.
      if (op.kind == OpKind::kReduce || op.kind == OpKind::kScan || op.kind == OpKind::kContract)
        break;
      if (HasTensor(function_.type(op.result)) || RowAxisOf(op, group, block) != kIndependent)
        break;
    }
    return group;
  }

  // Every operation of a group is set up before the first row. Most lazy ones read nothing then,
  // but a reshape through memory and the guards of an index do.
  bool SetUpReadsRows(const Op& op, const RowGroup& group, const Block& block) {
    if (op.kind == OpKind::kReshape) {
      const Type& from = function_.type(op.operands[0]);
      return !SplitsOnly(from.shape(), function_.type(op.result).shape()) &&
             FollowsRows(op, 0, group, block);
    }
    return op.kind == OpKind::kGather && FollowsRows(op, 1, group, block);
  }

  // Whether any operand from `first` on is not independent of the group.
  bool FollowsRows(const Op& op, size_t first, const RowGroup& group, const Block& block) {
    for (size_t i = first; i < op.operands.size(); ++i) {
      if (RowAxis(op.operands[i], group, block) != kIndependent) return true;
    }
    return false;
  }

  const Parameter* ViewOf(ValueId value) const {
    for (size_t i = 0; i < function_.body.arguments.size(); ++i) {
      if (function_.body.arguments[i] == value) return &function_.parameters[i];
    }
    return nullptr;
  }

  struct Cost {
    std::vector<ValueId> members;  // arithmetic operations of the expression, sorted
    bool expensive = false;
    int depth = 0;  // of the expression, shape operations included
  };

  const Function& function_;
  const PlanOptions options_;
  Plan* plan_;
  std::vector<const Block*> blocks_;  // outer before inner
  std::vector<const Op*> order_;
  std::unordered_map<const Op*, Place> place_;
  std::unordered_map<ValueId, const Block*> home_;
  std::unordered_map<ValueId, std::vector<Use>> uses_;
  std::set<ValueId> windowed_;  // in the extents of windows that are read
  std::unordered_map<ValueId, Cost> cost_;
  std::unordered_map<ValueId, std::optional<int>> row_axis_;
};

}  // namespace

bool IsExpensive(const Op& op) {
  if (op.kind == OpKind::kUnary) {
    switch (op.attr<UnaryAttr>().kind) {
      case UnaryKind::kNegate:
      case UnaryKind::kNot:
      case UnaryKind::kAbs:
      case UnaryKind::kFloor:
        return false;
      default:
        return true;
    }
  }
  if (op.kind == OpKind::kBinary) {
    switch (op.attr<BinaryAttr>().kind) {
      case BinaryKind::kDiv:
      case BinaryKind::kFloorDiv:
      case BinaryKind::kMod:
      case BinaryKind::kPow:
      case BinaryKind::kIpowTrunc:
      case BinaryKind::kFloatFloorDiv:
      case BinaryKind::kFloatFloorMod:
        return true;
      default:
        return false;
    }
  }
  return op.kind == OpKind::kRandomBits;
}

bool IsLazy(const Function& function, const Op& op) {
  const Type& type = function.type(op.result);
  if (!HasTensor(type)) return false;
  switch (op.kind) {
    case OpKind::kIndices:
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
    case OpKind::kRandomBits:
    case OpKind::kGather:
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad:
      return true;
    default:
      return false;
  }
}

bool ViewsMayAlias(const Parameter& a, const Parameter& b) {
  if (&a == &b) return true;
  return !a.noalias && !b.noalias;
}

Plan MakePlan(const Function& function, const PlanOptions& options) {
  Plan plan;
  Planner(function, options, &plan).Run();
  return plan;
}

}  // namespace intent::plan
