#include "compiler/ir/print.h"

#include <algorithm>
#include <bit>
#include <span>

#include "compiler/ir/canonical.h"
#include "compiler/ir/kind_names.h"
#include "compiler/ir/scalar_text.h"
#include "compiler/ir/text_form.h"

namespace intent {
namespace {

bool IsPlainName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

// A field's name; quoted if it is no plain word.
std::string NameText(std::string_view name) {
  if (IsPlainName(name)) return std::string(name);
  std::string text = "\"";
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      text += "\\x";
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string ListText(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += ", ";
    text += item;
  }
  return text;
}

// Recursion is as deep as products nest. Extents are printed with the numbers they hold.
std::string TypeText(const Type& type) {
  if (!type.IsProduct()) return type.ToString();
  std::vector<std::string> fields;
  for (size_t i = 0; i < type.fields().size(); ++i) {
    const std::string field = TypeText(type.fields()[i]);
    fields.push_back(type.kind() == TypeKind::kRecord ? NameText(type.names()[i]) + ": " + field
                                                      : field);
  }
  return (type.kind() == TypeKind::kRecord ? "record<" : "tuple<") + ListText(fields) + ">";
}

// Names of constexpr nodes: c<N> for a parameter used as it is declared, x<N> for what an operation
// or an expression needs a name of its own for, a literal where it stands in an expression.
class ConstexprText {
 public:
  ConstexprText(const Module& module, const ConstexprOrder& order) : order_(order) {
    uint32_t next = 0;
    for (size_t i = 0; i < order.nodes.size(); ++i) {
      const ConstexprNode& node = order.nodes[i];
      if (IsDeclared(module, node)) {
        reference_.push_back("c" + std::to_string(node.index));
        definition_.push_back(false);
      } else {
        const bool literal = node.op == ConstexprOp::kLiteral && !order.named[i];
        definition_.push_back(!literal);
        reference_.push_back(literal ? LiteralText(node) : "x" + std::to_string(next++));
      }
    }
  }

  const std::string& Reference(ConstexprId id) const { return reference_[order_.number[id]]; }

  std::string Definitions() const {
    std::string text;
    for (size_t i = 0; i < order_.nodes.size(); ++i) {
      if (!definition_[i]) continue;
      const ConstexprNode& node = order_.nodes[i];
      text += "expr " + reference_[i] + ": " + KindText(node.kind, node.enum_type) + " = ";
      if (node.op == ConstexprOp::kLiteral) {
        text += LiteralText(node);
      } else if (node.op == ConstexprOp::kParameter) {
        text += "parameter " + std::to_string(node.index);
      } else {
        std::vector<std::string> operands;
        for (ConstexprId operand : node.operands) {
          const ConstexprNode& used = order_.nodes[operand];
          operands.push_back(used.op == ConstexprOp::kLiteral ? LiteralText(used)
                                                              : reference_[operand]);
        }
        text += std::string(KindName(node.op)) + " " + ListText(operands);
      }
      text += "\n";
    }
    return text;
  }

  static std::string KindText(ConstexprKind kind, uint32_t enum_type) {
    switch (kind) {
      case ConstexprKind::kInt:
        return "i64";
      case ConstexprKind::kFloat:
        return "f64";
      case ConstexprKind::kBool:
        return "bool";
      case ConstexprKind::kEnum:
        return "e" + std::to_string(enum_type);
    }
    return "";
  }

  template <typename Node>  // ConstexprNode or ConstexprValue
  static std::string LiteralText(const Node& node) {
    switch (node.kind) {
      case ConstexprKind::kInt:
        return std::to_string(node.int_value);
      case ConstexprKind::kFloat:
        return ScalarToText({DType::kF64, std::bit_cast<uint64_t>(node.float_value)});
      case ConstexprKind::kBool:
        return node.int_value != 0 ? "true" : "false";
      case ConstexprKind::kEnum:
        return "e" + std::to_string(node.enum_type) + "(" + std::to_string(node.int_value) + ")";
    }
    return "";
  }

 private:
  static bool IsDeclared(const Module& module, const ConstexprNode& node) {
    if (node.op != ConstexprOp::kParameter) return false;
    const ConstexprParameter& parameter = module.constexprs[node.index];
    return parameter.kind == node.kind &&
           (node.kind != ConstexprKind::kEnum || parameter.enum_type == node.enum_type);
  }

  const ConstexprOrder& order_;
  std::vector<std::string> reference_;
  std::vector<bool> definition_;
};

class FunctionPrinter {
 public:
  FunctionPrinter(const Function& function, const FunctionOrder& order,
                  const ConstexprText& constexprs, std::string* out)
      : function_(function), order_(order), constexprs_(constexprs), out_(*out) {
    NumberValues();
  }

  // `head`: "kernel " or "fn f3".
  void Print(const std::string& head) {
    const std::vector<int32_t> groups = AliasGroups(function_);
    std::vector<std::string> parameters;
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      std::string text = Declared(function_.body.arguments[i]);
      if (groups[i] >= 0) text += " alias " + std::to_string(groups[i]);
      if (function_.parameters[i].noalias) text += " noalias";
      parameters.push_back(std::move(text));
    }
    out_ += head + "(" + ListText(parameters) + ")";
    if (!function_.result.IsNone()) out_ += " -> " + TypeText(Numbered(function_.result));
    if (function_.symbol_count != UsedSymbols()) {
      out_ += " symbols " + std::to_string(function_.symbol_count);
    }
    out_ += " ";
    PrintBlock(function_.body, 0);
    out_ += "\n";
  }

 private:
  // --- Names. A value of type none that nothing uses has no name.
  void NumberValues() {
    std::vector<bool> used(function_.value_count(), false);
    for (const Op* op : order_.ops) {
      for (ValueId operand : op->operands) used[operand] = true;
    }
    const auto use_type = [&](const Type& type) {
      type.ForEachExtent([&](const Extent& extent) {
        extent.ForEachLeaf([&](AtomKind kind, uint32_t index) {
          if (kind == AtomKind::kValue) used[index] = true;
        });
      });
    };
    for (ValueId id : order_.values) use_type(function_.type(id));
    use_type(function_.result);
    number_.assign(function_.value_count(), kNoValue);
    uint32_t next = 0;
    for (ValueId id : order_.values) {
      const Value& value = function_.value(id);
      if (value.op == nullptr || !value.type.IsNone() || used[id]) number_[id] = next++;
    }
  }

  std::string Name(ValueId id) const { return "%" + std::to_string(number_[id]); }
  Type Numbered(const Type& type) const { return Renumbered(type, number_); }
  std::string Declared(ValueId id) const {
    return Name(id) + ": " + TypeText(Numbered(function_.type(id)));
  }
  std::string Names(std::span<const ValueId> ids) const {
    std::vector<std::string> names;
    for (ValueId id : ids) names.push_back(Name(id));
    return ListText(names);
  }

  // One more than the greatest symbol that types and attributes name.
  uint32_t UsedSymbols() const {
    uint32_t count = 0;
    const auto use = [&](const Type& type) {
      type.ForEachExtent([&](const Extent& extent) {
        extent.ForEachLeaf([&](AtomKind kind, uint32_t index) {
          if (kind == AtomKind::kSymbol) count = std::max(count, index + 1);
        });
      });
    };
    for (ValueId id : order_.values) use(function_.type(id));
    use(function_.result);
    for (const Op* op : order_.ops) {
      if (const auto* region = std::get_if<RegionAttr>(&op->attributes)) {
        count = std::max(count, region->slice_symbol + 1);
      }
    }
    return count;
  }

  // --- Attributes.
  std::string StaticText(const StaticInt& value) const {
    return value.resolved() ? std::to_string(value.value) : constexprs_.Reference(value.expr);
  }
  std::string StaticList(const std::vector<StaticInt>& values) const {
    std::vector<std::string> items;
    for (const StaticInt& value : values) items.push_back(StaticText(value));
    return "[" + ListText(items) + "]";
  }
  std::string FlagText(const char* name, const StaticInt& flag) const {
    if (flag == StaticInt(0)) return "";
    if (flag == StaticInt(1)) return " " + std::string(name);
    return " " + std::string(name) + "=" + StaticText(flag);
  }
  std::string PairsText(const char* name, const std::vector<AxisPair>& pairs) const {
    if (pairs.empty()) return "";
    std::vector<std::string> items;
    for (const AxisPair& pair : pairs) {
      items.push_back("(" + StaticText(pair.lhs) + ", " + StaticText(pair.rhs) + ")");
    }
    return " " + std::string(name) + " [" + ListText(items) + "]";
  }

  // What stands between an operation's name and its operands.
  std::string Prefix(const Op& op) const {
    switch (op.kind) {
      case OpKind::kConstant: {
        const ScalarValue& value = op.attr<ConstantAttr>().value;
        const std::string text = " " + ScalarToText(value);
        if (function_.type(op.result).IsScalar(value.dtype)) return text;
        return text + " as " + std::string(DTypeName(value.dtype));
      }
      case OpKind::kConstexpr:
      case OpKind::kConstexprIf:
        return " " + constexprs_.Reference(op.attr<ConstexprAttr>().expr);
      case OpKind::kCall:
        return " f" + std::to_string(op.attr<CallAttr>().function);
      case OpKind::kUnary:
        return " " + std::string(KindName(op.attr<UnaryAttr>().kind));
      case OpKind::kBinary:
        return " " + std::string(KindName(op.attr<BinaryAttr>().kind));
      case OpKind::kCompare:
        return " " + std::string(KindName(op.attr<CompareAttr>().kind));
      case OpKind::kAtomicRmw:
        return " " + std::string(KindName(op.attr<AtomicAttr>().rmw));
      default:
        return "";
    }
  }

  // What stands after the operands; `generic` also says what forms show by their operands.
  std::string Clauses(const Op& op, bool generic) const {
    struct Visitor {
      const FunctionPrinter& p;
      bool generic;

      std::string operator()(const NoAttr&) const { return ""; }
      std::string operator()(const ConstantAttr&) const { return ""; }
      std::string operator()(const ConstexprAttr&) const { return ""; }
      std::string operator()(const CallAttr&) const { return ""; }
      std::string operator()(const CompareAttr&) const { return ""; }
      std::string operator()(const AxisAttr& a) const { return " axis " + p.StaticText(a.axis); }
      std::string operator()(const AxesAttr& a) const { return " axes " + p.StaticList(a.axes); }
      std::string operator()(const SubregionAttr& a) const {
        return std::string(a.has_start ? " start" : "") + (a.has_stop ? " stop" : "");
      }
      std::string operator()(const UnaryAttr& a) const {
        return p.FlagText("approximate", a.approximate) +
               p.FlagText("flush_to_zero", a.flush_to_zero);
      }
      std::string operator()(const BinaryAttr& a) const {
        return p.FlagText("approximate", a.approximate) +
               p.FlagText("flush_to_zero", a.flush_to_zero);
      }
      std::string operator()(const ReduceAttr& a) const {
        return " axes " + p.StaticList(a.axes) + Combine(a.combine);
      }
      std::string operator()(const ScanAttr& a) const {
        return " axis " + p.StaticText(a.axis) + p.FlagText("inclusive", a.inclusive) +
               p.FlagText("reverse", a.reverse) + Combine(a.combine);
      }
      std::string operator()(const RegionAttr& a) const {
        return " axis " + p.StaticText(a.axis) + " slice s" + std::to_string(a.slice_symbol);
      }
      std::string operator()(const ContractAttr& a) const {
        return p.PairsText("reduce", a.reduce) + p.PairsText("batch", a.batch);
      }
      std::string operator()(const ScaledAttr& a) const {
        return " lhs " + std::string(KindName(a.lhs)) + " rhs " + std::string(KindName(a.rhs)) +
               " group " + p.StaticText(a.group_size);
      }
      std::string operator()(const SparseAttr& a) const {
        return " format " + std::string(KindName(a.format)) + " axis " +
               p.StaticText(a.compression_axis) + (*this)(a.contract);
      }
      std::string operator()(const FormatAttr& a) const {
        return " lhs " + std::string(KindName(a.lhs)) + " rhs " + std::string(KindName(a.rhs));
      }
      std::string operator()(const IndexAttr& a) const {
        return " index " + p.IndexText(a, nullptr) + (a.has_valid ? " valid" : "") +
               (a.has_fill ? " fill" : "");
      }
      std::string operator()(const ScatterReduceAttr& a) const {
        return (*this)(a.index) + Combine(a.combine);
      }
      std::string operator()(const AtomicAttr& a) const {
        return (*this)(a.index) + " order " + std::string(KindName(a.order));
      }
      std::string Combine(CombineKind kind) const {
        if (kind == CombineKind::kRegion && !generic) return "";
        return " combine " + std::string(KindName(kind));
      }
    };
    return std::visit(Visitor{*this, generic}, op.attributes);
  }

  // With `operands`, the relation as an author writes it; they are consumed. Without, its kinds.
  std::string IndexText(const IndexAttr& index, const ValueId** operands) const {
    std::vector<std::string> terms;
    for (const IndexTerm& term : index.terms) {
      switch (term.kind) {
        case IndexTermKind::kFull:
          terms.push_back(":");
          break;
        case IndexTermKind::kStatic:
          terms.push_back(StaticText(term.position));
          break;
        case IndexTermKind::kNewAxis:
          terms.push_back("new");
          break;
        case IndexTermKind::kValue:
          terms.push_back(operands != nullptr ? Name(*(*operands)++) : "value");
          break;
        case IndexTermKind::kRegion:
          terms.push_back(operands != nullptr ? "region " + Name(*(*operands)++) : "region");
          break;
        case IndexTermKind::kSlice:
          if (operands != nullptr) {
            terms.push_back(Name((*operands)[0]) + ":" + Name((*operands)[1]));
            *operands += 2;
          } else {
            terms.push_back("slice");
          }
          break;
      }
    }
    return "[" + ListText(terms) + "]";
  }

  // --- Operations. Recursion is as deep as regions nest.
  void PrintBlock(const Block& block, int depth) {
    out_ += "{\n";
    for (const Op* op : block.ops) {
      out_.append(static_cast<size_t>(2 * (depth + 1)), ' ');
      PrintOp(*op, depth + 1);
      out_ += "\n";
    }
    out_.append(static_cast<size_t>(2 * depth), ' ');
    out_ += "}";
  }

  void PrintRegion(const Block& block, int depth) {
    std::vector<std::string> arguments;
    for (ValueId id : block.arguments) arguments.push_back(Declared(id));
    out_ += "(" + ListText(arguments) + ") ";
    PrintBlock(block, depth);
  }

  void PrintOp(const Op& op, int depth) {
    const bool named = number_[op.result] != kNoValue;
    if (named) out_ += Name(op.result) + " = ";
    if (FitsForm(function_, op)) {
      out_ += std::string(KindName(op.kind)) + Prefix(op);
      PrintForm(op, depth);
    } else {
      out_ += "generic " + std::string(KindName(op.kind)) + Prefix(op);
      if (!op.operands.empty()) out_ += " " + Names(op.operands);
      out_ += Clauses(op, true);
      for (const auto& region : op.regions) {
        out_ += " ";
        PrintRegion(*region, depth);
      }
    }
    const Type& type = function_.type(op.result);
    if (!type.IsNone()) out_ += " : " + TypeText(Numbered(type));
  }

  void PrintForm(const Op& op, int depth) {
    if (const IndexAttr* index = IndexOf(op)) {
      PrintIndexed(op, *index);
      PrintCombine(op, depth);
      return;
    }
    switch (op.kind) {
      case OpKind::kSubregion: {
        const SubregionAttr& attr = op.attr<SubregionAttr>();
        out_ += " " + Name(op.operands[0]) + " [";
        if (attr.has_start) out_ += Name(op.operands[1]);
        out_ += ":";
        if (attr.has_stop) out_ += Name(op.operands.back());
        out_ += "]";
        return;
      }
      case OpKind::kParallel:
      case OpKind::kFor:
        PrintLoop(op, depth);
        return;
      case OpKind::kIf:
      case OpKind::kConstexprIf:
        if (!op.operands.empty()) out_ += " " + Name(op.operands[0]);
        out_ += " ";
        PrintBlock(*op.regions[0], depth);
        out_ += " else ";
        PrintBlock(*op.regions[1], depth);
        return;
      case OpKind::kWhile:
        out_ += " (" + Carries(op.regions[0]->arguments, op.operands) + ") ";
        PrintBlock(*op.regions[0], depth);
        out_ += " do ";
        PrintRegion(*op.regions[1], depth);
        return;
      default:
        if (!op.operands.empty()) out_ += " " + Names(op.operands);
        out_ += Clauses(op, false);
        PrintCombine(op, depth);
        return;
    }
  }

  // The regions of a structured operation behind their keywords.
  void PrintCombine(const Op& op, int depth) {
    const std::span<const std::string_view> keywords = RegionKeywords(op.kind);
    for (size_t i = 0; i < op.regions.size(); ++i) {
      out_ += " " + std::string(keywords[i]) + " ";
      PrintRegion(*op.regions[i], depth);
    }
  }

  void PrintIndexed(const Op& op, const IndexAttr& index) {
    const size_t leading = LeadingOperands(op.kind);
    const ValueId* operands = op.operands.data() + leading;
    out_ += " " + Name(op.operands[0]) + " " + IndexText(index, &operands);
    if (leading > 1) out_ += " = " + Names(std::span(op.operands).subspan(1, leading - 1));
    if (index.has_valid) out_ += " valid " + Name(*operands++);
    if (index.has_fill) out_ += " fill " + Name(*operands++);
    if (const auto* scatter = std::get_if<ScatterReduceAttr>(&op.attributes)) {
      const std::span<const ValueId> captures(operands, op.operands.data() + op.operands.size());
      if (!captures.empty()) out_ += " captures(" + Names(captures) + ")";
      if (scatter->combine != CombineKind::kRegion) {
        out_ += " combine " + std::string(KindName(scatter->combine));
      }
    }
    if (const auto* atomic = std::get_if<AtomicAttr>(&op.attributes)) {
      out_ += " order " + std::string(KindName(atomic->order));
    }
  }

  std::string Carries(std::span<const ValueId> arguments, std::span<const ValueId> inits) const {
    std::vector<std::string> items;
    for (size_t i = 0; i < inits.size(); ++i) {
      items.push_back(Name(arguments[i]) + " = " + Name(inits[i]) + " : " +
                      TypeText(Numbered(function_.type(arguments[i]))));
    }
    return ListText(items);
  }

  void PrintLoop(const Op& op, int depth) {
    const std::span<const ValueId> arguments(op.regions[0]->arguments);
    const std::span<const ValueId> inits = std::span(op.operands).subspan(1);
    const size_t indices = arguments.size() - inits.size();
    if (indices != 0) out_ += " " + Names(arguments.first(indices));
    out_ += " = " + Name(op.operands[0]);
    if (!inits.empty()) out_ += " carry(" + Carries(arguments.subspan(indices), inits) + ")";
    out_ += " ";
    PrintBlock(*op.regions[0], depth);
  }

  const Function& function_;
  const FunctionOrder& order_;
  const ConstexprText& constexprs_;
  std::string& out_;
  std::vector<uint32_t> number_;
};

std::string DeclarationText(const ConstexprParameter& parameter) {
  std::string text = ConstexprText::KindText(parameter.kind, parameter.enum_type);
  if (parameter.default_value) {
    ConstexprValue value = *parameter.default_value;
    value.kind = parameter.kind;
    value.enum_type = parameter.enum_type;
    text += " = " + ConstexprText::LiteralText(value);
  }
  return parameter.fixed ? text + " fixed" : text;
}

}  // namespace

std::string PrintModule(const Module& module) {
  std::vector<FunctionOrder> orders;
  for (const auto& function : module.functions) orders.push_back(OrderOf(*function));
  std::vector<const FunctionOrder*> views;
  for (const FunctionOrder& order : orders) views.push_back(&order);
  const ConstexprOrder order = OrderConstexprs(module, views);
  const ConstexprText constexprs(module, order);

  std::string out;
  for (size_t i = 0; i < module.enums.size(); ++i) {
    std::vector<std::string> values;
    for (int64_t value : module.enums[i].values) values.push_back(std::to_string(value));
    out += "enum e" + std::to_string(i) + " {" + ListText(values) + "}\n";
  }
  for (size_t i = 0; i < module.constexprs.size(); ++i) {
    out += "constexpr c" + std::to_string(i) + ": " + DeclarationText(module.constexprs[i]) + "\n";
  }
  out += constexprs.Definitions();
  for (size_t i = 0; i < module.functions.size(); ++i) {
    if (!out.empty()) out += "\n";
    const std::string head = i == module.kernel ? "kernel " : "fn f" + std::to_string(i);
    FunctionPrinter(*module.functions[i], orders[i], constexprs, &out).Print(head);
  }
  return out;
}

}  // namespace intent
