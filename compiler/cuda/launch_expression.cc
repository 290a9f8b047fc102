#include "compiler/cuda/launch_expression.h"

#include <algorithm>
#include <set>

#include "compiler/cuda/multiples.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/scalar.h"
#include "compiler/runtime/launch_program.h"

namespace intent::cuda {

using compile::v1::Instruction;
using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

LaunchExpression Node(LaunchNode node) {
  return std::make_shared<const LaunchNode>(std::move(node));
}

bool IsConstant(const LaunchExpression& expression, int64_t value) {
  return expression != nullptr && expression->opcode == Instruction::OPCODE_CONSTANT &&
         expression->value == value;
}

void Append(const LaunchExpression& expression, compile::v1::Program* program) {
  for (const LaunchExpression& operand : expression->operands) Append(operand, program);
  Instruction* instruction = program->add_instructions();
  instruction->set_opcode(expression->opcode);
  instruction->set_value(expression->value);
  instruction->set_index(expression->index);
  instruction->set_axis(expression->axis);
}

size_t SizeOf(const LaunchExpression& expression) {
  size_t size = 1;
  for (const LaunchExpression& operand : expression->operands) {
    if (size > kMaxProgramInstructions) break;
    size += SizeOf(operand);
  }
  return size;
}

// Never negative, whatever the call.
bool NonNegative(const LaunchExpression& e) {
  if (e == nullptr) return false;
  switch (e->opcode) {
    case Instruction::OPCODE_CONSTANT:
      return e->value >= 0;
    case Instruction::OPCODE_EXTENT:
      return true;
    case Instruction::OPCODE_MAX:
      return NonNegative(e->operands[0]) || NonNegative(e->operands[1]);
    case Instruction::OPCODE_ADD:
    case Instruction::OPCODE_MUL:
    case Instruction::OPCODE_MIN:
    case Instruction::OPCODE_FLOORDIV:
    case Instruction::OPCODE_CEILDIV:
      return NonNegative(e->operands[0]) && NonNegative(e->operands[1]);
    default:
      return false;
  }
}

}  // namespace

LaunchExpression LaunchConstant(int64_t value) {
  return Node({.opcode = Instruction::OPCODE_CONSTANT, .value = value, .operands = {}});
}

LaunchExpression LaunchOperation(LaunchNode::Opcode opcode, LaunchExpression a,
                                 LaunchExpression b) {
  if (a == nullptr || b == nullptr) return nullptr;
  if (a->opcode == Instruction::OPCODE_CONSTANT && b->opcode == Instruction::OPCODE_CONSTANT) {
    if (const auto folded = Apply(opcode, a->value, b->value)) return LaunchConstant(*folded);
  }
  switch (opcode) {
    case Instruction::OPCODE_ADD:
      if (IsConstant(a, 0)) return b;
      [[fallthrough]];
    case Instruction::OPCODE_SUB:
      if (IsConstant(b, 0)) return a;
      break;
    case Instruction::OPCODE_MUL:
      if (IsConstant(a, 1) || IsConstant(b, 0)) return b;
      if (IsConstant(b, 1) || IsConstant(a, 0)) return a;
      break;
    case Instruction::OPCODE_FLOORDIV:
    case Instruction::OPCODE_CEILDIV:
      if (IsConstant(b, 1)) return a;
      break;
    case Instruction::OPCODE_MAX:
    case Instruction::OPCODE_MIN:
      if (ToString(a) == ToString(b)) return a;
      break;
    default:
      break;
  }
  return Node({.opcode = opcode, .operands = {std::move(a), std::move(b)}});
}

LaunchExpression LaunchSum(const LaunchExpression& a, const LaunchExpression& b) {
  return LaunchOperation(Instruction::OPCODE_ADD, a, b);
}
LaunchExpression LaunchProduct(const LaunchExpression& a, const LaunchExpression& b) {
  return LaunchOperation(Instruction::OPCODE_MUL, a, b);
}
LaunchExpression LaunchMax(const LaunchExpression& a, const LaunchExpression& b) {
  return LaunchOperation(Instruction::OPCODE_MAX, a, b);
}

std::optional<int64_t> ConstantOf(const LaunchExpression& expression) {
  if (expression == nullptr || expression->opcode != Instruction::OPCODE_CONSTANT)
    return std::nullopt;
  return expression->value;
}

std::string ToString(const LaunchExpression& expression) {
  std::string text = std::to_string(expression->opcode) + "." + std::to_string(expression->value) +
                     "." + std::to_string(expression->index) + "." +
                     std::to_string(expression->axis);
  for (const LaunchExpression& operand : expression->operands)
    text += "(" + ToString(operand) + ")";
  return text;
}

std::optional<compile::v1::Program> ToProgram(const LaunchExpression& expression) {
  if (expression == nullptr || SizeOf(expression) > kMaxProgramInstructions) return std::nullopt;
  compile::v1::Program program;
  Append(expression, &program);
  return program;
}

LaunchBounds::LaunchBounds(const tile::Program& program, std::vector<uint32_t> view_parameters,
                           std::vector<uint32_t> scalar_parameters)
    : program_(program),
      views_(std::move(view_parameters)),
      scalars_(std::move(scalar_parameters)) {
  Index(program.body);
}

void LaunchBounds::Index(const Block& block) {
  for (const Op* op : block.ops) {
    for (size_t region = 0; region < op->regions.size(); ++region) {
      const Block& inner = *op->regions[region];
      for (size_t i = 0; i < inner.arguments.size(); ++i) {
        places_[inner.arguments[i]] = {op, region, i};
      }
      Index(inner);
    }
  }
}

LaunchExpression LaunchBounds::Upper(Id id) { return RangeOf(id).upper; }
LaunchExpression LaunchBounds::Lower(Id id) { return RangeOf(id).lower; }

// An index that a call's arguments give as it is, or its remainder.
LaunchExpression LaunchBounds::Exact(Id id) const {
  const Op* op = program_.definition(id);
  if (op == nullptr) return nullptr;
  if (op->kind == OpKind::kConst && op->constant.dtype == DType::kIndex)
    return LaunchConstant(numerics::AsIndex(op->constant));
  if (op->kind == OpKind::kBinary && op->binary == BinaryKind::kMod) {
    const LaunchExpression divisor = Exact(op->operands[1]);
    return ConstantOf(divisor).value_or(0) > 0
               ? LaunchOperation(Instruction::OPCODE_MOD, Exact(op->operands[0]), divisor)
               : nullptr;
  }
  if (op->kind != OpKind::kViewStride && op->kind != OpKind::kViewExtent) return nullptr;
  return Node({.opcode = op->kind == OpKind::kViewStride ? Instruction::OPCODE_STRIDE
                                                         : Instruction::OPCODE_EXTENT,
               .index = views_[static_cast<size_t>(op->index)],
               .axis = static_cast<uint32_t>(op->axis),
               .operands = {}});
}

LaunchExpression LaunchBounds::ConditionOf(Id id, bool overlaps, bool shapes) const {
  const Op* op = program_.definition(id);
  if (op == nullptr) return nullptr;
  const auto operand = [&](size_t i) { return ConditionOf(op->operands[i], overlaps, shapes); };
  const auto compared = [&](LaunchNode::Opcode opcode) {
    return LaunchOperation(opcode, Exact(op->operands[0]), Exact(op->operands[1]));
  };
  switch (op->kind) {
    case OpKind::kOverlap:
    case OpKind::kSameView:
      if (!overlaps) return nullptr;
      return Node({.opcode = op->kind == OpKind::kOverlap ? Instruction::OPCODE_OVERLAP
                                                          : Instruction::OPCODE_SAME_VIEW,
                   .index = views_[static_cast<size_t>(op->index)],
                   .axis = views_[static_cast<size_t>(op->axis)],
                   .operands = {}});
    case OpKind::kUnary:
      return op->unary == UnaryKind::kNot
                 ? LaunchOperation(Instruction::OPCODE_EQ, operand(0), LaunchConstant(0))
                 : nullptr;
    case OpKind::kBinary:
      if (program_.type(id).dtype != DType::kBool) return nullptr;
      if (op->binary == BinaryKind::kAnd)
        return LaunchOperation(Instruction::OPCODE_MIN, operand(0), operand(1));
      if (op->binary == BinaryKind::kOr)
        return LaunchOperation(Instruction::OPCODE_MAX, operand(0), operand(1));
      return nullptr;
    case OpKind::kCompare:
      if (!shapes) return nullptr;
      switch (op->compare) {
        case CompareKind::kEq:
          return compared(Instruction::OPCODE_EQ);
        case CompareKind::kNe:
          return compared(Instruction::OPCODE_NE);
        case CompareKind::kLt:
          return compared(Instruction::OPCODE_LT);
        case CompareKind::kLe:
          return compared(Instruction::OPCODE_LE);
        default:
          return nullptr;
      }
    default:
      return nullptr;
  }
}

LaunchExpression LaunchBounds::OverlapCondition(Id id) const {
  return ConditionOf(id, /*overlaps=*/true, /*shapes=*/false);
}
LaunchExpression LaunchBounds::ShapeCondition(Id id) const {
  return ConditionOf(id, /*overlaps=*/false, /*shapes=*/true);
}
LaunchExpression LaunchBounds::Condition(Id id) const {
  return ConditionOf(id, /*overlaps=*/true, /*shapes=*/true);
}

LaunchExpression LaunchBounds::Meets(const lower::Assumptions& assumed) {
  LaunchExpression rest = LaunchConstant(0);  // is 0
  std::set<std::string> terms;                // each stands once
  const auto zero = [&](const LaunchExpression& e) {
    if (e == nullptr || terms.insert(ToString(e)).second) rest = LaunchMax(rest, e);
  };
  const auto multiple = [&](const LaunchExpression& e, int64_t of) {
    if (of > 1) zero(LaunchOperation(Instruction::OPCODE_MOD, e, LaunchConstant(of)));
  };
  for (const lower::Assumptions::Row& row : assumed.rows) {
    zero(LaunchOperation(Instruction::OPCODE_LT, LaunchConstant(row.most), Upper(row.extent)));
    const LaunchExpression extent = Exact(row.extent);
    if (extent != nullptr) multiple(extent, row.multiple);
    // A held row has a first tile with an active lane.
    if (assumed.dense_rows) {
      zero(LaunchOperation(Instruction::OPCODE_LT, extent != nullptr ? extent : Lower(row.extent),
                           LaunchConstant(1)));
    }
  }
  const std::set<size_t> tiled = ViewsOfTiles(program_);
  for (size_t i = 0; assumed.dense_rows && i < program_.views.size(); ++i) {
    const tile::ViewParameter& view = program_.views[i];
    const auto leaf = [&](LaunchNode::Opcode opcode, int axis) {
      return Node({.opcode = opcode,
                   .index = views_[i],
                   .axis = static_cast<uint32_t>(axis),
                   .operands = {}});
    };
    if (tiled.contains(i)) multiple(leaf(Instruction::OPCODE_ADDRESS, 0), lower::kRowAlignment);
    for (int axis = 0; tiled.contains(i) && axis + 1 < view.rank; ++axis) {
      multiple(
          leaf(Instruction::OPCODE_STRIDE, axis),
          lower::kRowAlignment / std::min<int64_t>(lower::kRowAlignment, StorageBytes(view.dtype)));
    }
    if (view.rank > 0) {
      zero(LaunchOperation(Instruction::OPCODE_NE, leaf(Instruction::OPCODE_STRIDE, view.rank - 1),
                           LaunchConstant(1)));
    }
  }
  for (Id condition : assumed.excluded) zero(OverlapCondition(condition));
  return LaunchOperation(Instruction::OPCODE_EQ, rest, LaunchConstant(0));
}

void LaunchBounds::AssumeNo(std::set<Id> detours) {
  detours_ = std::move(detours);
  no_detours_ = true;
  known_.clear();
}

void LaunchBounds::Coarsen() {
  coarse_ = true;
  known_.clear();
}

LaunchBounds::Range LaunchBounds::RangeOf(Id id) {
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  known_[id] = {};  // nothing is known of what depends on itself
  Range range;
  if (const Op* op = program_.definition(id)) {
    range = OfDefinition(*op, id);
  } else if (const auto place = places_.find(id); place != places_.end()) {
    const Op& owner = *place->second.op;
    // An induction variable, or the bounds of a task.
    if (owner.kind == OpKind::kFor && place->second.position == 0) {
      range.lower = Lower(owner.operands[0]);
      range.upper =
          LaunchOperation(Instruction::OPCODE_SUB, Upper(owner.operands[1]), LaunchConstant(1));
    } else if (owner.kind == OpKind::kParallel) {
      range = {Lower(owner.operands[0]), Upper(owner.operands[1])};
    }
  }
  known_[id] = range;
  return range;
}

LaunchBounds::Range LaunchBounds::OfDefinition(const Op& op, Id id) {
  const auto leaf = [](LaunchNode::Opcode opcode, uint32_t index, uint32_t axis) {
    const LaunchExpression exact =
        Node({.opcode = opcode, .index = index, .axis = axis, .operands = {}});
    return Range{exact, exact};
  };
  switch (op.kind) {
    case OpKind::kConst: {
      if (!IsInteger(op.constant.dtype) && op.constant.dtype != DType::kIndex) return {};
      if (BitWidth(op.constant.dtype) > 64) return {};
      const LaunchExpression exact =
          LaunchConstant(static_cast<int64_t>(numerics::AsInteger(op.constant)));
      return {exact, exact};
    }
    case OpKind::kViewExtent: {
      Range range = leaf(Instruction::OPCODE_EXTENT, views_[static_cast<size_t>(op.index)],
                         static_cast<uint32_t>(op.axis));
      range.lower = LaunchConstant(0);
      return range;
    }
    case OpKind::kViewStride:
      return leaf(Instruction::OPCODE_STRIDE, views_[static_cast<size_t>(op.index)],
                  static_cast<uint32_t>(op.axis));
    case OpKind::kScalarArg: {
      const DType dtype = program_.type(id).dtype;
      if (dtype != DType::kIndex && (!IsInteger(dtype) || BitWidth(dtype) > 64)) return {};
      return leaf(Instruction::OPCODE_SCALAR, scalars_[static_cast<size_t>(op.index)], 0);
    }
    case OpKind::kCast: {
      const DType from = program_.type(op.operands[0]).dtype, to = program_.type(id).dtype;
      const bool integers =
          (IsInteger(from) || from == DType::kIndex) && (IsInteger(to) || to == DType::kIndex);
      return integers && BitWidth(to) == 64 && BitWidth(from) <= 64 && from != DType::kU64
                 ? RangeOf(op.operands[0])
                 : Range{};
    }
    case OpKind::kSelect: {
      if (no_detours_ &&
          (detours_.contains(op.operands[0]) || OverlapCondition(op.operands[0]) != nullptr)) {
        return RangeOf(op.operands[2]);
      }
      const Range a = RangeOf(op.operands[1]), b = RangeOf(op.operands[2]);
      const LaunchExpression condition = coarse_ ? nullptr : ShapeCondition(op.operands[0]);
      if (condition != nullptr && a.upper != nullptr && b.upper != nullptr) {
        const LaunchExpression upper =
            Node({.opcode = Instruction::OPCODE_SELECT, .operands = {condition, a.upper, b.upper}});
        return {LaunchOperation(Instruction::OPCODE_MIN, a.lower, b.lower), upper};
      }
      return {LaunchOperation(Instruction::OPCODE_MIN, a.lower, b.lower),
              LaunchMax(a.upper, b.upper)};
    }
    case OpKind::kIf: {
      const size_t result = static_cast<size_t>(
          std::find(op.results.begin(), op.results.end(), id) - op.results.begin());
      const Range a = RangeOf(op.regions[0]->ops.back()->operands[result]);
      const Range b = RangeOf(op.regions[1]->ops.back()->operands[result]);
      return {LaunchOperation(Instruction::OPCODE_MIN, a.lower, b.lower),
              LaunchMax(a.upper, b.upper)};
    }
    case OpKind::kBinary:
      return OfBinary(op);
    case OpKind::kBounded: {
      const LaunchExpression known = Upper(op.operands[0]);
      return {LaunchConstant(0), known != nullptr ? known : Upper(op.operands[1])};
    }
    default:
      return {};
  }
}

LaunchBounds::Range LaunchBounds::OfBinary(const Op& op) {
  const Range a = RangeOf(op.operands[0]), b = RangeOf(op.operands[1]);
  const auto both = [](LaunchNode::Opcode opcode, const LaunchExpression& x,
                       const LaunchExpression& y) { return LaunchOperation(opcode, x, y); };
  const auto either = [&](LaunchNode::Opcode opcode, const LaunchExpression& x,
                          const LaunchExpression& y) {
    return x == nullptr ? y : y == nullptr ? x : both(opcode, x, y);
  };
  switch (op.binary) {
    case BinaryKind::kAdd:
      return {both(Instruction::OPCODE_ADD, a.lower, b.lower),
              both(Instruction::OPCODE_ADD, a.upper, b.upper)};
    case BinaryKind::kSub:
      return {both(Instruction::OPCODE_SUB, a.lower, b.upper),
              both(Instruction::OPCODE_SUB, a.upper, b.lower)};
    case BinaryKind::kMul: {
      if (NonNegative(a.lower) && NonNegative(b.lower)) {
        return {both(Instruction::OPCODE_MUL, a.lower, b.lower),
                both(Instruction::OPCODE_MUL, a.upper, b.upper)};
      }
      // By a constant of known sign.
      const auto scale = [&](const Range& range, int64_t factor) {
        const LaunchExpression by = LaunchConstant(factor);
        const Range scaled{both(Instruction::OPCODE_MUL, range.lower, by),
                           both(Instruction::OPCODE_MUL, range.upper, by)};
        return factor >= 0 ? scaled : Range{scaled.upper, scaled.lower};
      };
      if (ConstantOf(b.lower) && b.lower == b.upper) return scale(a, b.lower->value);
      if (ConstantOf(a.lower) && a.lower == a.upper) return scale(b, a.lower->value);
      // Factors of sizes are extents, which are not negative where anything is made of them.
      const auto positive = [](const Range& range) {
        return NonNegative(range.lower) ? range.upper : LaunchMax(range.upper, LaunchConstant(0));
      };
      return {nullptr, both(Instruction::OPCODE_MUL, positive(a), positive(b))};
    }
    case BinaryKind::kFloorDiv: {
      const auto divisor = ConstantOf(b.lower);
      if (divisor.value_or(0) <= 0 || b.lower != b.upper) {
        // A divisor above 0 makes nothing larger; others give what is not used.
        return NonNegative(a.lower) ? Range{LaunchConstant(0), a.upper}
                                    : Range{nullptr, LaunchMax(a.upper, LaunchConstant(0))};
      }
      return {both(Instruction::OPCODE_FLOORDIV, a.lower, b.lower),
              both(Instruction::OPCODE_FLOORDIV, a.upper, b.lower)};
    }
    case BinaryKind::kMod: {
      const auto divisor = ConstantOf(b.lower);
      if (divisor.value_or(0) > 0 && b.lower == b.upper)
        return {LaunchConstant(0), LaunchConstant(*divisor - 1)};
      if (!NonNegative(b.lower)) return {};
      return {LaunchConstant(0), b.upper};
    }
    case BinaryKind::kMinimum: {
      Range range{both(Instruction::OPCODE_MIN, a.lower, b.lower), nullptr};
      // The guards of products against overflow (Lowerer::Count) bound nothing that fits a device.
      constexpr int64_t kBeyondAnyDevice = int64_t{1} << 40;
      const auto beyond = [&](const LaunchExpression& e) {
        const auto constant = ConstantOf(e);
        return (constant && *constant >= kBeyondAnyDevice) ||
               (e != nullptr && e->opcode == Instruction::OPCODE_FLOORDIV &&
                ConstantOf(e->operands[0]).value_or(0) >= kBeyondAnyDevice);
      };
      if (coarse_ && a.upper != nullptr && b.upper != nullptr && !beyond(a.upper) &&
          !beyond(b.upper)) {
        // A constant is bound enough.
        if (!ConstantOf(b.upper) && ConstantOf(a.upper)) return {range.lower, a.upper};
        if (!ConstantOf(a.upper) && ConstantOf(b.upper)) return {range.lower, b.upper};
      }
      range.upper = beyond(b.upper) && a.upper != nullptr ? a.upper
                    : beyond(a.upper) && b.upper != nullptr
                        ? b.upper
                        : either(Instruction::OPCODE_MIN, a.upper, b.upper);
      return range;
    }
    case BinaryKind::kMaximum:
      return {either(Instruction::OPCODE_MAX, a.lower, b.lower),
              both(Instruction::OPCODE_MAX, a.upper, b.upper)};
    default:
      return {};
  }
}

}  // namespace intent::cuda
