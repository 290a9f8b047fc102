#include "compiler/cuda/emit_cuda.h"

#include <cstdio>

#include "absl/status/status.h"
#include "compiler/cuda/prelude.h"
#include "compiler/ir/module.h"

namespace intent::cuda {
namespace {

using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;
using tile::Type;

// The C++ type of a value in registers; in memory a bool is a u8. Empty: not served.
std::string TypeName(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kIndex:
      return "i64";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kF16:
    case DType::kBF16:
      return std::string(DTypeName(dtype));
    default:
      return "";
  }
}
std::string MemoryName(DType dtype) { return dtype == DType::kBool ? "u8" : TypeName(dtype); }
bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

class Emitter {
 public:
  explicit Emitter(const tile::Program& program) : program_(program) {}

  absl::StatusOr<CudaSource> Run() {
    CudaSource source;
    for (const Op* op : program_.body.ops) {
      if (op->kind != OpKind::kParallel) continue;
      if (source.parallel) Refuse("a second parallel body");
      source.parallel = true;
    }
    if (source.parallel) {
      for (const Op* op : program_.body.ops) {
        if (op->kind != OpKind::kParallel && HasEffect(*op)) {
          Refuse(std::string(tile::NameOf(op->kind)) + " beside a parallel body");
        }
      }
    }
    text_ = kPrelude;
    EmitArguments();
    Line("extern \"C\" __global__ void intent_kernel(const Arguments args) {");
    ++depth_;
    if (!source.parallel) Line("if (blockIdx.x != 0 || threadIdx.x != 0) return;");
    EmitBlock(program_.body, /*kernel_scope=*/true);
    --depth_;
    Line("}");
    if (!status_.ok()) return status_;
    source.text = std::move(text_);
    return source;
  }

 private:
  static bool HasEffect(const Op& op) {
    switch (op.kind) {
      case OpKind::kStore:
      case OpKind::kScatter:
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        return true;
      default:
        break;
    }
    for (const auto& region : op.regions) {
      for (const Op* inner : region->ops) {
        if (HasEffect(*inner)) return true;
      }
    }
    return false;
  }

  void Refuse(const std::string& what) {
    if (status_.ok())
      status_ = absl::UnimplementedError(what + " is not served by the CUDA back end");
  }

  void Line(const std::string& text) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    text_ += text + "\n";
  }

  static std::string Name(Id id) { return "v" + std::to_string(id); }
  std::string In(const Op& op, size_t i) const { return Name(op.operands[i]); }
  DType DTypeIn(const Op& op, size_t i) const { return program_.type(op.operands[i]).dtype; }

  std::string TypeOf(Id id) {
    const Type& type = program_.type(id);
    const std::string name = type.IsMem() ? MemoryName(type.dtype) : TypeName(type.dtype);
    if (name.empty()) Refuse(std::string(DTypeName(type.dtype)));
    if (type.lanes != 1) Refuse("a tile of " + std::to_string(type.lanes) + " lanes");
    return type.IsMem() ? name + "*" : name;
  }

  void Define(const Op& op, const std::string& expression) {
    Line("const " + TypeOf(op.results[0]) +
         (program_.type(op.results[0]).IsMem() ? " const " : " ") + Name(op.results[0]) + " = " +
         expression + ";");
  }

  void EmitArguments() {
    Line("struct Arguments {");
    ++depth_;
    for (size_t i = 0; i < program_.views.size(); ++i) {
      const tile::ViewParameter& view = program_.views[i];
      if (MemoryName(view.dtype).empty()) Refuse(std::string(DTypeName(view.dtype)));
      const std::string rank = std::to_string(view.rank == 0 ? 1 : view.rank);
      Line("struct { " + MemoryName(view.dtype) + "* data; i64 extents[" + rank +
           "]; i64 strides[" + rank + "]; i64 low; i64 high; } view" + std::to_string(i) + ";");
    }
    for (size_t i = 0; i < program_.scalars.size(); ++i) {
      Line(TypeName(program_.scalars[i]) + " scalar" + std::to_string(i) + ";");
    }
    Line("const volatile i32* cancel;");
    Line("Error* error;");
    --depth_;
    Line("};");
  }

  static std::string Hex(uint64_t bits) {
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(bits));
    return text;
  }

  std::string Literal(const ScalarValue& value) {
    const uint64_t bits = static_cast<uint64_t>(value.bits);
    switch (value.dtype) {
      case DType::kF32:
        return "__int_as_float(" + Hex(bits) + ")";
      case DType::kF64:
        return "__longlong_as_double(" + Hex(bits) + ")";
      case DType::kF16:
      case DType::kBF16:
        return TypeName(value.dtype) + "{" + Hex(bits) + "}";
      default:
        return TypeName(value.dtype) + "(" + Hex(bits) + "ull)";
    }
  }

  std::string Open(DType dtype, const std::string& value) const {
    return IsNarrow(dtype) ? "open(" + value + ")" : value;
  }
  std::string Close(DType dtype, const std::string& value) const {
    return IsNarrow(dtype) ? "Close<" + TypeName(dtype) + ">::of(" + value + ")" : value;
  }

  // The name of a libm function for the type it computes in.
  static std::string Libm(DType dtype, const std::string& name) {
    return dtype == DType::kF64 ? name : name + "f";
  }

  std::string Unary(const Op& op) {
    const DType dtype = DTypeIn(op, 0);
    const std::string x = Open(dtype, In(op, 0));
    if (!IsFloat(dtype)) {
      const std::string type = TypeName(dtype);
      if (dtype == DType::kBool) return "!" + x;
      if (op.unary == UnaryKind::kNegate) return "negate(" + x + ")";
      if (op.unary == UnaryKind::kAbs) return "absolute(" + x + ")";
      return type + "(~" + x + ")";
    }
    std::string result;
    switch (op.unary) {
      case UnaryKind::kNegate:
        result = "-" + x;
        break;
      case UnaryKind::kAbs:
        result = Libm(dtype, "fabs") + "(" + x + ")";
        break;
      case UnaryKind::kSigmoid:
        result = "sigmoid(" + x + ")";
        break;
      case UnaryKind::kI0:
        result = Libm(dtype, "cyl_bessel_i0") + "(" + x + ")";
        break;
      case UnaryKind::kNot:
        Refuse("not of a float");
        break;
      default:
        result = Libm(dtype, std::string(NameOf(op.unary))) + "(" + x + ")";
        break;
    }
    return Close(dtype, result);
  }

  std::string Binary(const Op& op) {
    const DType dtype = DTypeIn(op, 0);
    const std::string x = Open(dtype, In(op, 0)), y = Open(dtype, In(op, 1));
    const auto infix = [&](const char* sign) { return x + " " + sign + " " + y; };
    const auto call = [&](const std::string& name) { return name + "(" + x + ", " + y + ")"; };
    const bool is_float = IsFloat(dtype), is_bool = dtype == DType::kBool;
    const bool apart = op.rounds && (dtype == DType::kF32 || dtype == DType::kF64);
    const auto pick = [&](const char* sign, const char* name) {
      if (apart) return call(std::string(dtype == DType::kF32 ? "__f" : "__d") + name + "_rn");
      return is_float ? Close(dtype, infix(sign)) : call(name);
    };
    switch (op.binary) {
      case BinaryKind::kAdd:
        return pick("+", "add");
      case BinaryKind::kSub:
        return pick("-", "sub");
      case BinaryKind::kMul:
        return pick("*", "mul");
      case BinaryKind::kDiv:
        return Close(dtype, infix("/"));
      case BinaryKind::kFloorDiv:
        return call("floordiv");
      case BinaryKind::kMod:
        return call("floormod");
      case BinaryKind::kPow:
        if (is_bool) return x + " || !" + y;
        return is_float ? Close(dtype, call(Libm(dtype, "pow"))) : call("power");
      case BinaryKind::kMaximum:
        return is_float ? Close(dtype, call("maximum")) : call("largest");
      case BinaryKind::kMinimum:
        return is_float ? Close(dtype, call("minimum")) : call("smallest");
      case BinaryKind::kMaximumNum:
        return is_float ? Close(dtype, call("maximum_num")) : call("largest");
      case BinaryKind::kMinimumNum:
        return is_float ? Close(dtype, call("minimum_num")) : call("smallest");
      case BinaryKind::kAnd:
        return is_bool ? infix("&&") : TypeName(dtype) + "(" + infix("&") + ")";
      case BinaryKind::kOr:
        return is_bool ? infix("||") : TypeName(dtype) + "(" + infix("|") + ")";
      case BinaryKind::kXor:
        return is_bool ? infix("!=") : TypeName(dtype) + "(" + infix("^") + ")";
      case BinaryKind::kShl:
        return is_bool ? x + " && !" + y : call("shl");
      case BinaryKind::kShr:
        return is_bool ? x + " && !" + y : call("shr");
      case BinaryKind::kFloatFloorDiv:
        return Close(dtype,
                     Libm(dtype, "floor") + "(" + Open(dtype, Close(dtype, infix("/"))) + ")");
      case BinaryKind::kIpowTrunc:
      case BinaryKind::kFloatFloorMod:
        Refuse(std::string(NameOf(op.binary)));
        return "";
    }
    return "";
  }

  std::string Compare(const Op& op) {
    static constexpr const char* kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    const DType dtype = DTypeIn(op, 0);
    return Open(dtype, In(op, 0)) + " " + kSigns[static_cast<size_t>(op.compare)] + " " +
           Open(dtype, In(op, 1));
  }

  std::string Cast(const Op& op) {
    const DType from = DTypeIn(op, 0), to = program_.type(op.results[0]).dtype;
    const std::string x = Open(from, In(op, 0));
    if (from == to) return In(op, 0);
    if (to == DType::kBool) return x + " != 0";
    if (IsNarrow(to)) {
      // A double holds every source but 64-bit integers. Those are exact in f32 as far as f16
      // reaches; bf16 would see two roundings.
      const bool wide = !IsFloat(from) && BitWidth(from) == 64;
      if (wide && to == DType::kBF16) Refuse("a cast of 64-bit integers to bf16");
      if (from == DType::kF64) return Close(to, "to_odd(" + x + ")");
      if (IsFloat(from) || wide) return Close(to, "float(" + x + ")");
      return Close(to, "to_odd(double(" + x + "))");
    }
    if (IsFloat(from) && !IsFloat(to)) return "to_integer<" + TypeName(to) + ">(" + x + ")";
    return TypeName(to) + "(" + x + ")";
  }

  std::string Element(const Op& op, const std::string& offset) const {
    return In(op, 0) + "[" + offset + "]";
  }

  void EmitAccess(const Op& op) {
    size_t next = 2;
    const bool stores = op.kind == OpKind::kStore || op.kind == OpKind::kScatter;
    const std::string value = stores ? In(op, next++) : "";
    if (op.has_stride) ++next;  // one lane: its stride is never used
    const std::string mask = op.has_mask ? In(op, next++) : "";
    const std::string element = Element(op, In(op, 1));
    if (stores) {
      return Line((mask.empty() ? "" : "if (" + mask + ") ") + element + " = " + value + ";");
    }
    const DType dtype = program_.type(op.results[0]).dtype;
    const std::string loaded = dtype == DType::kBool ? element + " != 0" : element;
    if (mask.empty()) return Define(op, loaded);
    Define(op,
           mask + " ? " + loaded + " : " + (op.has_fill ? In(op, next) : TypeName(dtype) + "{}"));
  }

  // Orders come from fences around the device's relaxed atomics.
  void EmitAtomic(const Op& op) {
    const DType dtype = DTypeIn(op, 0);
    const int bits = BitWidth(dtype);
    if (bits < 32) Refuse(std::string(tile::NameOf(op.kind)) + " of " + TypeName(dtype));
    const bool acquires = op.order == MemoryOrder::kAcquire || op.order == MemoryOrder::kAcqRel;
    const bool releases = op.order == MemoryOrder::kRelease || op.order == MemoryOrder::kAcqRel;
    // Only max and min tell signs apart.
    const bool ordered =
        op.kind == OpKind::kAtomicRmw && (op.rmw == RmwKind::kMax || op.rmw == RmwKind::kMin);
    const std::string carrier =
        std::string(ordered && IsSignedInteger(dtype) ? "i" : "u") + std::to_string(bits);
    const std::string type = TypeName(dtype);
    const std::string address =
        "reinterpret_cast<" + carrier + "*>(" + In(op, 0) + " + " + In(op, 1) + ")";
    const auto value = [&](size_t i) { return carrier + "(" + In(op, i) + ")"; };
    if (releases) Line("__threadfence();");
    switch (op.kind) {
      case OpKind::kAtomicLoad:
        Define(op, type + "(*static_cast<volatile " + carrier + "*>(" + address + "))");
        break;
      case OpKind::kAtomicStore:
        Line("*static_cast<volatile " + carrier + "*>(" + address + ") = " + value(2) + ";");
        break;
      case OpKind::kAtomicRmw: {
        static constexpr const char* kNames[] = {"Exch", "Add", "Max", "Min", "And", "Or", "Xor"};
        Define(op, type + "(atomic" + kNames[static_cast<size_t>(op.rmw)] + "(" + address + ", " +
                       value(2) + "))");
        break;
      }
      default:
        Define(op, type + "(atomicCAS(" + address + ", " + value(2) + ", " + value(3) + "))");
        Line("const bool " + Name(op.results[1]) + " = " + Name(op.results[0]) +
             " == " + In(op, 2) + ";");
        break;
    }
    if (acquires) Line("__threadfence();");
  }

  void Leave(const std::string& condition, const std::string& arguments) {
    Line("if (" + condition + ") {");
    Line("  fail(args.error, " + arguments + ");");
    Line("  return;");
    Line("}");
  }

  // Carries are variables that the loop's results and its region arguments share.
  std::vector<std::string> DeclareCarries(const Op& op, size_t first_init) {
    std::vector<std::string> names;
    for (size_t i = 0; i < op.results.size(); ++i) {
      names.push_back(Name(op.results[i]));
      Line(TypeOf(op.results[i]) + " " + names.back() + " = " + In(op, first_init + i) + ";");
    }
    return names;
  }
  void BindArguments(const Block& block, size_t first, const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      const Id id = block.arguments[first + i];
      const std::string type = TypeOf(id);
      Line("const " + type + (program_.type(id).IsMem() ? " const " : " ") + Name(id) + " = " +
           names[i] + ";");
    }
  }
  void AssignYields(const Block& block, const std::vector<std::string>& names) {
    const Op& yield = *block.ops.back();
    for (size_t i = 0; i < names.size(); ++i) Line(names[i] + " = " + In(yield, i) + ";");
  }

  void EmitFor(const Op& op) {
    const Block& body = *op.regions[0];
    const std::vector<std::string> carries = DeclareCarries(op, 3);
    const std::string iv = Name(body.arguments[0]), hi = In(op, 1), step = In(op, 2);
    Line("for (i64 " + iv + " = " + In(op, 0) + "; " + iv + " < " + hi + "; " + iv + " += " + step +
         ") {");
    ++depth_;
    BindArguments(body, 1, carries);
    EmitBlock(body, false);
    AssignYields(body, carries);
    Line("if (u64(" + hi + ") - u64(" + iv + ") <= u64(" + step + ")) break;");
    --depth_;
    Line("}");
  }

  void EmitWhile(const Op& op) {
    const Block &condition = *op.regions[0], &body = *op.regions[1];
    const std::vector<std::string> carries = DeclareCarries(op, 0);
    Line("while (true) {");
    ++depth_;
    BindArguments(condition, 0, carries);
    EmitBlock(condition, false);
    Line("if (!" + In(*condition.ops.back(), 0) + ") break;");
    BindArguments(body, 0, carries);
    EmitBlock(body, false);
    AssignYields(body, carries);
    --depth_;
    Line("}");
  }

  void EmitIf(const Op& op) {
    std::vector<std::string> names;
    for (Id id : op.results) {
      names.push_back(Name(id));
      Line(TypeOf(id) + " " + names.back() + ";");
    }
    for (size_t arm = 0; arm < 2; ++arm) {
      Line(arm == 0 ? "if (" + In(op, 0) + ") {" : "} else {");
      ++depth_;
      EmitBlock(*op.regions[arm], false);
      AssignYields(*op.regions[arm], names);
      --depth_;
    }
    Line("}");
  }

  void EmitParallel(const Op& op, bool kernel_scope) {
    if (!kernel_scope) return Refuse("a nested parallel body");
    const Block& body = *op.regions[0];
    const std::string begin = Name(body.arguments[0]);
    Line("for (i64 " + begin + " = " + In(op, 0) +
         " + i64(blockIdx.x) * blockDim.x + threadIdx.x; " + begin + " < " + In(op, 1) + "; " +
         begin + " += i64(gridDim.x) * blockDim.x) {");
    ++depth_;
    Line("const i64 " + Name(body.arguments[1]) + " = " + begin + " + 1;");
    EmitBlock(body, false);
    --depth_;
    Line("}");
  }

  void EmitBlock(const Block& block, bool kernel_scope) {
    for (const Op* op : block.ops) {
      if (!status_.ok() || op->kind == OpKind::kYield) return;
      EmitOp(*op, kernel_scope);
    }
  }

  void EmitOp(const Op& op, bool kernel_scope) {
    const std::string view = "args.view" + std::to_string(op.index);
    const std::string axis = "[" + std::to_string(op.axis) + "]";
    switch (op.kind) {
      case OpKind::kConst:
        return Define(op, Literal(op.constant));
      case OpKind::kViewBase:
        return Line(TypeOf(op.results[0]) + " const " + Name(op.results[0]) + " = " + view +
                    ".data;");
      case OpKind::kViewExtent:
        return Define(op, view + ".extents" + axis);
      case OpKind::kViewStride:
        return Define(op, view + ".strides" + axis);
      case OpKind::kScalarArg:
        return Define(op, "args.scalar" + std::to_string(op.index));
      case OpKind::kStackAlloc: {
        const DType dtype = program_.type(op.results[0]).dtype;
        return Line("__align__(16) " + MemoryName(dtype) + " " + Name(op.results[0]) + "[" +
                    std::to_string(op.index) + "];");
      }
      case OpKind::kMemOffset:
        return Line(TypeOf(op.results[0]) + " const " + Name(op.results[0]) + " = " + In(op, 0) +
                    " + " + In(op, 1) + ";");
      case OpKind::kMemCast:
        return Line(TypeOf(op.results[0]) + " const " + Name(op.results[0]) +
                    " = reinterpret_cast<" + TypeOf(op.results[0]) + ">(" + In(op, 0) + ");");
      case OpKind::kLoad:
      case OpKind::kStore:
      case OpKind::kGather:
      case OpKind::kScatter:
        return EmitAccess(op);
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        return EmitAtomic(op);
      case OpKind::kSplat:
      case OpKind::kShuffle:
      case OpKind::kExtractLane:
      case OpKind::kReduceLanes:
        TypeOf(op.operands[0]);
        return Define(op, In(op, 0));  // of one lane: itself
      case OpKind::kIota:
        return Define(op, "0");
      case OpKind::kUnary:
        return Define(op, Unary(op));
      case OpKind::kBinary:
        return Define(op, Binary(op));
      case OpKind::kCompare:
        return Define(op, Compare(op));
      case OpKind::kFma:
        return Define(op, Libm(DTypeIn(op, 0), "fma") + "(" + In(op, 0) + ", " + In(op, 1) + ", " +
                              In(op, 2) + ")");
      case OpKind::kSelect:
        return Line(TypeOf(op.results[0]) + " const " + Name(op.results[0]) + " = " + In(op, 0) +
                    " ? " + In(op, 1) + " : " + In(op, 2) + ";");
      case OpKind::kCast:
        return Define(op, Cast(op));
      case OpKind::kBitcast: {
        const std::string type = TypeOf(op.results[0]);
        return Define(op, "reinterpret_cast<const " + type + "&>(" + In(op, 0) + ")");
      }
      case OpKind::kFor:
        return EmitFor(op);
      case OpKind::kWhile:
        return EmitWhile(op);
      case OpKind::kIf:
        return EmitIf(op);
      case OpKind::kParallel:
        return EmitParallel(op, kernel_scope);
      case OpKind::kYield:
        return;
      case OpKind::kGuard:
        return Leave("!" + In(op, 0),
                     std::to_string(op.status) + ", " + std::to_string(op.ordinal) + "u, " +
                         std::to_string(op.index) + ", " + std::to_string(op.axis) + ", " +
                         In(op, 1) + ", " + In(op, 2));
      case OpKind::kPoll:
        return Leave("args.cancel != nullptr && *args.cancel != 0", "5, 0u, -1, -1, 0, 0");
      case OpKind::kOverlap:
      case OpKind::kSameView:
      case OpKind::kAlloc:
      case OpKind::kSaturatingCast:
        return Refuse(std::string(tile::NameOf(op.kind)));
    }
  }

  const tile::Program& program_;
  std::string text_;
  int depth_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<CudaSource> EmitCuda(const tile::Program& program) { return Emitter(program).Run(); }

}  // namespace intent::cuda
