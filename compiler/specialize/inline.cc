#include "compiler/specialize/inline.h"

#include <unordered_map>

#include "compiler/diag/check.h"
#include "compiler/specialize/attributes.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/literal.h"
#include "compiler/verify/symbol_binding.h"
#include "compiler/verify/value_extents.h"

namespace intent::specialize {
namespace {

// One pass in program order that copies the kernel and, in place of each call, its helper. Values
// that the copy makes superfluous (tuples that only carried an arm's results, returns) become
// aliases; extents that name a value get what the value has become.
class Inliner {
 public:
  Inliner(const Module& module, const std::vector<ConstexprValue>& parameters,
          const std::vector<ConstexprResult>& nodes, DiagnosticSink* sink)
      : module_(module),
        parameters_(parameters),
        nodes_(nodes),
        sink_(sink),
        result_(std::make_unique<Function>()),
        extents_(module, *result_) {}

  std::unique_ptr<Function> Run() {
    const Function& kernel = module_.kernel_function();
    auto instance = std::make_shared<Instance>();
    instance->source = &kernel;
    instance->keeps_symbols = true;
    result_->is_kernel = true;
    result_->symbol_count = kernel.symbol_count;
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      Parameter parameter = kernel.parameters[i];
      parameter.type = Translate(parameter.type, *instance);
      instance->values[kernel.body.arguments[i]] =
          result_->NewArgument(&result_->body, parameter.type);
      result_->parameters.push_back(std::move(parameter));
    }
    stack_.push_back({instance, &kernel.body, &result_->body});
    while (!stack_.empty() && sink_->ok()) Step();
    return sink_->ok() ? std::move(result_) : nullptr;
  }

 private:
  // One function while it is copied: the kernel, or a helper at one call.
  struct Instance {
    const Function* source;
    bool keeps_symbols = false;
    std::unordered_map<ValueId, ValueId> values;
    SymbolBinding symbols;                          // of a helper, by its arguments
    std::unordered_map<uint32_t, uint32_t> slices;  // fresh symbols of region operations
  };
  using InstancePtr = std::shared_ptr<Instance>;

  enum class Mode : uint8_t { kBlock, kArm, kCall };
  struct Cursor {
    InstancePtr instance;
    const Block* block;
    Block* target;
    Mode mode = Mode::kBlock;
    const Op* owner = nullptr;  // kArm: the branch, kCall: the call
    InstancePtr caller;         // kCall
    size_t next = 0;
  };

  void Step() {
    Cursor& cursor = stack_.back();
    if (cursor.next == cursor.block->ops.size()) {
      stack_.pop_back();
      return;
    }
    const Op& op = *cursor.block->ops[cursor.next++];
    const bool last = cursor.next == cursor.block->ops.size();
    if (last && cursor.mode == Mode::kArm) {
      EndArm(cursor, op);
    } else if (last && cursor.mode == Mode::kCall) {
      if (!op.operands.empty()) {
        cursor.caller->values[cursor.owner->result] = cursor.instance->values.at(op.operands[0]);
      }
    } else if (op.kind == OpKind::kConstexprIf) {
      const auto* value = ValueOf(op.attr<ConstexprAttr>().expr, op);
      if (value == nullptr) return;
      const Block* arm = op.regions[value->int_value != 0 ? 0 : 1].get();
      stack_.push_back({cursor.instance, arm, cursor.target, Mode::kArm, &op});
    } else if (op.kind == OpKind::kCall) {
      Call(cursor, op);
    } else {
      Copy(cursor, op);
    }
  }

  void EndArm(const Cursor& cursor, const Op& yield) {
    if (yield.operands.empty()) return;
    const Op* tuple = Append(cursor, OpKind::kMakeTuple, *cursor.owner,
                             Mapped(yield, *cursor.instance), NoAttr{});
    cursor.instance->values[cursor.owner->result] = tuple->result;
  }

  void Call(const Cursor& cursor, const Op& op) {
    auto instance = std::make_shared<Instance>();
    instance->source = module_.functions[op.attr<CallAttr>().function].get();
    const std::vector<ValueId> arguments = Mapped(op, *cursor.instance);
    for (size_t i = 0; i < arguments.size(); ++i) {
      // Symbols of the callee are bound in its own terms, constexprs already replaced.
      instance->symbols.Match(Bound(instance->source->parameters[i].type),
                              result_->type(arguments[i]));
      instance->values[instance->source->body.arguments[i]] = arguments[i];
    }
    stack_.push_back(
        {instance, &instance->source->body, cursor.target, Mode::kCall, &op, cursor.instance});
  }

  void Copy(const Cursor& cursor, const Op& op) {
    const InstancePtr instance = cursor.instance;
    if (op.kind == OpKind::kExtract && Forward(op, instance.get())) return;
    Attributes attributes = op.attributes;
    bool resolved = true;
    ForEachStatic(&attributes, [&](StaticInt* value) {
      if (value->resolved()) return;
      const auto* bound = ValueOf(value->expr, op);
      if (bound == nullptr) {
        resolved = false;
      } else {
        *value = StaticInt(bound->int_value);
      }
    });
    if (!resolved) return;
    OpKind kind = op.kind;
    if (kind == OpKind::kConstexpr) {
      const auto constant = ConstantOf(op, instance->source->type(op.result).dtype());
      if (!constant) return;
      kind = OpKind::kConstant;
      attributes = ConstantAttr{*constant};
    }
    if (kind == OpKind::kRegionFold || kind == OpKind::kRegionScan) {
      RegionAttr& attr = std::get<RegionAttr>(attributes);
      if (!instance->keeps_symbols) {
        instance->slices[attr.slice_symbol] = result_->symbol_count;
        attr.slice_symbol = result_->symbol_count++;
      }
    }
    Op* copy = Append(cursor, kind, op, Mapped(op, *instance), std::move(attributes));
    if (copy == nullptr) return;
    instance->values[op.result] = copy->result;
    std::vector<Cursor> regions;
    for (const auto& region : op.regions) {
      copy->regions.push_back(std::make_unique<Block>());
      Block* target = copy->regions.back().get();
      for (const ValueId argument : region->arguments) {
        instance->values[argument] =
            result_->NewArgument(target, Translate(instance->source->type(argument), *instance));
      }
      regions.push_back({instance, region.get(), target});
    }
    // The first region is copied first.
    stack_.insert(stack_.end(), regions.rbegin(), regions.rend());
  }

  // A component of a tuple that was made here is that component.
  bool Forward(const Op& op, Instance* instance) {
    const Op* made = result_->value(instance->values.at(op.operands[0])).op;
    if (made == nullptr) return false;
    if (made->kind != OpKind::kMakeTuple && made->kind != OpKind::kMakeRecord) return false;
    const StaticInt& axis = op.attr<AxisAttr>().axis;
    int64_t position = axis.value;
    if (!axis.resolved()) {
      const auto* bound = std::get_if<ConstexprValue>(&nodes_[axis.expr]);
      if (bound == nullptr) return false;
      position = bound->int_value;
    }
    if (position < 0 || position >= static_cast<int64_t>(made->operands.size())) return false;
    instance->values[op.result] = made->operands[position];
    return true;
  }

  Op* Append(const Cursor& cursor, OpKind kind, const Op& origin, std::vector<ValueId> operands,
             Attributes attributes) {
    if (++operations_ > kMaxSpecializedOperations) {
      sink_->Error(DiagnosticCode::kLimit, origin.ordinal,
                   "the kernel has more than " + std::to_string(kMaxSpecializedOperations) +
                       " operations after inlining");
      return nullptr;
    }
    const Type type = Translate(cursor.instance->source->type(origin.result), *cursor.instance);
    Op* op = result_->NewOp(kind, type, std::move(operands), std::move(attributes));
    op->ordinal = origin.ordinal;
    cursor.target->ops.push_back(op);
    return op;
  }

  std::vector<ValueId> Mapped(const Op& op, const Instance& instance) const {
    std::vector<ValueId> operands;
    for (const ValueId operand : op.operands) operands.push_back(instance.values.at(operand));
    return operands;
  }

  // Constexprs in extents replaced; the callee's own symbols and values stay.
  Type Bound(const Type& type) const {
    return type.Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
      if (kind != AtomKind::kConstexpr) return std::nullopt;
      return Extent(parameters_[index].int_value);
    });
  }

  Type Translate(const Type& type, const Instance& instance) {
    return type.Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
      if (kind == AtomKind::kConstexpr) return Extent(parameters_[index].int_value);
      if (kind == AtomKind::kValue) {
        const auto value = instance.values.find(index);
        return value == instance.values.end() ? Extent::Invalid() : extents_.Of(value->second);
      }
      if (instance.keeps_symbols) return std::nullopt;
      const auto slice = instance.slices.find(index);
      if (slice != instance.slices.end()) return Extent::Symbol(slice->second);
      return instance.symbols.Find(index);
    });
  }

  const ConstexprValue* ValueOf(ConstexprId id, const Op& op) {
    if (const auto* failed = std::get_if<std::string>(&nodes_[id])) {
      sink_->Error(DiagnosticCode::kConstexprArithmetic, op.ordinal, *failed);
      return nullptr;
    }
    return &std::get<ConstexprValue>(nodes_[id]);
  }

  std::optional<ScalarValue> ConstantOf(const Op& op, DType dtype) {
    const auto* value = ValueOf(op.attr<ConstexprAttr>().expr, op);
    if (value == nullptr) return std::nullopt;
    Literal literal;
    switch (value->kind) {
      case ConstexprKind::kInt:
        literal = {Literal::Kind::kInt, value->int_value, 0};
        break;
      case ConstexprKind::kFloat:
        literal = {Literal::Kind::kFloat, 0, value->float_value};
        break;
      case ConstexprKind::kBool:
        literal = {Literal::Kind::kBool, value->int_value, 0};
        break;
      case ConstexprKind::kEnum:
        INTENT_UNREACHABLE() << "the verifier refuses enums at run time";
        break;
    }
    auto constant = LiteralAs(literal, dtype);
    if (!constant) {
      sink_->Error(DiagnosticCode::kLiteralRange, op.ordinal, LiteralMismatch(literal, dtype));
    }
    return constant;
  }

  const Module& module_;
  const std::vector<ConstexprValue>& parameters_;
  const std::vector<ConstexprResult>& nodes_;
  DiagnosticSink* sink_;
  std::unique_ptr<Function> result_;
  ValueExtents extents_;
  std::vector<Cursor> stack_;
  size_t operations_ = 0;
};

}  // namespace

std::unique_ptr<Function> InlineKernel(const Module& module,
                                       const std::vector<ConstexprValue>& parameters,
                                       const std::vector<ConstexprResult>& nodes,
                                       DiagnosticSink* sink) {
  return Inliner(module, parameters, nodes, sink).Run();
}

}  // namespace intent::specialize
