#include "compiler/plan/owned_axis.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/diag/check.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/reshape.h"

namespace intent::plan {
namespace {

using Node = size_t;

constexpr char kReduced[] = "is reduced";
constexpr char kScanned[] = "is scanned";
constexpr char kContracted[] = "is contracted";
constexpr char kCut[] = "is cut into slices";
constexpr char kPart[] = "is taken in part";
constexpr char kIndexed[] = "is indexed by values";
constexpr char kReshaped[] = "is reshaped";
constexpr char kAsked[] = "has an extent that is used as a value";
constexpr char kFormat[] = "is part of a format";
constexpr char kCoordinates[] = "has coordinates that a callback makes";

const Op& Terminator(const Block& block) { return *block.ops.back(); }

// One tensor or scalar of a value, and the node of its first axis.
struct Leaf {
  const Type* type;
  Node first;
};

void AppendLeaves(const Type& type, Node* next, std::vector<Leaf>* leaves) {
  if (type.IsProduct()) {
    for (const Type& field : type.fields()) AppendLeaves(field, next, leaves);
  } else if (type.IsElementwise() || type.IsBuffer()) {
    leaves->push_back({&type, *next});
    *next += type.shape().size();
  }
}

std::vector<Leaf> LeavesOf(const Type& type, Node first) {
  std::vector<Leaf> leaves;
  AppendLeaves(type, &first, &leaves);
  return leaves;
}

bool IsStructured(OpKind kind) {
  switch (kind) {
    case OpKind::kReduce:
    case OpKind::kScan:
    case OpKind::kRegionFold:
    case OpKind::kRegionScan:
    case OpKind::kContract:
    case OpKind::kScaledContract:
    case OpKind::kSparseContract:
    case OpKind::kHistogram:
    case OpKind::kQuantize:
    case OpKind::kQuantizedDot:
      return true;
    default:
      return false;
  }
}

class Finder {
 public:
  Finder(const Function& function, const Op& parallel) : function_(function), parallel_(parallel) {}

  Ownership Run() {
    Collect();
    for (const Item& item : items_) Relate(item);
    Ownership result;
    result.refusal = body_refusal_;
    if (!result.refusal.empty()) return result;
    const auto first_write = std::find_if(
        accesses_.begin(), accesses_.end(),
        [&](const Access& access) { return access.writes && !IsInside(access.op->operands[0]); });
    if (first_write == accesses_.end() || first_write->whole.empty()) {
      result.refusal = "a store has no whole axis";
      return result;
    }
    for (const Whole& whole : first_write->whole) {
      OwnedAxis owned;
      owned.store = first_write->op;
      owned.store_axis = whole.axis;
      const std::string refusal = Check(Root(whole.node), &owned);
      if (refusal.empty()) {
        return {std::move(owned), {}};
      }
      if (result.refusal.empty()) {
        result.refusal = "axis " + std::to_string(whole.axis) + " of what it stores " + refusal;
      }
    }
    return result;
  }

 private:
  struct Item {
    const Op* op;
    bool in_callback;
  };
  struct Whole {
    size_t term;
    int64_t axis;  // of what is accessed
    Node node;     // of the element read or written
  };
  struct Access {
    const Op* op;
    bool writes;
    std::vector<Whole> whole;
  };

  const Type& TypeOf(ValueId value) const { return function_.type(value); }

  // --- Nodes.
  Node NewNodes(const Type& type) {
    const Node first = parent_.size();
    Node next = first;
    std::vector<Leaf> leaves;
    AppendLeaves(type, &next, &leaves);
    for (const Leaf& leaf : leaves) {
      for (const Extent& extent : leaf.type->shape()) {
        parent_.push_back(parent_.size());
        extents_.push_back(extent);
        refusals_.push_back(nullptr);
      }
    }
    return first;
  }

  Node Root(Node node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  void Join(Node a, Node b) {
    a = Root(a), b = Root(b);
    if (a == b) return;
    parent_[b] = a;
    if (refusals_[a] == nullptr) refusals_[a] = refusals_[b];
  }

  void Refuse(Node node, const char* why) {
    const Node root = Root(node);
    if (refusals_[root] == nullptr) refusals_[root] = why;
  }

  bool IsInside(ValueId value) const { return first_.contains(value); }

  std::vector<Leaf> Result(const Op& op) {
    return LeavesOf(TypeOf(op.result), first_.at(op.result));
  }
  std::vector<Leaf> Argument(const Block& block, size_t i) {
    return LeavesOf(TypeOf(block.arguments[i]), first_.at(block.arguments[i]));
  }
  // An operand, which has nodes of its own if it is made outside of the body.
  std::vector<Leaf> Operand(const Op& op, size_t i) {
    const ValueId value = op.operands[i];
    if (IsInside(value)) return LeavesOf(TypeOf(value), first_.at(value));
    const auto [use, fresh] = uses_.try_emplace({&op, i});
    if (fresh) use->second = NewNodes(TypeOf(value));
    return LeavesOf(TypeOf(value), use->second);
  }

  // Pre-order, with nodes for all that the body makes.
  void Collect() {
    struct Cursor {
      const Block* block;
      bool in_callback;
      size_t next = 0;
    };
    const auto enter = [&](const Block& block) {
      for (ValueId argument : block.arguments) first_[argument] = NewNodes(TypeOf(argument));
    };
    enter(*parallel_.regions[0]);
    std::vector<Cursor> stack{{parallel_.regions[0].get(), false}};
    while (!stack.empty()) {
      Cursor& cursor = stack.back();
      if (cursor.next == cursor.block->ops.size()) {
        stack.pop_back();
        continue;
      }
      const Op& op = *cursor.block->ops[cursor.next++];
      const bool in_callback = cursor.in_callback;
      items_.push_back({&op, in_callback});
      first_[op.result] = NewNodes(TypeOf(op.result));
      const bool calls = InfoOf(op.kind).effect != Effect::kControl;
      for (size_t i = op.regions.size(); i-- > 0;) {
        enter(*op.regions[i]);
        stack.push_back({op.regions[i].get(), in_callback || calls});
      }
    }
  }

  // --- What aligns axes.
  void JoinAxes(const Leaf& a, const Leaf& b) {
    for (size_t axis = 0; axis < std::min(a.type->shape().size(), b.type->shape().size()); ++axis) {
      Join(a.first + axis, b.first + axis);
    }
  }

  // Of one schema, but that scalars may stand for tensors.
  void JoinAll(const std::vector<Leaf>& a, const std::vector<Leaf>& b) {
    INTENT_CHECK(a.size() == b.size()) << "schemas that differ passed the verifier";
    for (size_t i = 0; i < a.size(); ++i) JoinAxes(a[i], b[i]);
  }

  void RefuseAll(const std::vector<Leaf>& leaves, const char* why) {
    for (const Leaf& leaf : leaves) {
      for (size_t axis = 0; axis < leaf.type->shape().size(); ++axis)
        Refuse(leaf.first + axis, why);
    }
  }

  std::vector<Leaf> Concatenated(const Op& op, size_t first) {
    std::vector<Leaf> all;
    for (size_t i = first; i < op.operands.size(); ++i) {
      const std::vector<Leaf> leaves = Operand(op, i);
      all.insert(all.end(), leaves.begin(), leaves.end());
    }
    return all;
  }

  void JoinCaptures(const Op& op, size_t first, const Block& block, size_t argument) {
    for (size_t i = first; i < op.operands.size(); ++i) {
      JoinAll(Operand(op, i), Argument(block, argument + i - first));
    }
  }

  void JoinYield(const Block& block, const std::vector<Leaf>& value) {
    JoinAll(Concatenated(Terminator(block), 0), value);
  }

  void Relate(const Item& item) {
    const Op& op = *item.op;
    if (item.in_callback) {
      const bool closed = std::all_of(op.operands.begin(), op.operands.end(),
                                      [&](ValueId operand) { return IsInside(operand); });
      if (!closed) body_refusal_ = "a callback reads what lies outside of it";
    }
    switch (op.kind) {
      case OpKind::kConstant:
      case OpKind::kDomain:
      case OpKind::kDomainProduct:
      case OpKind::kSubregion:
      case OpKind::kRegionEnd:
      case OpKind::kFull:
      case OpKind::kParallel:
      case OpKind::kYield:
      case OpKind::kReturn:
        return;
      case OpKind::kDim:
        if (IsInside(op.operands[0]) && !TypeOf(op.operands[0]).IsDomain()) {
          Refuse(first_.at(op.operands[0]) + static_cast<Node>(op.attr<AxisAttr>().axis.value),
                 kAsked);
        }
        return;
      case OpKind::kIndices:
        if (item.in_callback) Refuse(first_.at(op.result), kCoordinates);
        return;
      case OpKind::kAssumeInBounds:
        if (IsInside(op.operands[1])) {
          Refuse(first_.at(op.operands[1]) + static_cast<Node>(op.attr<AxisAttr>().axis.value),
                 kIndexed);
        }
        return;
      case OpKind::kReshape:
        return Reshape(op);
      case OpKind::kTranspose: {
        const auto& axes = op.attr<AxesAttr>().axes;
        const Leaf from = Operand(op, 0)[0], to = Result(op)[0];
        for (size_t i = 0; i < axes.size(); ++i) {
          Join(from.first + static_cast<Node>(axes[i].value), to.first + i);
        }
        return;
      }
      case OpKind::kBroadcast: {
        const Leaf from = Operand(op, 0)[0], to = Result(op)[0];
        const size_t rank = from.type->shape().size(), lead = to.type->shape().size() - rank;
        for (size_t axis = 0; axis < rank; ++axis) {
          if (!from.type->shape()[axis].IsConstant(1)) {
            Join(from.first + axis, to.first + lead + axis);
          }
        }
        return;
      }
      case OpKind::kJoin:
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kSelect:
      case OpKind::kMask:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
      case OpKind::kRandomBits: {
        const std::vector<Leaf> result = Result(op);
        for (const Leaf& operand : Concatenated(op, 0)) JoinAxes(operand, result[0]);
        return;
      }
      case OpKind::kBuffer:
        if (!op.operands.empty()) JoinAll(Operand(op, 0), Result(op));
        return;
      case OpKind::kMakeTuple:
      case OpKind::kMakeRecord:
        return JoinAll(Concatenated(op, 0), Result(op));
      case OpKind::kExtract: {
        const Type& product = TypeOf(op.operands[0]);
        size_t before = 0;
        for (int64_t i = 0; i < op.attr<AxisAttr>().axis.value; ++i) {
          before += LeavesOf(product.fields()[static_cast<size_t>(i)], 0).size();
        }
        const std::vector<Leaf> source = Operand(op, 0), result = Result(op);
        for (size_t i = 0; i < result.size(); ++i) JoinAxes(source[before + i], result[i]);
        return;
      }
      case OpKind::kReduce: {
        std::vector<int64_t> axes;
        for (const StaticInt& axis : op.attr<ReduceAttr>().axes) axes.push_back(axis.value);
        return Fold(op, axes, kReduced, op.attr<ReduceAttr>().combine);
      }
      case OpKind::kScan:
        return Fold(op, {op.attr<ScanAttr>().axis.value}, kScanned, op.attr<ScanAttr>().combine);
      case OpKind::kRegionFold:
        JoinAll(Operand(op, 1), Result(op));
        Slices(op, 2, *op.regions[0], 0);
        JoinYield(*op.regions[0], Result(op));
        return Combine(*op.regions[1], Result(op));
      case OpKind::kRegionScan:
        return RegionScan(op);
      case OpKind::kContract:
        return Contract(op);
      case OpKind::kScaledContract:
      case OpKind::kSparseContract:
      case OpKind::kHistogram:
      case OpKind::kQuantize:
      case OpKind::kQuantizedDot:
        RefuseAll(Concatenated(op, 0), kFormat);
        return RefuseAll(Result(op), kFormat);
      case OpKind::kGather:
      case OpKind::kViewLoad:
      case OpKind::kBufferLoad:
        return Index(op, 1, Result(op)[0], /*writes=*/false);
      case OpKind::kViewStore:
      case OpKind::kBufferStore:
        return Index(op, 2, Operand(op, 1)[0], /*writes=*/true);
      case OpKind::kScatterUnique:
      case OpKind::kScatterReduce:
        body_refusal_ = "it scatters";
        return;
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        body_refusal_ = "it has atomics";
        return;
      case OpKind::kIf:
        for (const auto& region : op.regions) JoinYield(*region, Result(op));
        return;
      case OpKind::kFor: {
        const size_t first = TypeOf(op.operands[0]).shape().size();
        return Loop(op, 1, *op.regions[0], first);
      }
      case OpKind::kWhile:
        JoinCaptures(op, 0, *op.regions[0], 0);
        return Loop(op, 0, *op.regions[1], 0);
      case OpKind::kConstexpr:
      case OpKind::kConstexprIf:
      case OpKind::kCall:
        INTENT_UNREACHABLE() << "specialisation leaves no " << InfoOf(op.kind).name;
        return;
    }
  }

  void Loop(const Op& op, size_t first_init, const Block& body, size_t first_carry) {
    JoinCaptures(op, first_init, body, first_carry);
    JoinAll(Concatenated(op, first_init), Result(op));
    JoinYield(body, Result(op));
  }

  void Reshape(const Op& op) {
    const Leaf from = Operand(op, 0)[0], to = Result(op)[0];
    for (const AxisRun& run : MatchRuns(from.type->shape(), to.type->shape())) {
      std::vector<Node> sources, targets;
      for (int i = run.from_begin; i < run.from_end; ++i) {
        if (!from.type->shape()[i].IsConstant(1)) sources.push_back(from.first + i);
      }
      for (int i = run.to_begin; i < run.to_end; ++i) {
        if (!to.type->shape()[i].IsConstant(1)) targets.push_back(to.first + i);
      }
      if (sources.size() == 1 && targets.size() == 1 &&
          extents_[sources[0]] == extents_[targets[0]]) {
        Join(sources[0], targets[0]);
        continue;
      }
      for (Node node : sources) Refuse(node, kReshaped);
      for (Node node : targets) Refuse(node, kReshaped);
    }
  }

  // A combine of two states, with captures or without.
  void Combine(const Block& block, const std::vector<Leaf>& state) {
    JoinAll(Argument(block, 0), state);
    JoinAll(Argument(block, 1), state);
    JoinYield(block, state);
  }

  // A reduction or a scan.
  void Fold(const Op& op, const std::vector<int64_t>& axes, const char* why, CombineKind combine) {
    const std::vector<Leaf> value = Operand(op, 0), identity = Operand(op, 1), result = Result(op);
    const bool scans = op.kind == OpKind::kScan;
    std::vector<std::vector<Node>> retained(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      for (size_t axis = 0; axis < value[i].type->shape().size(); ++axis) {
        const Node node = value[i].first + axis;
        const bool folded =
            std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
        if (scans) Join(node, result[i].first + axis);
        if (folded) {
          Refuse(node, why);
          continue;
        }
        if (!scans) Join(node, result[i].first + retained[i].size());
        retained[i].push_back(node);
      }
      for (size_t j = 0; j < identity[i].type->shape().size(); ++j) {
        Join(identity[i].first + j, retained[i][j]);
      }
      // Members of several components meet element by element.
      const bool elements = identity[i].type->IsScalar() || combine == CombineKind::kArgMax;
      for (size_t j = 0; elements && j < std::min(retained[i].size(), retained[0].size()); ++j) {
        Join(retained[i][j], retained[0][j]);
      }
    }
    if (op.regions.empty()) return;
    Combine(*op.regions[0], identity);
    JoinCaptures(op, 2, *op.regions[0], 2);
  }

  // The slices of a region's source, and its captures, as arguments of a callback.
  void Slices(const Op& op, size_t first_capture, const Block& block, size_t between) {
    const size_t sliced = static_cast<size_t>(op.attr<RegionAttr>().axis.value);
    const std::vector<Leaf> source = Operand(op, 0);
    for (size_t i = 0; i < source.size(); ++i) {
      const Leaf slice = Argument(block, i)[0];
      for (size_t axis = 0; axis < source[i].type->shape().size(); ++axis) {
        if (axis != sliced) {
          Join(source[i].first + axis, slice.first + axis);
          continue;
        }
        Refuse(source[i].first + axis, kCut);
        Refuse(slice.first + axis, kCut);
      }
    }
    JoinCaptures(op, first_capture, block, source.size() + between);
  }

  void RegionScan(const Op& op) {
    const std::vector<Leaf> summary = Operand(op, 1), state = Operand(op, 2);
    Slices(op, 3, *op.regions[0], 0);
    JoinYield(*op.regions[0], summary);
    Combine(*op.regions[1], summary);
    JoinAll(Argument(*op.regions[2], 0), summary);
    JoinAll(Argument(*op.regions[2], 1), state);
    JoinYield(*op.regions[2], state);
    const Block& emit = *op.regions[3];
    Slices(op, 3, emit, 1);
    JoinAll(Argument(emit, Operand(op, 0).size()), state);
    // Outputs, then the final state.
    const std::vector<Leaf> emitted = Concatenated(Terminator(emit), 0), result = Result(op);
    const Extent slice = Extent::Symbol(op.attr<RegionAttr>().slice_symbol);
    for (size_t i = 0; i < emitted.size(); ++i) {
      JoinAxes(emitted[i], result[i]);
      for (size_t axis = 0; axis < emitted[i].type->shape().size(); ++axis) {
        if (emitted[i].type->shape()[axis] == slice) Refuse(emitted[i].first + axis, kCut);
      }
    }
    for (size_t i = 0; i < state.size(); ++i) JoinAxes(state[i], result[emitted.size() + i]);
  }

  void Contract(const Op& op) {
    const ContractAttr& attr = op.attr<ContractAttr>();
    const Leaf lhs = Operand(op, 0)[0], rhs = Operand(op, 1)[0], result = Result(op)[0];
    std::unordered_set<Node> gone;  // of the result
    for (const AxisPair& pair : attr.reduce) {
      for (Node node : {lhs.first + static_cast<Node>(pair.lhs.value),
                        rhs.first + static_cast<Node>(pair.rhs.value)}) {
        Refuse(node, kContracted);
        gone.insert(node);
      }
    }
    for (const AxisPair& pair : attr.batch) {
      const Node node = rhs.first + static_cast<Node>(pair.rhs.value);
      Join(lhs.first + static_cast<Node>(pair.lhs.value), node);
      gone.insert(node);
    }
    Node next = result.first;
    for (const Leaf& side : {lhs, rhs}) {
      for (size_t axis = 0; axis < side.type->shape().size(); ++axis) {
        if (!gone.contains(side.first + axis)) Join(side.first + axis, next++);
      }
    }
  }

  // A load, store or gather; `element` is what it reads or writes.
  void Index(const Op& op, size_t next, const Leaf& element, bool writes) {
    const IndexAttr& attr = op.attr<IndexAttr>();
    const bool inside = IsInside(op.operands[0]);
    const Node source = inside ? first_.at(op.operands[0]) : 0;
    size_t joint_rank = 0, ahead = next;
    for (const IndexTerm& term : attr.terms) {
      if (term.kind == IndexTermKind::kValue) {
        joint_rank = std::max(joint_rank, TypeOf(op.operands[ahead]).shape().size());
      }
      ahead += term.kind == IndexTermKind::kSlice    ? 2
               : term.kind == IndexTermKind::kValue  ? 1
               : term.kind == IndexTermKind::kRegion ? 1
                                                     : 0;
    }
    Access access{&op, writes, {}};
    std::optional<Node> joint;
    Node place = element.first;
    size_t axis = 0;
    const auto leave = [&](const char* why) {
      if (inside) Refuse(source + axis, why);
      ++axis;
    };
    for (size_t i = 0; i < attr.terms.size(); ++i) {
      switch (attr.terms[i].kind) {
        case IndexTermKind::kFull:
          if (inside) {
            Join(source + axis, place);
          } else {
            access.whole.push_back({i, static_cast<int64_t>(axis), place});
          }
          ++place;
          ++axis;
          break;
        case IndexTermKind::kStatic:
          leave(kPart);
          break;
        case IndexTermKind::kValue: {
          const Leaf index = Operand(op, next++)[0];
          const size_t rank = index.type->shape().size();
          if (index.type->IsTensor() && !joint) {
            joint = place;
            place += joint_rank;
          }
          for (size_t j = 0; j < rank; ++j) {
            const Node target = *joint + joint_rank - rank + j;
            if (!index.type->shape()[j].IsConstant(1)) Join(index.first + j, target);
            if (writes) Refuse(target, kIndexed);  // places may coincide
          }
          leave(kIndexed);
          break;
        }
        case IndexTermKind::kRegion:
          Refuse(place++, kPart);
          ++next;
          leave(kPart);
          break;
        case IndexTermKind::kSlice:
          Refuse(place++, kPart);
          next += 2;
          leave(kPart);
          break;
        case IndexTermKind::kNewAxis:
          ++place;
          break;
      }
    }
    // Whether an element is read, and what stands for it otherwise.
    for (; !writes && next < op.operands.size(); ++next) JoinAxes(Operand(op, next)[0], element);
    if (!inside || writes) accesses_.push_back(std::move(access));
  }

  // --- One class.
  // Empty: it is owned.
  std::string Check(Node root, OwnedAxis* owned) {
    if (refusals_[root] != nullptr) return refusals_[root];
    owned->extent = extents_[root];
    for (Node node = 0; node < parent_.size(); ++node) {
      if (Root(node) == root && !(extents_[node] == owned->extent)) return "has several extents";
    }
    bool twice = false;
    const auto members = [&](const Type& type, Node first) {
      std::vector<bool> of_class;
      bool any = false;
      for (const Leaf& leaf : LeavesOf(type, first)) {
        size_t count = 0;
        for (size_t axis = 0; axis < leaf.type->shape().size(); ++axis) {
          of_class.push_back(Root(leaf.first + axis) == root);
          count += of_class.back();
        }
        any |= count > 0;
        twice |= count > 1;
      }
      return any ? of_class : std::vector<bool>{};
    };
    for (const auto& [value, first] : first_) {
      std::vector<bool> of_class = members(TypeOf(value), first);
      if (!of_class.empty()) owned->values[value] = std::move(of_class);
    }
    for (const auto& [use, first] : uses_) {
      std::vector<bool> of_class = members(TypeOf(use.first->operands[use.second]), first);
      if (!of_class.empty()) owned->uses[use] = std::move(of_class);
    }
    if (twice) return "is two axes of one value";
    for (const Item& item : items_) {
      const Op& op = *item.op;
      const bool loops = op.kind == OpKind::kFor || op.kind == OpKind::kWhile;
      if ((!IsStructured(op.kind) && !(loops && IsWork(op))) || owned->values.contains(op.result)) {
        continue;
      }
      return "is not in all that its tiles would repeat: " + std::string(InfoOf(op.kind).name);
    }
    return CheckAccesses(root, owned);
  }

  // A loop that stands for itself, not for the stores and structured operations in it.
  static bool IsWork(const Op& loop) {
    bool work = true;
    for (const auto& region : loop.regions) {
      ForEachOp(*region, [&](const Op& op) {
        if (IsStructured(op.kind) || InfoOf(op.kind).effect == Effect::kWrite) work = false;
      });
    }
    return work;
  }

  std::string CheckAccesses(Node root, OwnedAxis* owned) {
    struct Place {
      ValueId resource;
      int64_t axis;  // -1: it is not accessed along the class
      bool writes;
    };
    std::vector<Place> places;
    for (const Access& access : accesses_) {
      const ValueId resource = access.op->operands[0];
      Place place{resource, -1, access.writes};
      for (const Whole& whole : access.whole) {
        if (Root(whole.node) != root) continue;
        owned->whole_terms[access.op] = whole.term;
        place.axis = whole.axis;
      }
      const bool of_class = place.axis >= 0 || owned->values.contains(resource);
      if (access.writes && !of_class) return "is not in all that is stored";
      if (TypeOf(resource).IsResource() && !IsInside(resource)) places.push_back(place);
    }
    std::unordered_map<ValueId, const Parameter*> views;
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      if (function_.parameters[i].type.IsView()) {
        views[function_.body.arguments[i]] = &function_.parameters[i];
      }
    }
    // Tiles of one point may run at the same time: none may touch what another one writes.
    for (const Place& write : places) {
      if (!write.writes) continue;
      for (const Place& other : places) {
        if (write.resource == other.resource) {
          if (write.axis != other.axis) return "is read or written elsewhere where it is stored";
          continue;
        }
        const auto a = views.find(write.resource), b = views.find(other.resource);
        if (a == views.end() || b == views.end() || !ViewsMayAlias(*a->second, *b->second)) {
          continue;
        }
        Note({write.resource, other.resource, write.axis == other.axis}, &owned->conflicts);
      }
    }
    return {};
  }

  static void Note(const TileConflict& conflict, std::vector<TileConflict>* conflicts) {
    for (TileConflict& known : *conflicts) {
      if (known.written != conflict.written || known.other != conflict.other) continue;
      known.aligned = known.aligned && conflict.aligned;
      return;
    }
    conflicts->push_back(conflict);
  }

  const Function& function_;
  const Op& parallel_;
  std::vector<Item> items_;
  std::vector<Access> accesses_;  // of what lies outside, and all writes
  std::string body_refusal_;
  // By node.
  std::vector<Node> parent_;
  std::vector<Extent> extents_;
  std::vector<const char*> refusals_;                  // of roots
  std::unordered_map<ValueId, Node> first_;            // values made in the body
  std::map<std::pair<const Op*, size_t>, Node> uses_;  // others, where they are used
};

}  // namespace

Ownership FindOwnedAxis(const Function& function, const Op& parallel) {
  return Finder(function, parallel).Run();
}

}  // namespace intent::plan
