#include "compiler/ir/module.h"

#include <unordered_map>

#include "compiler/diag/check.h"
#include "compiler/ir/kind_names.h"

namespace intent {
namespace {

constexpr OpInfo kOps[] = {
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) \
  {text, Effect::effect, omin, omax, rmin, rmax},
#include "compiler/ir/ops.def"
#undef INTENT_OP
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

std::optional<OpKind> OpKindFromName(std::string_view name) { return KindFromName<OpKind>(name); }

std::string_view NameOf(UnaryKind kind) { return KindName(kind); }
std::string_view NameOf(BinaryKind kind) { return KindName(kind); }
std::string_view NameOf(CompareKind kind) { return KindName(kind); }
std::string_view NameOf(RmwKind kind) { return KindName(kind); }
std::string_view NameOf(MemoryOrder order) { return KindName(order); }
std::string_view NameOf(CombineKind kind) { return KindName(kind); }

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
