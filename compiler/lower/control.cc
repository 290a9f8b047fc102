// Structured control: tensors that cross a branch or a loop live in memory, everything else in
// values.

#include "compiler/diag/check.h"
#include "compiler/lower/lowerer.h"
#include "compiler/plan/describe.h"

namespace intent::lower {
namespace {

const Op& Terminator(const Block& block) { return *block.ops.back(); }

}  // namespace

std::vector<Type> Lowerer::FlatTypes(const Type& type) const {
  std::vector<Type> flat;
  if (type.IsNone()) return flat;
  if (!type.IsProduct()) return {type};
  for (const Type& field : type.fields()) {
    for (Type& inner : FlatTypes(field)) flat.push_back(inner);
  }
  return flat;
}

Binding Lowerer::Unflatten(const Type& type, const std::vector<Binding>& leaves,
                           size_t* next) const {
  if (type.IsNone()) return {};
  if (!type.IsProduct()) return leaves[(*next)++];
  std::vector<Binding> fields;
  for (const Type& field : type.fields()) fields.push_back(Unflatten(field, leaves, next));
  return Binding::Product(std::move(fields));
}

std::vector<Lowerer::Slot> Lowerer::MakeSlots(const std::vector<Type>& types, int memories) {
  std::vector<Slot> slots;
  for (const Type& type : types) {
    Slot slot;
    slot.type = type;
    if (type.IsTensor()) {
      slot.extents = ExtentIds(type.shape());
      if (memories > 0) slot.current = b().Alloc(type.dtype(), Count(slot.extents));
      if (memories > 1) slot.other = b().Alloc(type.dtype(), Count(slot.extents));
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

Binding Lowerer::SlotBinding(const Slot& slot, Id id) {
  if (!slot.type.IsTensor()) return Binding::Scalar(id);
  return Binding::OfTensor(
      NewStrided(slot.type.dtype(), slot.extents, id, DenseStrides(slot.extents), {}));
}

void Lowerer::FillSlot(const Slot& slot, const Binding& value, Id memory) {
  StoreStage(value, slot.extents, memory, DenseStrides(slot.extents), {}, true);
}

void Lowerer::LowerIf(const Op& op) {
  std::vector<Slot> slots = MakeSlots(FlatTypes(ResultType(op)), /*memories=*/0);
  // Memory whose size only an arm can bound is made there.
  std::vector<bool> made_in_arm;
  for (Slot& slot : slots) {
    bool unbounded = false;
    if (slot.type.IsTensor()) {
      for (const Extent& extent : slot.type.shape()) unbounded |= OnUnits() && !IsBounded(extent);
      if (!unbounded) slot.current = b().Alloc(slot.type.dtype(), Count(slot.extents));
    }
    made_in_arm.push_back(unbounded);
  }
  const auto arm = [&](const Block& block) {
    LowerBlock(block);
    std::vector<Binding> leaves;
    for (ValueId operand : Terminator(block).operands) Of(operand).Leaves(&leaves);
    std::vector<Id> yields;
    for (size_t i = 0; i < slots.size(); ++i) {
      const Slot& slot = slots[i];
      if (!slot.type.IsTensor()) {
        yields.push_back(Eval(leaves[i], {}, {}));
        continue;
      }
      Id memory = slot.current;
      if (made_in_arm[i]) {
        memory = b().Alloc(slot.type.dtype(), Count(ExtentIds(slot.type.shape())));
        yields.push_back(memory);
      }
      FillSlot(slot, leaves[i], memory);
    }
    return yields;
  };
  const std::vector<Id> results = b().If(
      Scalar(op.operands[0]), [&] { return arm(*op.regions[0]); },
      [&] { return arm(*op.regions[1]); });
  std::vector<Binding> leaves;
  size_t next = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool yielded = !slots[i].type.IsTensor() || made_in_arm[i];
    leaves.push_back(SlotBinding(slots[i], yielded ? results[next++] : slots[i].current));
  }
  next = 0;
  Bind(op.result, Unflatten(ResultType(op), leaves, &next));
}

// Carried ids of a loop: scalars take one, tensors two (the current memory and the one to fill
// next).
std::vector<Id> Lowerer::EnterSlots(const std::vector<Slot>& slots,
                                    const std::vector<Binding>& inits) {
  std::vector<Id> ids;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].type.IsTensor()) {
      FillSlot(slots[i], inits[i], slots[i].current);
      ids.push_back(slots[i].current);
      ids.push_back(slots[i].other);
    } else {
      ids.push_back(Eval(inits[i], {}, {}));
    }
  }
  return ids;
}

std::vector<Binding> Lowerer::SlotLeaves(const std::vector<Slot>& slots,
                                         const std::vector<Id>& ids) {
  std::vector<Binding> leaves;
  size_t at = 0;
  for (const Slot& slot : slots) {
    leaves.push_back(SlotBinding(slot, ids[at]));
    at += slot.type.IsTensor() ? 2 : 1;
  }
  return leaves;
}

std::vector<Id> Lowerer::NextSlots(const std::vector<Slot>& slots, const Block& body,
                                   const std::vector<Id>& ids) {
  std::vector<Binding> yields;
  for (ValueId operand : Terminator(body).operands) Of(operand).Leaves(&yields);
  std::vector<Id> next;
  size_t at = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].type.IsTensor()) {
      FillSlot(slots[i], yields[i], ids[at + 1]);
      next.push_back(ids[at + 1]);
      next.push_back(ids[at]);
      at += 2;
    } else {
      next.push_back(Eval(yields[i], {}, {}));
      ++at;
    }
  }
  return next;
}

// Binds the arguments of a loop's region from `first` on to the carried values.
void Lowerer::BindCarries(const Op& op, size_t first_init, const Block& block, size_t first,
                          const std::vector<Binding>& leaves) {
  size_t next = 0;
  for (size_t i = first_init; i < op.operands.size(); ++i) {
    Bind(block.arguments[first + i - first_init], Unflatten(TypeOf(op.operands[i]), leaves, &next));
  }
}

void Lowerer::BindPoint(const Binding& domain, const Block& body, Id ordinal) {
  std::vector<Id> extents;
  for (const DomainAxis& axis : domain.domain) extents.push_back(axis.extent);
  const std::vector<Coord> point = Decode(ordinal, extents);
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const DomainAxis& d = domain.domain[axis];
    Bind(body.arguments[axis],
         Binding::Scalar(b().Add(d.begin, b().Mul(point[axis].base, d.step))));
  }
}

Id Lowerer::PointCount(const Binding& domain) {
  std::vector<Id> extents;
  for (const DomainAxis& axis : domain.domain) extents.push_back(axis.extent);
  return Product(extents);
}

bool Lowerer::IsScalarLoop(const Op& op) const {
  if (!OnUnits() || in_parallel_) return false;
  bool scalars = true;
  const auto look = [&](const Type& type) {
    for (const Type& leaf : FlatTypes(type)) scalars = scalars && leaf.IsScalar();
  };
  look(ResultType(op));
  for (const auto& region : op.regions) {
    ForEachOp(*region, [&](const Op& inner) {
      const OpKind kind = inner.kind;
      if (kind == OpKind::kParallel) scalars = false;
      if (kind == OpKind::kDomain || kind == OpKind::kDomainProduct || kind == OpKind::kSubregion ||
          kind == OpKind::kBuffer) {
        return;
      }
      if (inner.result != kNoValue) look(ResultType(inner));
      if (InfoOf(kind).effect != Effect::kWrite) return;
      for (size_t i = 1; i < inner.operands.size(); ++i) look(TypeOf(inner.operands[i]));
    });
  }
  return scalars;
}

void Lowerer::LowerAlone(const Op& op) {
  const std::vector<Type> types = FlatTypes(ResultType(op));
  std::vector<Id> memory;
  for (const Type& type : types) memory.push_back(b().Alloc(type.dtype(), b().Index(1)));
  const Id zero = b().Index(0);
  Alone([&] {
    op.kind == OpKind::kFor ? LowerFor(op) : LowerWhile(op);
    if (types.empty()) return;
    std::vector<Binding> leaves;
    Of(op.result).Leaves(&leaves);
    for (size_t i = 0; i < leaves.size(); ++i)
      b().Store(memory[i], zero, Eval(leaves[i], {}, {}), zero);
  });
  std::vector<Binding> leaves;
  for (Id id : memory) leaves.push_back(Binding::Scalar(b().Load(id, zero, 1, zero)));
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), leaves, &next));
  Report(op, "in order, by one thread");
}

void Lowerer::LowerFor(const Op& op) {
  if (IsScalarLoop(op)) return LowerAlone(op);
  const Binding domain = Of(op.operands[0]);
  const Block& body = *op.regions[0];
  std::vector<Binding> inits;
  std::vector<Type> types;
  for (size_t i = 1; i < op.operands.size(); ++i) {
    Of(op.operands[i]).Leaves(&inits);
    for (Type& type : FlatTypes(TypeOf(op.operands[i]))) types.push_back(type);
  }
  const std::vector<Slot> slots = MakeSlots(types, /*memories=*/2);
  const std::vector<Id> results =
      b().For(b().Index(0), PointCount(domain), b().Index(1), EnterSlots(slots, inits),
              [&](const std::vector<Id>& arguments) {
                b().Poll();
                BindPoint(domain, body, arguments[0]);
                const std::vector<Id> ids(arguments.begin() + 1, arguments.end());
                BindCarries(op, 1, body, domain.domain.size(), SlotLeaves(slots, ids));
                LowerBlock(body);
                return NextSlots(slots, body, ids);
              });
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), SlotLeaves(slots, results), &next));
}

void Lowerer::LowerWhile(const Op& op) {
  if (IsScalarLoop(op)) return LowerAlone(op);
  const Block &condition = *op.regions[0], &body = *op.regions[1];
  std::vector<Binding> inits;
  std::vector<Type> types;
  for (ValueId operand : op.operands) {
    Of(operand).Leaves(&inits);
    for (Type& type : FlatTypes(TypeOf(operand))) types.push_back(type);
  }
  const std::vector<Slot> slots = MakeSlots(types, /*memories=*/2);
  const std::vector<Id> results = b().While(
      EnterSlots(slots, inits),
      [&](const std::vector<Id>& ids) {
        BindCarries(op, 0, condition, 0, SlotLeaves(slots, ids));
        LowerBlock(condition);
        return Scalar(Terminator(condition).operands[0]);
      },
      [&](const std::vector<Id>& ids) {
        b().Poll();
        BindCarries(op, 0, body, 0, SlotLeaves(slots, ids));
        LowerBlock(body);
        return NextSlots(slots, body, ids);
      });
  size_t next = 0;
  Bind(op.result, Unflatten(ResultType(op), SlotLeaves(slots, results), &next));
}

std::string Lowerer::DescribePoints(const Op& op) const {
  const auto found = loops_.tiles.find(&op);
  if (found == loops_.tiles.end()) return "points";
  const plan::ParallelTiles& tiles = found->second;
  return "points x tiles of " + std::to_string(tiles.most) + " along axis " +
         std::to_string(tiles.store_axis) + " of what " + plan::Label(*tiles.store) + " (op " +
         std::to_string(tiles.store->ordinal) + ") stores" +
         (tiles.meet == kNoValue ? "" : ", whole points where it may overwrite what they read");
}

void Lowerer::LowerParallel(const Op& op) {
  const Binding domain = Of(op.operands[0]);
  const Block& body = *op.regions[0];
  const auto points = [&](Id low, Id high) {
    b().For(low, high, b().Index(1), {}, [&](const std::vector<Id>& arguments) {
      b().Poll();
      BindPoint(domain, body, arguments[0]);
      LowerBlock(body);
      return std::vector<Id>{};
    });
  };
  const Id total = PointCount(domain);
  if (!options_.parallel || in_parallel_) {
    Report(op, DescribePoints(op) + " in order" + Tasks());
    points(b().Index(0), total);
    return;
  }
  // A body with loops or stages of its own is work enough for a task; a few scalars are not.
  int64_t weight = 0;
  ForEachOp(body, [&](const Op& inner) {
    const bool heavy =
        !inner.regions.empty() || ResultType(inner).IsTensor() || ResultType(inner).IsProduct();
    weight += heavy ? 256 : 1;
  });
  in_parallel_ = true;
  const int64_t grain = OnUnits() ? 1 : std::max<int64_t>(1, 8192 / (weight + 1));
  b().Parallel(b().Index(0), total, b().Index(grain), points);
  in_parallel_ = false;
  Report(op, DescribePoints(op) + ", split among tasks");
  if (const auto whole = loops_.whole.find(&op); whole != loops_.whole.end()) {
    Report(op, "points are not cut into tiles: " + whole->second);
  }
}

}  // namespace intent::lower
