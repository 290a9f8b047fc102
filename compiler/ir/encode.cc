#include <string>
#include <unordered_map>

#include "compiler/diag/check.h"
#include "compiler/ir/attribute_codec.h"
#include "compiler/ir/canonical.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/wire_bytes.h"
#include "compiler/ir/wire_enums.h"

namespace intent {
namespace {

using wire::ToWire;
namespace pb = wire::pb;

// Appends messages to a table of the wire form, equal ones once.
template <typename Message>
class Table {
 public:
  explicit Table(google::protobuf::RepeatedPtrField<Message>* out) : out_(out) {}

  uint32_t Intern(const Message& message) {
    const auto [entry, fresh] =
        index_.try_emplace(wire::DeterministicBytes(message), static_cast<uint32_t>(out_->size()));
    if (fresh) *out_->Add() = message;
    return entry->second;
  }

 private:
  google::protobuf::RepeatedPtrField<Message>* out_;
  std::unordered_map<std::string, uint32_t> index_;
};

// Extents and types of one function, values in them already renumbered.
class TypeWriter {
 public:
  explicit TypeWriter(pb::Function* out)
      : extents_(out->mutable_extents()), types_(out->mutable_types()) {}

  // Recursion is as deep as products nest.
  uint32_t Write(const Type& type) {
    pb::Type message;
    message.set_kind(static_cast<pb::TypeKind>(ToWire(type.kind())));
    switch (type.kind()) {
      case TypeKind::kNone:
        break;
      case TypeKind::kScalar:
        WriteDType(type, &message);
        break;
      case TypeKind::kView:
        message.set_access(static_cast<pb::Access>(ToWire(type.access())));
        [[fallthrough]];
      case TypeKind::kTensor:
      case TypeKind::kBuffer:
        WriteDType(type, &message);
        [[fallthrough]];
      case TypeKind::kDomain:
        for (const Extent& extent : type.shape()) message.add_shape(Write(extent));
        break;
      case TypeKind::kRecord:
        for (const std::string& name : type.names()) message.add_names(name);
        [[fallthrough]];
      case TypeKind::kTuple:
        for (const Type& field : type.fields()) message.add_fields(Write(field));
        break;
    }
    return types_.Intern(message);
  }

 private:
  static void WriteDType(const Type& type, pb::Type* message) {
    message->set_dtype(static_cast<pb::DType>(ToWire(type.dtype())));
  }

  uint32_t Write(const Extent& extent) {
    INTENT_CHECK(extent.valid());
    std::optional<uint32_t> sum;
    for (const Extent::Term& term : extent.Terms()) {
      const uint32_t product = Write(term);
      sum = sum ? Pair(&pb::Extent::mutable_add, *sum, product) : product;
    }
    return sum ? *sum : Constant(0);
  }

  uint32_t Write(const Extent::Term& term) {
    std::optional<uint32_t> product;
    for (const Extent::Factor& factor : term.factors) {
      const uint32_t atom = Write(*factor.atom);
      for (int i = 0; i < factor.power; ++i) {
        product = product ? Pair(&pb::Extent::mutable_mul, *product, atom) : atom;
      }
    }
    if (!product) return Constant(term.coefficient);
    if (term.coefficient == 1) return *product;
    return Pair(&pb::Extent::mutable_mul, *product, Constant(term.coefficient));
  }

  uint32_t Write(const ExtentAtom& atom) {
    pb::Extent leaf;
    switch (atom.kind) {
      case AtomKind::kSymbol:
        leaf.set_symbol(atom.index);
        return extents_.Intern(leaf);
      case AtomKind::kConstexpr:
        leaf.set_constexpr_parameter(atom.index);
        return extents_.Intern(leaf);
      case AtomKind::kValue:
        leaf.set_value(atom.index);
        return extents_.Intern(leaf);
      case AtomKind::kFloorDiv:
        return AtomPair(&pb::Extent::mutable_floor_div, atom);
      case AtomKind::kMod:
        return AtomPair(&pb::Extent::mutable_mod, atom);
      case AtomKind::kCeilDiv:
        return AtomPair(&pb::Extent::mutable_ceil_div, atom);
      case AtomKind::kMin:
        return AtomPair(&pb::Extent::mutable_min, atom);
      case AtomKind::kMax:
        return AtomPair(&pb::Extent::mutable_max, atom);
    }
    INTENT_UNREACHABLE();
  }

  using Member = pb::ExtentPair* (pb::Extent::*)();

  uint32_t AtomPair(Member member, const ExtentAtom& atom) {
    const uint32_t lhs = Write(*atom.lhs);
    return Pair(member, lhs, Write(*atom.rhs));
  }

  uint32_t Pair(Member member, uint32_t lhs, uint32_t rhs) {
    pb::Extent node;
    pb::ExtentPair* pair = (node.*member)();
    pair->set_lhs(lhs);
    pair->set_rhs(rhs);
    return extents_.Intern(node);
  }

  uint32_t Constant(int64_t value) {
    pb::Extent node;
    node.set_constant(value);
    return extents_.Intern(node);
  }

  Table<pb::Extent> extents_;
  Table<pb::Type> types_;
};

void WriteFunction(const Function& function, const FunctionOrder& order,
                   const wire::WriteContext& context, pb::Function* out) {
  INTENT_CHECK(function.parameters.size() == function.body.arguments.size());
  const std::vector<int32_t> groups = AliasGroups(function);
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    pb::Parameter* parameter = out->add_parameters();
    if (groups[i] >= 0) parameter->set_alias_group(static_cast<uint32_t>(groups[i]));
    parameter->set_noalias(function.parameters[i].noalias);
  }
  out->set_symbol_count(function.symbol_count);

  TypeWriter types(out);
  out->mutable_value_types()->Reserve(static_cast<int>(order.values.size()));
  for (ValueId id : order.values) {
    out->add_value_types(types.Write(Renumbered(function.type(id), order.number)));
  }
  out->set_result_type(types.Write(Renumbered(function.result, order.number)));

  std::unordered_map<const Block*, uint32_t> block_number;
  for (const Block* block : order.blocks) {
    block_number.emplace(block, static_cast<uint32_t>(block_number.size()));
  }
  std::unordered_map<const Op*, uint32_t> op_number;
  for (const Op* op : order.ops) {
    op_number.emplace(op, static_cast<uint32_t>(op_number.size()));
    pb::Operation* operation = out->add_operations();
    operation->set_kind(static_cast<pb::OpKind>(ToWire(op->kind)));
    operation->set_result(order.number[op->result]);
    for (ValueId operand : op->operands) {
      INTENT_CHECK(operand < order.number.size() && order.number[operand] != kNoValue)
          << InfoOf(op->kind).name << " uses value " << operand;
      operation->add_operands(order.number[operand]);
    }
    for (const auto& region : op->regions) operation->add_regions(block_number.at(region.get()));
    wire::WriteAttributes(*op, context, operation);
  }
  for (const Block* block : order.blocks) {
    pb::Block* to = out->add_blocks();
    for (ValueId argument : block->arguments) to->add_arguments(order.number[argument]);
    for (const Op* op : block->ops) to->add_operations(op_number.at(op));
  }
}

void WriteType(ConstexprKind kind, uint32_t enum_type, pb::ConstexprType* out) {
  out->set_kind(static_cast<pb::ConstexprKind>(ToWire(kind)));
  if (kind == ConstexprKind::kEnum) out->set_enum_type(enum_type);
}

void WriteValue(ConstexprKind kind, int64_t int_value, double float_value,
                pb::ConstexprValue* out) {
  switch (kind) {
    case ConstexprKind::kInt:
      out->set_int_value(int_value);
      return;
    case ConstexprKind::kFloat:
      out->set_float_value(float_value);
      return;
    case ConstexprKind::kBool:
      out->set_bool_value(int_value != 0);
      return;
    case ConstexprKind::kEnum:
      out->set_enum_value(int_value);
      return;
  }
}

void WriteConstexprs(const Module& module, const ConstexprOrder& order, pb::Module* out) {
  for (const EnumType& type : module.enums) {
    pb::EnumType* to = out->add_enums();
    for (int64_t value : type.values) to->add_values(value);
  }
  for (const ConstexprParameter& parameter : module.constexprs) {
    pb::ConstexprParameter* to = out->add_constexprs();
    WriteType(parameter.kind, parameter.enum_type, to->mutable_type());
    if (parameter.default_value) {
      WriteValue(parameter.kind, parameter.default_value->int_value,
                 parameter.default_value->float_value, to->mutable_default_value());
    }
    to->set_fixed(parameter.fixed);
  }
  for (const ConstexprNode& node : order.nodes) {
    pb::ConstexprNode* to = out->add_constexpr_nodes();
    to->set_op(static_cast<pb::ConstexprOp>(ToWire(node.op)));
    WriteType(node.kind, node.enum_type, to->mutable_type());
    if (node.op == ConstexprOp::kParameter) to->set_parameter(node.index);
    if (node.op == ConstexprOp::kLiteral) {
      WriteValue(node.kind, node.int_value, node.float_value, to->mutable_literal());
    }
    for (ConstexprId operand : node.operands) to->add_operands(operand);
  }
}

// `functions`: indices of those to write, in this order.
std::string Encode(const Module& module, const std::vector<uint32_t>& functions) {
  std::vector<uint32_t> function_number(module.functions.size(), kNoValue);
  std::vector<FunctionOrder> orders;
  for (uint32_t index : functions) {
    function_number[index] = static_cast<uint32_t>(orders.size());
    orders.push_back(OrderOf(*module.functions[index]));
  }
  std::vector<const FunctionOrder*> views;
  for (const FunctionOrder& order : orders) views.push_back(&order);
  const ConstexprOrder constexprs = OrderConstexprs(module, views);

  pb::Module out;
  out.set_format(1);
  WriteConstexprs(module, constexprs, &out);
  for (size_t i = 0; i < functions.size(); ++i) {
    WriteFunction(*module.functions[functions[i]], orders[i], {constexprs.number, function_number},
                  out.add_functions());
  }
  out.set_kernel(function_number[module.kernel]);
  return wire::DeterministicBytes(out);
}

}  // namespace

std::string EncodeModule(const Module& module) {
  std::vector<uint32_t> functions;
  for (uint32_t i = 0; i < module.functions.size(); ++i) functions.push_back(i);
  return Encode(module, functions);
}

std::string EncodeCanonical(const Module& module) {
  std::vector<uint32_t> functions{module.kernel};
  std::vector<bool> known(module.functions.size(), false);
  known[module.kernel] = true;
  for (size_t i = 0; i < functions.size(); ++i) {
    ForEachOp(module.functions[functions[i]]->body, [&](const Op& op) {
      if (op.kind != OpKind::kCall) return;
      const uint32_t callee = op.attr<CallAttr>().function;
      if (known[callee]) return;
      known[callee] = true;
      functions.push_back(callee);
    });
  }
  return Encode(module, functions);
}

}  // namespace intent
