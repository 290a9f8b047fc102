#include "compiler/ir/canonical.h"

#include <map>
#include <string>
#include <unordered_map>

#include "compiler/diag/check.h"

namespace intent {
namespace {

void Append(std::string* key, const void* data, size_t size) {
  key->append(static_cast<const char*>(data), size);
}

// Equal nodes, and only they, have equal keys.
std::string KeyOf(const ConstexprNode& node) {
  std::string key;
  key += static_cast<char>(node.op);
  key += static_cast<char>(node.kind);
  Append(&key, &node.index, sizeof(node.index));
  Append(&key, &node.enum_type, sizeof(node.enum_type));
  Append(&key, &node.int_value, sizeof(node.int_value));
  Append(&key, &node.float_value, sizeof(node.float_value));
  for (ConstexprId operand : node.operands) Append(&key, &operand, sizeof(operand));
  return key;
}

// Keeps only what the node's operation and kind give a meaning.
ConstexprNode Stripped(const ConstexprNode& node) {
  ConstexprNode result;
  result.op = node.op;
  result.kind = node.kind;
  if (node.kind == ConstexprKind::kEnum) result.enum_type = node.enum_type;
  if (node.op == ConstexprOp::kParameter) result.index = node.index;
  if (node.op == ConstexprOp::kLiteral) {
    if (node.kind == ConstexprKind::kFloat) {
      result.float_value = node.float_value;
    } else {
      result.int_value = node.int_value;
    }
  }
  return result;
}

class ConstexprWalk {
 public:
  explicit ConstexprWalk(const Module& module) : module_(module) {
    order_.number.assign(module.constexpr_nodes.size(), kNoConstexpr);
  }

  void Use(ConstexprId root) {
    INTENT_CHECK(root < module_.constexpr_nodes.size()) << root;
    struct Cursor {
      ConstexprId id;
      size_t next = 0;
    };
    std::vector<Cursor> stack{{root}};
    while (!stack.empty()) {
      Cursor& cursor = stack.back();
      const ConstexprNode& node = module_.constexpr_nodes[cursor.id];
      if (order_.number[cursor.id] != kNoConstexpr) {
        stack.pop_back();
      } else if (cursor.next < node.operands.size()) {
        const ConstexprId operand = node.operands[cursor.next++];
        INTENT_CHECK(operand < cursor.id) << "constexpr operands precede users";
        stack.push_back({operand});
      } else {
        Number(cursor.id);
        stack.pop_back();
      }
    }
    order_.named[order_.number[root]] = true;
  }

  ConstexprOrder Take() { return std::move(order_); }

 private:
  void Number(ConstexprId id) {
    ConstexprNode node = Stripped(module_.constexpr_nodes[id]);
    for (ConstexprId operand : module_.constexpr_nodes[id].operands) {
      node.operands.push_back(order_.number[operand]);
    }
    const auto [entry, fresh] =
        known_.try_emplace(KeyOf(node), static_cast<ConstexprId>(order_.nodes.size()));
    if (fresh) {
      order_.nodes.push_back(std::move(node));
      order_.named.push_back(false);
    }
    order_.number[id] = entry->second;
  }

  const Module& module_;
  ConstexprOrder order_;
  std::unordered_map<std::string, ConstexprId> known_;
};

}  // namespace

FunctionOrder OrderOf(const Function& function) {
  FunctionOrder order;
  order.number.assign(function.value_count(), kNoValue);
  const auto define = [&](ValueId id) {
    INTENT_CHECK(id < order.number.size() && order.number[id] == kNoValue) << id;
    order.number[id] = static_cast<uint32_t>(order.values.size());
    order.values.push_back(id);
  };
  struct Cursor {
    const Block* block;
    size_t next = 0;
    bool entered = false;
  };
  std::vector<Cursor> stack{{&function.body}};
  while (!stack.empty()) {
    Cursor& cursor = stack.back();
    if (!cursor.entered) {
      cursor.entered = true;
      order.blocks.push_back(cursor.block);
      for (ValueId argument : cursor.block->arguments) define(argument);
    }
    if (cursor.next == cursor.block->ops.size()) {
      stack.pop_back();
      continue;
    }
    const Op& op = *cursor.block->ops[cursor.next++];
    order.ops.push_back(&op);
    define(op.result);
    for (size_t i = op.regions.size(); i-- > 0;) stack.push_back({op.regions[i].get()});
  }
  return order;
}

void ForEachConstexpr(const Attributes& attributes, const std::function<void(ConstexprId)>& visit) {
  const auto one = [&](const StaticInt& value) {
    if (!value.resolved()) visit(value.expr);
  };
  const auto terms = [&](const IndexAttr& attr) {
    for (const IndexTerm& term : attr.terms) one(term.position);
  };
  const auto pairs = [&](const ContractAttr& attr) {
    for (const std::vector<AxisPair>* list : {&attr.reduce, &attr.batch}) {
      for (const AxisPair& pair : *list) {
        one(pair.lhs);
        one(pair.rhs);
      }
    }
  };
  struct Visitor {
    const std::function<void(ConstexprId)>& visit;
    const decltype(one)& one_;
    const decltype(terms)& terms_;
    const decltype(pairs)& pairs_;
    void operator()(const NoAttr&) const {}
    void operator()(const ConstantAttr&) const {}
    void operator()(const ConstexprAttr& a) const { visit(a.expr); }
    void operator()(const AxisAttr& a) const { one_(a.axis); }
    void operator()(const AxesAttr& a) const {
      for (const StaticInt& axis : a.axes) one_(axis);
    }
    void operator()(const SubregionAttr&) const {}
    void operator()(const CallAttr&) const {}
    void operator()(const UnaryAttr& a) const { one_(a.approximate), one_(a.flush_to_zero); }
    void operator()(const BinaryAttr& a) const { one_(a.approximate), one_(a.flush_to_zero); }
    void operator()(const CompareAttr&) const {}
    void operator()(const ReduceAttr& a) const {
      for (const StaticInt& axis : a.axes) one_(axis);
    }
    void operator()(const ScanAttr& a) const { one_(a.axis), one_(a.inclusive), one_(a.reverse); }
    void operator()(const RegionAttr& a) const { one_(a.axis); }
    void operator()(const ContractAttr& a) const { pairs_(a); }
    void operator()(const ScaledAttr& a) const { one_(a.group_size); }
    void operator()(const SparseAttr& a) const { one_(a.compression_axis), pairs_(a.contract); }
    void operator()(const FormatAttr&) const {}
    void operator()(const IndexAttr& a) const { terms_(a); }
    void operator()(const ScatterReduceAttr& a) const { terms_(a.index); }
    void operator()(const AtomicAttr& a) const { terms_(a.index); }
  };
  std::visit(Visitor{visit, one, terms, pairs}, attributes);
}

ConstexprOrder OrderConstexprs(const Module& module,
                               const std::vector<const FunctionOrder*>& functions) {
  ConstexprWalk walk(module);
  for (const FunctionOrder* function : functions) {
    for (const Op* op : function->ops) {
      ForEachConstexpr(op->attributes, [&](ConstexprId id) { walk.Use(id); });
    }
  }
  return walk.Take();
}

int ConstexprArity(ConstexprOp op) {
  switch (op) {
    case ConstexprOp::kParameter:
    case ConstexprOp::kLiteral:
      return 0;
    case ConstexprOp::kNegate:
    case ConstexprOp::kNot:
      return 1;
    case ConstexprOp::kAdd:
    case ConstexprOp::kSub:
    case ConstexprOp::kMul:
    case ConstexprOp::kFloorDiv:
    case ConstexprOp::kMod:
    case ConstexprOp::kPow:
    case ConstexprOp::kTrueDiv:
    case ConstexprOp::kMin:
    case ConstexprOp::kMax:
    case ConstexprOp::kEq:
    case ConstexprOp::kNe:
    case ConstexprOp::kLt:
    case ConstexprOp::kLe:
    case ConstexprOp::kGt:
    case ConstexprOp::kGe:
    case ConstexprOp::kAnd:
    case ConstexprOp::kOr:
      return 2;
    case ConstexprOp::kSelect:
      return 3;
  }
  return 0;
}

Type Renumbered(const Type& type, const std::vector<uint32_t>& number) {
  bool uses_values = false;
  type.ForEachExtent([&](const Extent& extent) {
    extent.ForEachLeaf(
        [&](AtomKind kind, uint32_t) { uses_values = uses_values || kind == AtomKind::kValue; });
  });
  if (!uses_values) return type;
  return type.Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
    if (kind != AtomKind::kValue) return std::nullopt;
    INTENT_CHECK(index < number.size() && number[index] != kNoValue)
        << "extent uses value " << index;
    return Extent::Value(number[index]);
  });
}

std::vector<int32_t> AliasGroups(const Function& function) {
  std::map<int32_t, int32_t> number;
  std::vector<int32_t> groups;
  for (const Parameter& parameter : function.parameters) {
    if (parameter.alias_group < 0) {
      groups.push_back(-1);
    } else {
      groups.push_back(
          number.try_emplace(parameter.alias_group, static_cast<int32_t>(number.size()))
              .first->second);
    }
  }
  return groups;
}

}  // namespace intent
