#include "compiler/driver/c_header.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/driver/c_header_texts.h"
#include "compiler/driver/c_names.h"
#include "compiler/ir/dtype.h"

namespace intent {
namespace {

namespace wire = compile::v1;
using wire::Instruction;

constexpr size_t kMaxInstructions = 256;

// The second name of the entry (link_shared_object.h): the one exported symbol that begins with the
// entry's.
std::optional<std::string> ExportedName(std::string_view object, const std::string& entry) {
  const auto read = [&](auto* value, uint64_t offset) {
    if (offset > object.size() || sizeof(*value) > object.size() - offset) return false;
    std::memcpy(value, object.data() + offset, sizeof(*value));
    return true;
  };
  Elf64_Ehdr header;
  if (!read(&header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr symbols, strings;
    if (!read(&symbols, header.e_shoff + i * sizeof(symbols))) return std::nullopt;
    if (symbols.sh_type != SHT_DYNSYM) continue;
    if (!read(&strings, header.e_shoff + symbols.sh_link * sizeof(strings))) return std::nullopt;
    Elf64_Sym symbol;
    for (uint64_t at = 0; at < symbols.sh_size; at += sizeof(symbol)) {
      if (!read(&symbol, symbols.sh_offset + at)) return std::nullopt;
      const uint64_t begin = strings.sh_offset + symbol.st_name;
      if (symbol.st_shndx == SHN_UNDEF || begin >= object.size()) continue;
      const std::string_view rest = object.substr(begin);
      const std::string name(rest.substr(0, rest.find('\0')));
      if (name.size() > entry.size() + 1 && name.compare(0, entry.size() + 1, entry + "_") == 0) {
        return name;
      }
    }
  }
  return std::nullopt;
}

struct CParameter {
  std::string name;  // of the member
  DType dtype = DType::kBool;
  int view = -1;  // position among the views, or
  int scalar = -1;
};

class Writer {
 public:
  Writer(const wire::Manifest& manifest, std::string symbol, const CHeaderNames& names)
      : manifest_(manifest), symbol_(std::move(symbol)), names_(names) {
    kernel_ = names.kernel.substr(names.kernel.rfind('.') + 1);
    if (!IsIdentifier(kernel_)) kernel_ = "intent_" + Plain(kernel_);
  }

  absl::StatusOr<std::string> Write() {
    if (absl::Status status = ReadParameters(); !status.ok()) return status;
    std::string guard = "INTENT_KERNEL_" + kernel_ + "_H_";
    Line("/* ", kernel_, ", an Intent kernel for ", manifest_.target(), ". Generated.");
    Line(" *");
    Line(" * Needs the kernel's shared object and libm: cc program.c ./", kernel_, ".so -lm */");
    Line("#ifndef ", guard);
    Line("#define ", guard);
    Line();
    absl::StrAppend(&text_, kIntentCallText, "\n", kCPreludeText, "\n");
    Arguments();
    Line("#ifdef __cplusplus");
    Line("extern \"C\"");
    Line("#endif");
    Line("int32_t ", symbol_, "(const intent_call* call);");
    Line();
    if (absl::Status status = Function(); !status.ok()) return status;
    Line();
    Line("#endif /* ", guard, " */");
    return std::move(text_);
  }

 private:
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, parts..., "\n");
  }

  static std::string Plain(const std::string& name) {
    std::string plain;
    for (const char c : name) {
      if (c > 0 && std::isalnum(static_cast<unsigned char>(c))) plain += c;
    }
    return plain.empty() ? "kernel" : plain;
  }

  absl::Status ReadParameters() {
    int views = 0, scalars = 0;
    std::set<std::string> taken;
    for (int i = 0; i < manifest_.parameters_size(); ++i) {
      const wire::Parameter& parameter = manifest_.parameters(i);
      CParameter c;
      if (i < static_cast<int>(names_.parameters.size())) c.name = names_.parameters[i];
      if (!IsIdentifier(c.name) || !taken.insert(c.name).second) {
        c.name = absl::StrCat("argument", i);
        while (!taken.insert(c.name).second) c.name += "x";
      }
      const std::optional<DType> dtype = DTypeFromName(
          parameter.has_view() ? parameter.view().dtype() : parameter.scalar().dtype());
      if (!dtype.has_value() || CType(*dtype) == nullptr) {
        return absl::InvalidArgumentError("the manifest names an unknown dtype");
      }
      c.dtype = *dtype;
      (parameter.has_view() ? c.view : c.scalar) = parameter.has_view() ? views++ : scalars++;
      parameters_.push_back(std::move(c));
    }
    views_ = views;
    scalars_ = scalars;
    return absl::OkStatus();
  }

  std::string SymbolName(uint32_t symbol) const {
    if (symbol < names_.symbols.size() && IsIdentifier(names_.symbols[symbol])) {
      return names_.symbols[symbol];
    }
    return absl::StrCat("s", symbol);
  }

  // "In f32 (N, 4)", for people.
  std::string Describe(const wire::ViewParameter& view) const {
    std::vector<std::string> axes;
    for (const wire::Axis& axis : view.axes()) {
      axes.push_back(axis.has_expression()                         ? "..."
                     : axis.extent_case() == wire::Axis::kConstant ? absl::StrCat(axis.constant())
                                                                   : SymbolName(axis.symbol()));
    }
    const char* access = view.access() == wire::ACCESS_IN    ? "In"
                         : view.access() == wire::ACCESS_OUT ? "Out"
                                                             : "InOut";
    return absl::StrCat(access, " ", view.dtype(), " (", absl::StrJoin(axes, ", "), ")",
                        view.noalias() ? ", overlaps no other" : "");
  }

  void Arguments() {
    Line(
        "/* In the order of the signature. Strides are in elements; any sign, and zero, will do. "
        "*/");
    Line("typedef struct ", kernel_, "_arguments {");
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const CParameter& c = parameters_[i];
      const wire::Parameter& parameter = manifest_.parameters(static_cast<int>(i));
      if (c.scalar >= 0) {
        Line("  ", CType(c.dtype), " ", c.name, "; /* ", parameter.scalar().dtype(), " */");
        continue;
      }
      const wire::ViewParameter& view = parameter.view();
      Line("  struct { /* ", Describe(view), " */");
      Line("    ", view.access() == wire::ACCESS_IN ? "const " : "", CType(c.dtype),
           "* data; /* the element at 0, 0, ... */");
      if (view.axes_size() > 0) {
        Line("    int64_t extents[", view.axes_size(), "];");
        Line("    int64_t strides[", view.axes_size(), "];");
      }
      Line("  } ", c.name, ";");
    }
    if (parameters_.empty()) Line("  char unused; /* it takes none */");
    Line("} ", kernel_, "_arguments;");
    Line();
  }

  absl::Status Function() {
    Line("/* Runs the kernel; 0, or an intent_status, of which *error (may be NULL) says more.");
    Line(" * runtime: threads and scratch memory; NULL: all on this thread, scratch by malloc.");
    Line(" * cancel: a flag that ends the call when another thread sets it; may be NULL.");
    Line(
        " * Thread-safe. Memory stays the caller's; a call that fails may have written some of it. "
        "*/");
    Line("static inline int32_t ", kernel_, "_run_with(const ", kernel_,
         "_arguments* arguments, const intent_runtime* runtime,");
    Line("    const volatile int32_t* cancel, intent_error* error) {");
    Line("  intent_error ignored;");
    Line("  intent_view views[", std::max(views_, 1), "];");
    Line("  uint64_t scalars[", std::max(scalars_, 1), "] = {0};");
    Line("  int ok = 1;");
    for (uint32_t symbol : UsedSymbols()) Line("  int64_t s", symbol, " = 0;");
    Line("  if (error == NULL) error = &ignored;");
    Line("  memset(error, 0, sizeof(*error));");
    Line("  (void)arguments;");
    Line("  (void)ok;");
    for (const CParameter& c : parameters_) c.view >= 0 ? FillView(c) : FillScalar(c);
    if (absl::Status status = CheckAxes(); !status.ok()) return status;
    if (absl::Status status = CheckConditions(); !status.ok()) return status;
    CheckOverlaps();
    Line("  return intent_run_(", symbol_, ", views, scalars, runtime, cancel, error);");
    Line("}");
    Line();
    Line("/* The same on this thread. */");
    Line("static inline int32_t ", kernel_, "_run(const ", kernel_,
         "_arguments* arguments, intent_error* error) {");
    Line("  return ", kernel_, "_run_with(arguments, NULL, NULL, error);");
    Line("}");
    return absl::OkStatus();
  }

  std::set<uint32_t> UsedSymbols() const {
    std::set<uint32_t> used;
    for (const wire::Parameter& parameter : manifest_.parameters()) {
      if (!parameter.has_view()) continue;
      for (const wire::Axis& axis : parameter.view().axes()) {
        if (axis.extent_case() == wire::Axis::kSymbol) used.insert(axis.symbol());
      }
    }
    return used;
  }

  void FillView(const CParameter& c) {
    const int rank = Rank(c);
    const std::string member = "arguments->" + c.name;
    const std::string numbers =
        rank == 0 ? "NULL, NULL" : absl::StrCat(member, ".extents, ", member, ".strides");
    Line("  if (intent_view_(&views[", c.view, "], ", c.view, ", ", member, ".data, ", rank, ", ",
         numbers, ",");
    Line("                   ", StorageBytes(c.dtype), ", error) != 0) return error->status;");
  }

  void FillScalar(const CParameter& c) {
    Line("  memcpy(&scalars[", c.scalar, "], &arguments->", c.name, ", sizeof(arguments->", c.name,
         ")); /* little-endian */");
  }

  int Rank(const CParameter& c) const {
    return manifest_.parameters(static_cast<int>(&c - parameters_.data())).view().axes_size();
  }

  // As Bind does: the first axis that names a symbol gives it; expressions come last.
  absl::Status CheckAxes() {
    std::set<uint32_t> known;
    for (const bool expressions : {false, true}) {
      for (size_t i = 0; i < parameters_.size(); ++i) {
        const CParameter& c = parameters_[i];
        if (c.view < 0) continue;
        const wire::ViewParameter& view = manifest_.parameters(static_cast<int>(i)).view();
        for (int a = 0; a < view.axes_size(); ++a) {
          const wire::Axis& axis = view.axes(a);
          if (axis.has_expression() != expressions) continue;
          const std::string found = absl::StrCat("arguments->", c.name, ".extents[", a, "]");
          std::string wanted;
          if (axis.has_expression()) {
            absl::StatusOr<std::string> expression = Expression(axis.expression());
            if (!expression.ok()) return expression.status();
            Line("  {");
            Line("    const int64_t wanted = ", *expression, ";");
            Line("    if (!ok || ", found, " != wanted)");
            Line("      return intent_fail_(error, INTENT_BAD_SHAPE, ", c.view, ", ", a, ", ",
                 found, ", wanted);");
            Line("  }");
            continue;
          }
          if (axis.extent_case() == wire::Axis::kConstant) {
            wanted = Constant(axis.constant());
          } else {
            wanted = absl::StrCat("s", axis.symbol());
            if (known.insert(axis.symbol()).second) {
              Line("  ", wanted, " = ", found, ";");
              continue;
            }
          }
          Line("  if (", found, " != ", wanted, ")");
          Line("    return intent_fail_(error, INTENT_BAD_SHAPE, ", c.view, ", ", a, ", ", found,
               ", ", wanted, ");");
        }
      }
    }
    for (uint32_t symbol : known) Line("  (void)s", symbol, ";");
    return absl::OkStatus();
  }

  absl::Status CheckConditions() {
    for (const wire::Check& check : manifest_.checks()) {
      absl::StatusOr<std::string> condition = Expression(check.condition());
      if (!condition.ok()) return condition.status();
      Line("  {");
      Line("    const int64_t holds = ", *condition, ";");
      Line(
          "    if (!ok || holds == 0) return intent_fail_(error, INTENT_BAD_SHAPE, -1, -1, 0, 0);");
      Line("  }");
    }
    return absl::OkStatus();
  }

  void CheckOverlaps() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      for (size_t k = i + 1; k < parameters_.size(); ++k) {
        const CParameter &a = parameters_[i], &b = parameters_[k];
        if (a.view < 0 || b.view < 0) continue;
        const bool promised = manifest_.parameters(static_cast<int>(i)).view().noalias();
        if (!promised && !manifest_.parameters(static_cast<int>(k)).view().noalias()) continue;
        Line("  if (intent_overlap_(&views[", a.view, "], &views[", b.view, "]))");
        Line("    return intent_fail_(error, INTENT_BAD_OVERLAP, ", promised ? a.view : b.view,
             ", -1, 0, 0);");
      }
    }
  }

  static std::string Constant(int64_t value) {
    // The most negative number has no literal of its own.
    if (value == INT64_MIN) return "INT64_MIN";
    return absl::StrCat("INT64_C(", value, ")");
  }

  // A postfix program as an expression of C.
  absl::StatusOr<std::string> Expression(const wire::Program& program) const {
    const absl::Status broken = absl::InvalidArgumentError("the manifest has a broken program");
    if (program.instructions_size() > static_cast<int>(kMaxInstructions)) return broken;
    std::vector<std::string> stack;
    for (const Instruction& instruction : program.instructions()) {
      std::optional<std::string> value = Leaf(instruction);
      if (!value.has_value()) {
        const size_t count = instruction.opcode() == Instruction::OPCODE_SELECT ? 3 : 2;
        if (stack.size() < count) return broken;
        const std::vector<std::string> operands(stack.end() - static_cast<ptrdiff_t>(count),
                                                stack.end());
        stack.resize(stack.size() - count);
        value = Operation(instruction.opcode(), operands);
        if (!value.has_value()) return broken;
      }
      stack.push_back(*std::move(value));
    }
    if (stack.size() != 1) return broken;
    return stack[0];
  }

  std::optional<std::string> Leaf(const Instruction& instruction) const {
    const uint32_t index = instruction.index();
    switch (instruction.opcode()) {
      case Instruction::OPCODE_CONSTANT:
        return Constant(instruction.value());
      case Instruction::OPCODE_SYMBOL:
        return absl::StrCat("s", index);
      case Instruction::OPCODE_EXTENT:
      case Instruction::OPCODE_STRIDE:
        if (index >= parameters_.size()) return std::nullopt;
        return absl::StrCat(
            "arguments->", parameters_[index].name,
            instruction.opcode() == Instruction::OPCODE_EXTENT ? ".extents[" : ".strides[",
            instruction.axis(), "]");
      case Instruction::OPCODE_SCALAR:
        if (index >= parameters_.size()) return std::nullopt;
        return absl::StrCat("(int64_t)arguments->", parameters_[index].name);
      default:
        return std::nullopt;
    }
  }

  static std::optional<std::string> Operation(Instruction::Opcode opcode,
                                              const std::vector<std::string>& operands) {
    const auto call = [&](const char* function, bool may_fail) {
      return absl::StrCat(function, "(", operands[0], ", ", operands[1], may_fail ? ", &ok)" : ")");
    };
    const auto compare = [&](const char* sign) {
      return absl::StrCat("(int64_t)(", operands[0], " ", sign, " ", operands[1], ")");
    };
    switch (opcode) {
      case Instruction::OPCODE_ADD:
        return call("intent_add_", true);
      case Instruction::OPCODE_SUB:
        return call("intent_sub_", true);
      case Instruction::OPCODE_MUL:
        return call("intent_mul_", true);
      case Instruction::OPCODE_FLOORDIV:
        return call("intent_floordiv_", true);
      case Instruction::OPCODE_CEILDIV:
        return call("intent_ceildiv_", true);
      case Instruction::OPCODE_MOD:
        return call("intent_mod_", true);
      case Instruction::OPCODE_MIN:
        return call("intent_min_", false);
      case Instruction::OPCODE_MAX:
        return call("intent_max_", false);
      case Instruction::OPCODE_EQ:
        return compare("==");
      case Instruction::OPCODE_NE:
        return compare("!=");
      case Instruction::OPCODE_LT:
        return compare("<");
      case Instruction::OPCODE_LE:
        return compare("<=");
      case Instruction::OPCODE_SELECT:
        return absl::StrCat("intent_select_(", operands[0], ", ", operands[1], ", ", operands[2],
                            ")");
      default:
        return std::nullopt;
    }
  }

  const wire::Manifest& manifest_;
  const std::string symbol_;
  const CHeaderNames& names_;
  std::string kernel_;
  std::vector<CParameter> parameters_;
  int views_ = 0, scalars_ = 0;
  std::string text_;
};

}  // namespace

absl::StatusOr<std::string> CHeader(const compile::v1::Manifest& manifest,
                                    std::string_view shared_object, const CHeaderNames& names) {
  if (manifest.entry_symbol().empty() || shared_object.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("an artifact for ", manifest.target(), " has no code that C can call"));
  }
  const std::optional<std::string> symbol = ExportedName(shared_object, manifest.entry_symbol());
  if (!symbol.has_value()) {
    return absl::InvalidArgumentError("the shared object is not the artifact's");
  }
  return Writer(manifest, *symbol, names).Write();
}

}  // namespace intent
