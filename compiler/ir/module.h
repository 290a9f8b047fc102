#pragma once

// KIR in memory (language.md chapter 14): typed SSA with regions.
//
// A Module owns its functions; a Function owns its operations and the table of its values; a Block
// lists operations in order, the last being its terminator (yield in regions, return in functions).
// Every value is the result of one operation or an argument of one block. Operations have exactly
// one result, possibly of kind none. Pointers to operations stay valid until the function dies;
// blocks own only the order.
//
// Extents inside types may name SSA values of the same function (AtomKind::kValue): such a use
// counts as a use of the value, for dominance, renaming and dead code.
//
// Not thread-safe for writing; a finished module may be read from many threads.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/op_attributes.h"
#include "compiler/ir/type.h"

namespace intent {

enum class OpKind : uint8_t {
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) name,
#include "compiler/ir/ops.def"
#undef INTENT_OP
};

enum class Effect : uint8_t { kPure, kRead, kWrite, kControl, kDeclare, kAssume, kTerminator };

struct OpInfo {
  std::string_view name;
  Effect effect;
  int min_operands, max_operands;
  int min_regions, max_regions;
};
const OpInfo& InfoOf(OpKind kind);
std::optional<OpKind> OpKindFromName(std::string_view name);
std::string_view NameOf(UnaryKind kind);
std::string_view NameOf(BinaryKind kind);
std::string_view NameOf(CompareKind kind);
std::string_view NameOf(RmwKind kind);
std::string_view NameOf(MemoryOrder order);
std::string_view NameOf(CombineKind kind);

struct Op;

struct Block {
  std::vector<ValueId> arguments;
  std::vector<Op*> ops;
};

struct Op {
  OpKind kind = OpKind::kConstant;
  uint32_t ordinal = kNoOrdinal;  // position in the module as sent; kept through every pass
  ValueId result = kNoValue;      // always set once the operation is in a function
  std::vector<ValueId> operands;
  std::vector<std::unique_ptr<Block>> regions;
  Attributes attributes;

  template <typename T>
  const T& attr() const {
    return std::get<T>(attributes);
  }
  template <typename T>
  T& attr() {
    return std::get<T>(attributes);
  }
};

struct Value {
  Type type;
  Op* op = nullptr;        // the defining operation, or
  Block* block = nullptr;  // the block it is an argument of,
  uint32_t position = 0;   // at this position
};

struct Parameter {
  Type type;                 // kernels: view or scalar. Helper functions: anything but none.
  int32_t alias_group = -1;  // views of one group share an allocation; -1: none
  bool noalias = false;
  bool operator==(const Parameter&) const = default;
};

// Shape symbols of kernels come from their views' annotations: one symbol stands for equal extents.
// Helper functions have symbols of their own, bound at each call by matching parameter types with
// arguments. Regions with fresh slice extents declare theirs here too.
class Function {
 public:
  bool is_kernel = false;
  std::vector<Parameter> parameters;  // body.arguments hold their values
  Type result;                        // kernels: none
  uint32_t symbol_count = 0;
  Block body;

  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  // Makes an operation with a fresh result value of `type`; the caller places it in a block.
  Op* NewOp(OpKind kind, Type type, std::vector<ValueId> operands,
            Attributes attributes = NoAttr{});
  // Appends an argument to `block`.
  ValueId NewArgument(Block* block, Type type);

  const Value& value(ValueId id) const { return values_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  const Type& type(ValueId id) const { return values_[id].type; }
  size_t value_count() const { return values_.size(); }

 private:
  std::deque<Op> ops_;
  std::vector<Value> values_;
};

// Constexpr arithmetic over i64, f64, bool and enums; overflow is an error (decisions.md A.4).
enum class ConstexprKind : uint8_t { kInt, kFloat, kBool, kEnum };
enum class ConstexprOp : uint8_t {
  kParameter,  // `index`
  kLiteral,    // int_value, float_value by kind (bool in int_value, enum member value in int_value)
  kNegate,
  kNot,
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kMod,
  kPow,
  kTrueDiv,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kSelect,  // operands: condition, if true, if false
};
struct ConstexprNode {
  ConstexprOp op = ConstexprOp::kLiteral;
  ConstexprKind kind = ConstexprKind::kInt;  // of the result
  uint32_t index = 0;      // kParameter: parameter; enums: index into Module::enums in enum_type
  uint32_t enum_type = 0;  // kind kEnum only
  int64_t int_value = 0;
  double float_value = 0;
  std::vector<ConstexprId> operands;
};

struct ConstexprValue {
  ConstexprKind kind = ConstexprKind::kInt;
  uint32_t enum_type = 0;
  int64_t int_value = 0;  // int, bool, enum member value
  double float_value = 0;
  bool operator==(const ConstexprValue&) const = default;
};

struct EnumType {
  std::vector<int64_t> values;  // unique, nonempty; names live in the source map
};

struct ConstexprParameter {
  ConstexprKind kind = ConstexprKind::kInt;
  uint32_t enum_type = 0;
  std::optional<ConstexprValue> default_value;
  bool fixed = false;  // bound early by the front end to default_value; another binding is refused
};

struct Module {
  std::vector<EnumType> enums;
  std::vector<ConstexprParameter> constexprs;
  std::vector<ConstexprNode> constexpr_nodes;  // operands precede users
  std::vector<std::unique_ptr<Function>> functions;
  uint32_t kernel = 0;  // index of the one kernel of this module

  const Function& kernel_function() const { return *functions[kernel]; }
  Function& kernel_function() { return *functions[kernel]; }
};

// What the module does not hold: places and names, by ordinal or position. Never enters a key.
struct SourceMap {
  std::vector<std::string> files;
  std::vector<Span> spans;                   // by operation ordinal
  std::vector<std::string> parameter_names;  // of the kernel
  std::vector<Span> parameter_spans;
  std::vector<std::string> symbol_names;  // of the kernel
  std::vector<std::string> constexpr_names;
  std::vector<std::string> enum_names;
  std::vector<std::vector<std::string>> enum_member_names;
  std::string kernel_name;

  Span SpanOf(uint32_t ordinal) const { return ordinal < spans.size() ? spans[ordinal] : Span{}; }
};

// Pre-order walk over all operations of a block, nested regions included. Uses no recursion.
void ForEachOp(const Block& block, const std::function<void(const Op&)>& visit);

// Gives every operation its pre-order position in the module (functions in order) as ordinal and
// reorders the map's spans to match. Called once, when a builder or parser hands the module over.
void NumberOperations(Module* module, SourceMap* map);

// A deep copy: new operations and values, equal ordinals.
std::unique_ptr<Module> Clone(const Module& module);

}  // namespace intent
