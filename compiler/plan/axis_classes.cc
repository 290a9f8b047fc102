#include "compiler/plan/axis_classes.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/diag/check.h"
#include "compiler/plan/reshape.h"

namespace intent::plan {
namespace {

using Node = AxisClasses::Node;
using Leaf = AxisClasses::Leaf;

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

void AppendLeaves(const Type& type, Node* next, std::vector<Leaf>* leaves) {
  if (type.IsProduct()) {
    for (const Type& field : type.fields()) AppendLeaves(field, next, leaves);
  } else if (type.IsElementwise() || type.IsBuffer()) {
    leaves->push_back({&type, *next});
    *next += type.shape().size();
  }
}

}  // namespace

AxisClasses::AxisClasses(const Function& function, const Op& parallel)
    : function_(function), parallel_(parallel) {
  for (const Item& item : Collect()) Relate(item);
}

std::vector<Leaf> AxisClasses::LeavesOf(const Type& type, Node first) {
  std::vector<Leaf> leaves;
  AppendLeaves(type, &first, &leaves);
  return leaves;
}

Node AxisClasses::NewNodes(const Type& type) {
  const Node first = parent_.size();
  for (const Leaf& leaf : LeavesOf(type, first)) {
    for (const Extent& extent : leaf.type->shape()) {
      parent_.push_back(parent_.size());
      extents_.push_back(extent);
      refusals_.push_back(nullptr);
    }
  }
  return first;
}

Node AxisClasses::Root(Node node) const {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void AxisClasses::Join(Node a, Node b) {
  a = Root(a), b = Root(b);
  if (a == b) return;
  parent_[b] = a;
  if (refusals_[a] == nullptr) refusals_[a] = refusals_[b];
}

void AxisClasses::Refuse(Node node, const char* why) {
  const Node root = Root(node);
  if (refusals_[root] == nullptr) refusals_[root] = why;
}

std::vector<Leaf> AxisClasses::Result(const Op& op) const {
  return LeavesOf(TypeOf(op.result), first_.at(op.result));
}
std::vector<Leaf> AxisClasses::Argument(const Block& block, size_t i) const {
  return LeavesOf(TypeOf(block.arguments[i]), first_.at(block.arguments[i]));
}
// An operand, which has nodes of its own if it is made outside of the body.
std::vector<Leaf> AxisClasses::Operand(const Op& op, size_t i) {
  const ValueId value = op.operands[i];
  if (IsInside(value)) return LeavesOf(TypeOf(value), first_.at(value));
  const auto [use, fresh] = uses_.try_emplace({&op, i});
  if (fresh) use->second = NewNodes(TypeOf(value));
  return LeavesOf(TypeOf(value), use->second);
}

// Pre-order, with nodes for all that the body makes.
std::vector<AxisClasses::Item> AxisClasses::Collect() {
  std::vector<Item> items;
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
    items.push_back({&op, in_callback});
    first_[op.result] = NewNodes(TypeOf(op.result));
    const bool calls = InfoOf(op.kind).effect != Effect::kControl;
    for (size_t i = op.regions.size(); i-- > 0;) {
      enter(*op.regions[i]);
      stack.push_back({op.regions[i].get(), in_callback || calls});
    }
  }
  return items;
}

// --- What aligns axes.
void AxisClasses::JoinAxes(const Leaf& a, const Leaf& b) {
  for (size_t axis = 0; axis < std::min(a.type->shape().size(), b.type->shape().size()); ++axis) {
    Join(a.first + axis, b.first + axis);
  }
}

// Of one schema, but that scalars may stand for tensors.
void AxisClasses::JoinAll(const std::vector<Leaf>& a, const std::vector<Leaf>& b) {
  INTENT_CHECK(a.size() == b.size()) << "schemas that differ passed the verifier";
  for (size_t i = 0; i < a.size(); ++i) JoinAxes(a[i], b[i]);
}

void AxisClasses::RefuseAll(const std::vector<Leaf>& leaves, const char* why) {
  for (const Leaf& leaf : leaves) {
    for (size_t axis = 0; axis < leaf.type->shape().size(); ++axis) Refuse(leaf.first + axis, why);
  }
}

std::vector<Leaf> AxisClasses::Concatenated(const Op& op, size_t first) {
  std::vector<Leaf> all;
  for (size_t i = first; i < op.operands.size(); ++i) {
    const std::vector<Leaf> leaves = Operand(op, i);
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

void AxisClasses::JoinCaptures(const Op& op, size_t first, const Block& block, size_t argument) {
  for (size_t i = first; i < op.operands.size(); ++i) {
    JoinAll(Operand(op, i), Argument(block, argument + i - first));
  }
}

void AxisClasses::JoinYield(const Block& block, const std::vector<Leaf>& value) {
  JoinAll(Concatenated(Terminator(block), 0), value);
}

void AxisClasses::Relate(const Item& item) {
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
      work_.push_back(&op);
      std::vector<int64_t> axes;
      for (const StaticInt& axis : op.attr<ReduceAttr>().axes) axes.push_back(axis.value);
      return Fold(op, axes, kReduced, op.attr<ReduceAttr>().combine);
    }
    case OpKind::kScan:
      work_.push_back(&op);
      return Fold(op, {op.attr<ScanAttr>().axis.value}, kScanned, op.attr<ScanAttr>().combine);
    case OpKind::kRegionFold:
      work_.push_back(&op);
      JoinAll(Operand(op, 1), Result(op));
      Slices(op, 2, *op.regions[0], 0);
      JoinYield(*op.regions[0], Result(op));
      return Combine(*op.regions[1], Result(op));
    case OpKind::kRegionScan:
      work_.push_back(&op);
      return RegionScan(op);
    case OpKind::kContract:
      work_.push_back(&op);
      return Contract(op);
    case OpKind::kScaledContract:
    case OpKind::kSparseContract:
    case OpKind::kHistogram:
    case OpKind::kQuantize:
    case OpKind::kQuantizedDot:
      work_.push_back(&op);
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
      work_.push_back(&op);
      const size_t first = TypeOf(op.operands[0]).shape().size();
      return Loop(op, 1, *op.regions[0], first);
    }
    case OpKind::kWhile:
      work_.push_back(&op);
      JoinCaptures(op, 0, *op.regions[0], 0);
      return Loop(op, 0, *op.regions[1], 0);
    case OpKind::kConstexpr:
    case OpKind::kConstexprIf:
    case OpKind::kCall:
      INTENT_UNREACHABLE() << "specialisation leaves no " << InfoOf(op.kind).name;
      return;
  }
}

void AxisClasses::Loop(const Op& op, size_t first_init, const Block& body, size_t first_carry) {
  JoinCaptures(op, first_init, body, first_carry);
  JoinAll(Concatenated(op, first_init), Result(op));
  JoinYield(body, Result(op));
}

void AxisClasses::Reshape(const Op& op) {
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
void AxisClasses::Combine(const Block& block, const std::vector<Leaf>& state) {
  JoinAll(Argument(block, 0), state);
  JoinAll(Argument(block, 1), state);
  JoinYield(block, state);
}

// A reduction or a scan.
void AxisClasses::Fold(const Op& op, const std::vector<int64_t>& axes, const char* why,
                       CombineKind combine) {
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
void AxisClasses::Slices(const Op& op, size_t first_capture, const Block& block, size_t between) {
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

void AxisClasses::RegionScan(const Op& op) {
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

void AxisClasses::Contract(const Op& op) {
  const ContractAttr& attr = op.attr<ContractAttr>();
  const Leaf lhs = Operand(op, 0)[0], rhs = Operand(op, 1)[0], result = Result(op)[0];
  // One value may be both sides.
  std::set<int64_t> reduced, paired;  // axes of the left and of the right side
  for (const AxisPair& pair : attr.reduce) {
    Refuse(lhs.first + static_cast<Node>(pair.lhs.value), kContracted);
    Refuse(rhs.first + static_cast<Node>(pair.rhs.value), kContracted);
    reduced.insert(pair.lhs.value);
    paired.insert(pair.rhs.value);
  }
  for (const AxisPair& pair : attr.batch) {
    Join(lhs.first + static_cast<Node>(pair.lhs.value),
         rhs.first + static_cast<Node>(pair.rhs.value));
    paired.insert(pair.rhs.value);
  }
  Node next = result.first;
  for (size_t axis = 0; axis < lhs.type->shape().size(); ++axis) {
    if (!reduced.contains(static_cast<int64_t>(axis))) Join(lhs.first + axis, next++);
  }
  for (size_t axis = 0; axis < rhs.type->shape().size(); ++axis) {
    if (!paired.contains(static_cast<int64_t>(axis))) Join(rhs.first + axis, next++);
  }
}

// A load, store or gather; `element` is what it reads or writes.
void AxisClasses::Index(const Op& op, size_t next, const Leaf& element, bool writes) {
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

}  // namespace intent::plan
