#include "compiler/ir/module.h"

#include <unordered_map>

#include "compiler/diag/check.h"

namespace intent {
namespace {

constexpr OpInfo kOps[] = {
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) \
  {text, Effect::effect, omin, omax, rmin, rmax},
#include "compiler/ir/ops.def"
#undef INTENT_OP
};
constexpr std::string_view kUnary[] = {
#define INTENT_UNARY(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
};
constexpr std::string_view kBinary[] = {
#define INTENT_BINARY(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
};
constexpr std::string_view kCompare[] = {
#define INTENT_COMPARE(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_COMPARE
};
constexpr std::string_view kRmw[] = {
#define INTENT_RMW(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_RMW
};
constexpr std::string_view kOrder[] = {
#define INTENT_ORDER(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_ORDER
};
constexpr std::string_view kCombine[] = {
#define INTENT_COMBINE(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_COMBINE
};

// The attribute alternative each operation starts with.
Attributes DefaultAttributes(OpKind kind) {
  switch (kind) {
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) \
  case OpKind::name:                                                \
    return attr{};
#include "compiler/ir/ops.def"
#undef INTENT_OP
  }
  return NoAttr{};
}

// Copies one function's blocks; values keep their ids because they are created in id order.
class Cloner {
 public:
  Cloner(const Function& from, Function* to) : from_(from), to_(to) {}

  void Run() {
    to_->is_kernel = from_.is_kernel;
    to_->parameters = from_.parameters;
    to_->result = from_.result;
    to_->symbol_count = from_.symbol_count;
    struct Item {
      const Block* source;
      Block* target;
    };
    std::vector<Item> stack{{&from_.body, &to_->body}};
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      for (ValueId argument : item.source->arguments) {
        map_[argument] = to_->NewArgument(item.target, from_.type(argument));
      }
      for (const Op* op : item.source->ops) {
        Op* copy = to_->NewOp(op->kind, from_.type(op->result), op->operands, op->attributes);
        copy->ordinal = op->ordinal;
        map_[op->result] = copy->result;
        item.target->ops.push_back(copy);
        copies_.push_back(copy);
        for (const auto& region : op->regions) {
          copy->regions.push_back(std::make_unique<Block>());
          stack.push_back({region.get(), copy->regions.back().get()});
        }
      }
    }
    for (Op* copy : copies_) {
      for (ValueId& operand : copy->operands) operand = map_.at(operand);
    }
    for (ValueId id = 0; id < to_->value_count(); ++id) {
      Value& value = to_->value(id);
      value.type =
          value.type.Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
            if (kind != AtomKind::kValue) return std::nullopt;
            return Extent::Value(map_.at(index));
          });
    }
  }

 private:
  const Function& from_;
  Function* to_;
  std::unordered_map<ValueId, ValueId> map_;
  std::vector<Op*> copies_;
};

}  // namespace

const OpInfo& InfoOf(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

std::optional<OpKind> OpKindFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kOps); ++i) {
    if (kOps[i].name == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

std::string_view NameOf(UnaryKind kind) { return kUnary[static_cast<size_t>(kind)]; }
std::string_view NameOf(BinaryKind kind) { return kBinary[static_cast<size_t>(kind)]; }
std::string_view NameOf(CompareKind kind) { return kCompare[static_cast<size_t>(kind)]; }
std::string_view NameOf(RmwKind kind) { return kRmw[static_cast<size_t>(kind)]; }
std::string_view NameOf(MemoryOrder order) { return kOrder[static_cast<size_t>(order)]; }
std::string_view NameOf(CombineKind kind) { return kCombine[static_cast<size_t>(kind)]; }

Op* Function::NewOp(OpKind kind, Type type, std::vector<ValueId> operands, Attributes attributes) {
  ops_.emplace_back();
  Op* op = &ops_.back();
  op->kind = kind;
  op->operands = std::move(operands);
  op->attributes =
      std::holds_alternative<NoAttr>(attributes) ? DefaultAttributes(kind) : std::move(attributes);
  INTENT_CHECK(op->attributes.index() == DefaultAttributes(kind).index()) << InfoOf(kind).name;
  op->result = static_cast<ValueId>(values_.size());
  values_.push_back({.type = std::move(type), .op = op});
  return op;
}

ValueId Function::NewArgument(Block* block, Type type) {
  const ValueId id = static_cast<ValueId>(values_.size());
  values_.push_back({.type = std::move(type),
                     .block = block,
                     .position = static_cast<uint32_t>(block->arguments.size())});
  block->arguments.push_back(id);
  return id;
}

void ForEachOp(const Block& block, const std::function<void(const Op&)>& visit) {
  struct Cursor {
    const Block* block;
    size_t next = 0;
  };
  std::vector<Cursor> stack{{&block}};
  while (!stack.empty()) {
    Cursor& cursor = stack.back();
    if (cursor.next == cursor.block->ops.size()) {
      stack.pop_back();
      continue;
    }
    const Op& op = *cursor.block->ops[cursor.next++];
    visit(op);
    for (size_t i = op.regions.size(); i-- > 0;) stack.push_back({op.regions[i].get()});
  }
}

void NumberOperations(Module* module, SourceMap* map) {
  std::vector<Span> spans;
  uint32_t next = 0;
  for (const auto& function : module->functions) {
    ForEachOp(function->body, [&](const Op& op) {
      if (map != nullptr) spans.push_back(map->SpanOf(op.ordinal));
      const_cast<Op&>(op).ordinal = next++;
    });
  }
  if (map != nullptr) map->spans = std::move(spans);
}

namespace {

// Expressions share their parts, so a walk over one as a tree can be exponentially long and as deep
// as the module is large: after this many steps a part is taken as unknown.
constexpr int kExtentSteps = 512;

Extent ExtentOfConstexpr(const Module& module, ConstexprId id, int* steps) {
  if (--*steps < 0) return Extent::Invalid();
  const ConstexprNode& node = module.constexpr_nodes[id];
  if (node.kind != ConstexprKind::kInt) return Extent::Invalid();
  const auto operand = [&](size_t i) { return ExtentOfConstexpr(module, node.operands[i], steps); };
  switch (node.op) {
    case ConstexprOp::kParameter:
      return Extent::Constexpr(node.index);
    case ConstexprOp::kLiteral:
      return Extent(node.int_value);
    case ConstexprOp::kNegate:
      return Extent(0) - operand(0);
    case ConstexprOp::kAdd:
      return operand(0) + operand(1);
    case ConstexprOp::kSub:
      return operand(0) - operand(1);
    case ConstexprOp::kMul:
      return operand(0) * operand(1);
    case ConstexprOp::kFloorDiv:
      return Extent::FloorDiv(operand(0), operand(1));
    case ConstexprOp::kMod:
      return Extent::Mod(operand(0), operand(1));
    case ConstexprOp::kMin:
      return Extent::Min(operand(0), operand(1));
    case ConstexprOp::kMax:
      return Extent::Max(operand(0), operand(1));
    case ConstexprOp::kPow: {
      const Extent exponent = operand(1);
      if (!exponent.IsConstant() || exponent.constant() < 0 || exponent.constant() > 12) {
        return Extent::Invalid();
      }
      Extent power(1);
      for (int64_t i = 0; i < exponent.constant(); ++i) power = power * operand(0);
      return power;
    }
    case ConstexprOp::kNot:
    case ConstexprOp::kTrueDiv:
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe:
    case ConstexprOp::kAnd:
    case ConstexprOp::kOr:
    case ConstexprOp::kSelect:
      return Extent::Invalid();
  }
  return Extent::Invalid();
}

Extent ExtentOf(const Module& module, const Function& function, ValueId id, int* steps) {
  const Value& value = function.value(id);
  const Extent opaque = Extent::Value(id);
  if (value.op == nullptr || --*steps < 0) return opaque;
  const Op& op = *value.op;
  Extent result = opaque;
  switch (op.kind) {
    case OpKind::kConstant:
      result = Extent(static_cast<int64_t>(op.attr<ConstantAttr>().value.bits));
      break;
    case OpKind::kConstexpr:
      result = ExtentOfConstexpr(module, op.attr<ConstexprAttr>().expr, steps);
      break;
    case OpKind::kDim: {
      const StaticInt& axis = op.attr<AxisAttr>().axis;
      const Type& source = function.type(op.operands[0]);
      if (!axis.resolved() || axis.value < 0 || axis.value >= source.rank()) break;
      result = source.shape()[axis.value];
      break;
    }
    case OpKind::kBinary: {
      const auto lhs = [&] { return ExtentOf(module, function, op.operands[0], steps); };
      const auto rhs = [&] { return ExtentOf(module, function, op.operands[1], steps); };
      switch (op.attr<BinaryAttr>().kind) {
        case BinaryKind::kAdd:
          result = lhs() + rhs();
          break;
        case BinaryKind::kSub:
          result = lhs() - rhs();
          break;
        case BinaryKind::kMul:
          result = lhs() * rhs();
          break;
        case BinaryKind::kFloorDiv:
          result = Extent::FloorDiv(lhs(), rhs());
          break;
        case BinaryKind::kMod:
          result = Extent::Mod(lhs(), rhs());
          break;
        case BinaryKind::kMaximum:
          result = Extent::Max(lhs(), rhs());
          break;
        case BinaryKind::kMinimum:
          result = Extent::Min(lhs(), rhs());
          break;
        default:
          break;
      }
      break;
    }
    case OpKind::kUnary:
      if (op.attr<UnaryAttr>().kind == UnaryKind::kNegate) {
        result = Extent(0) - ExtentOf(module, function, op.operands[0], steps);
      }
      break;
    default:
      break;
  }
  return result.valid() ? result : opaque;
}

}  // namespace

Extent ExtentOfConstexpr(const Module& module, ConstexprId id) {
  int steps = kExtentSteps;
  return ExtentOfConstexpr(module, id, &steps);
}

Extent ExtentOf(const Module& module, const Function& function, ValueId value) {
  int steps = kExtentSteps;
  return ExtentOf(module, function, value, &steps);
}

std::unique_ptr<Module> Clone(const Module& module) {
  auto copy = std::make_unique<Module>();
  copy->enums = module.enums;
  copy->constexprs = module.constexprs;
  copy->constexpr_nodes = module.constexpr_nodes;
  copy->kernel = module.kernel;
  for (const auto& function : module.functions) {
    copy->functions.push_back(std::make_unique<Function>());
    Cloner(*function, copy->functions.back().get()).Run();
  }
  return copy;
}

}  // namespace intent
