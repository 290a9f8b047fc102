#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "compiler/specialize/specialize.h"
#include "compiler/verify/symbol_order.h"

namespace intent {
namespace {

// Liveness of operations in one function, backwards from what has effects.
class DeadCode {
 public:
  explicit DeadCode(Function* function) : function_(function) {}

  void Run() {
    Index();
    for (const Op* op : order_) {
      if (IsRoot(*op)) Mark(op);
    }
    while (!work_.empty()) {
      const Op* op = work_.back();
      work_.pop_back();
      Visit(*op);
    }
    Sweep();
  }

 private:
  void Index() {
    struct Item {
      Block* block;
      const Op* owner;
    };
    std::vector<Item> stack{{&function_->body, nullptr}};
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      blocks_.push_back(item.block);
      owner_of_block_[item.block] = item.owner;
      for (Op* op : item.block->ops) {
        order_.push_back(op);
        owner_[op] = item.owner;
        for (const auto& region : op->regions) stack.push_back({region.get(), op});
      }
    }
  }

  // What happens even if nobody uses a result. A while loop may never end.
  static bool IsRoot(const Op& op) {
    switch (InfoOf(op.kind).effect) {
      case Effect::kWrite:
      case Effect::kAssume:
        return true;
      case Effect::kTerminator:
        return op.kind == OpKind::kReturn;
      case Effect::kControl:
        return op.kind == OpKind::kWhile || op.kind == OpKind::kCall;
      case Effect::kPure:
      case Effect::kRead:
      case Effect::kDeclare:
        return false;
    }
    return true;
  }

  void Mark(const Op* op) {
    if (op != nullptr && live_.insert(op).second) work_.push_back(op);
  }

  void MarkValue(ValueId id) {
    const Value& value = function_->value(id);
    if (value.op != nullptr) Mark(value.op);
    if (value.block != nullptr) Mark(owner_of_block_.at(value.block));
  }

  void MarkExtents(const Type& type) {
    type.ForEachExtent([&](const Extent& extent) {
      extent.ForEachLeaf([&](AtomKind kind, uint32_t index) {
        if (kind == AtomKind::kValue) MarkValue(index);
      });
    });
  }

  void Visit(const Op& op) {
    Mark(owner_.at(&op));
    for (const ValueId operand : op.operands) MarkValue(operand);
    MarkExtents(function_->type(op.result));
    for (const auto& region : op.regions) {
      Mark(region->ops.back());
      for (const ValueId argument : region->arguments) MarkExtents(function_->type(argument));
    }
  }

  void Sweep() {
    // Innermost blocks last in `blocks_`: a dead operation's regions go with it.
    for (Block* block : blocks_) {
      if (const Op* owner = owner_of_block_.at(block); owner != nullptr && !live_.contains(owner)) {
        continue;
      }
      std::erase_if(block->ops, [&](const Op* op) { return !live_.contains(op); });
    }
  }

  Function* function_;
  std::vector<const Op*> order_;
  std::vector<Block*> blocks_;
  std::unordered_map<const Block*, const Op*> owner_of_block_;
  std::unordered_map<const Op*, const Op*> owner_;
  std::unordered_set<const Op*> live_;
  std::vector<const Op*> work_;
};

// Helpers that the kernel does not reach, and the calls' indices after they are gone.
void DropHelpers(Module* module) {
  std::vector<bool> reached(module->functions.size(), false);
  std::vector<uint32_t> work{module->kernel};
  reached[module->kernel] = true;
  while (!work.empty()) {
    const uint32_t index = work.back();
    work.pop_back();
    ForEachOp(module->functions[index]->body, [&](const Op& op) {
      if (op.kind != OpKind::kCall) return;
      const uint32_t callee = op.attr<CallAttr>().function;
      if (reached[callee]) return;
      reached[callee] = true;
      work.push_back(callee);
    });
  }
  std::vector<uint32_t> number(module->functions.size(), 0);
  std::vector<std::unique_ptr<Function>> kept;
  for (uint32_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]) continue;
    number[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(module->functions[i]));
  }
  module->functions = std::move(kept);
  module->kernel = number[module->kernel];
  for (const auto& function : module->functions) {
    std::vector<Op*> calls;
    ForEachOp(function->body, [&](const Op& op) {
      if (op.kind == OpKind::kCall) calls.push_back(function->value(op.result).op);
    });
    for (Op* call : calls)
      call->attr<CallAttr>().function = number[call->attr<CallAttr>().function];
  }
}

// An index that only adds axes of extent 1 moves no element: x[:, None] is a reshape.
void NewAxesAreReshapes(Function* function) {
  std::vector<Op*> found;
  ForEachOp(function->body, [&](const Op& op) {
    if (op.kind != OpKind::kGather || op.operands.size() != 1) return;
    if (!function->type(op.operands[0]).IsTensor() || !function->type(op.result).IsTensor()) return;
    const auto& terms = op.attr<IndexAttr>().terms;
    const bool moves_nothing = std::all_of(terms.begin(), terms.end(), [](const IndexTerm& term) {
      return term.kind == IndexTermKind::kFull || term.kind == IndexTermKind::kNewAxis;
    });
    if (moves_nothing) found.push_back(function->value(op.result).op);
  });
  for (Op* op : found) {
    op->kind = OpKind::kReshape;
    op->attributes = NoAttr();
  }
}

}  // namespace

void Canonicalize(Module* module) {
  DropHelpers(module);
  for (const auto& function : module->functions) {
    NewAxesAreReshapes(function.get());
    DeadCode(function.get()).Run();
    OrderSymbols(function.get());
  }
}

std::vector<uint32_t> OrdinalsInArtifacts(const Module& module,
                                          const std::vector<Binding>& bindings) {
  const std::unique_ptr<Module> canonical = Clone(module);
  if (!Specialize(canonical.get(), bindings).empty()) return {};
  Canonicalize(canonical.get());
  std::vector<uint32_t> ordinals;
  for (const auto& function : canonical->functions) {
    ForEachOp(function->body, [&](const Op& op) { ordinals.push_back(op.ordinal); });
  }
  return ordinals;
}

}  // namespace intent
