// Forms that KIR has and the builder has no words for: active predicates of unique scatters, and
// calls of helpers.

#include <map>

#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

void ForEachMutable(Block* block, const std::function<void(Op*)>& visit) {
  for (Op* op : block->ops) {
    visit(op);
    for (auto& region : op->regions) ForEachMutable(region.get(), visit);
  }
}

bool IsPointwise(OpKind kind) {
  switch (kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kMask:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Members whose value is masked away are not active.
void Generator::AddActivePredicates(Module* module) {
  Function& kernel = module->kernel_function();
  ForEachMutable(&kernel.body, [&](Op* op) {
    if (op->kind != OpKind::kScatterUnique) return;
    const Op* value = kernel.value(op->operands[1]).op;
    if (value == nullptr || value->kind != OpKind::kMask) return;
    op->operands.push_back(value->operands[1]);
    op->attr<IndexAttr>().has_valid = true;
  });
}

// Some operations become helpers of their own, with a symbol for each extent they meet.
void Generator::OutlineHelpers(Module* module) {
  Function& kernel = module->kernel_function();
  int left = static_cast<int>(random_.Between(1, 3));
  ForEachMutable(&kernel.body, [&](Op* op) {
    if (left == 0 || !IsPointwise(op->kind) || !random_.Chance(25)) return;
    const Type result = kernel.type(op->result);
    // An index may be part of a type, which a call would hide.
    if (result.dtype() == DType::kIndex) return;
    auto helper = std::make_unique<Function>();
    std::vector<std::pair<Extent, Extent>> symbols;
    const auto own = [&](const Type& type) {
      if (!type.IsTensor()) return type;
      std::vector<Extent> shape;
      for (const Extent& extent : type.shape()) {
        if (extent.IsConstant()) {
          shape.push_back(extent);
          continue;
        }
        const Extent* known = nullptr;
        for (const auto& [outer, inner] : symbols) {
          if (outer == extent) known = &inner;
        }
        if (known == nullptr) {
          symbols.emplace_back(extent, Extent::Symbol(helper->symbol_count++));
          known = &symbols.back().second;
        }
        shape.push_back(*known);
      }
      return Type::Tensor(type.dtype(), shape);
    };
    std::vector<ValueId> arguments;
    for (const ValueId operand : op->operands) {
      const Type type = own(kernel.type(operand));
      helper->parameters.push_back({.type = type});
      arguments.push_back(helper->NewArgument(&helper->body, type));
    }
    helper->result = own(result);
    Op* inner = helper->NewOp(op->kind, helper->result, arguments, op->attributes);
    helper->body.ops.push_back(inner);
    helper->body.ops.push_back(helper->NewOp(OpKind::kReturn, Type::None(), {inner->result}));
    op->kind = OpKind::kCall;
    op->attributes = CallAttr{static_cast<uint32_t>(module->functions.size())};
    module->functions.push_back(std::move(helper));
    --left;
  });
}

}  // namespace intent::testing
