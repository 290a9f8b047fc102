// Facts about operands, and literals and constexprs that become values.

#include "compiler/builder/state.h"
#include "compiler/numerics/float_format.h"

namespace intent {

std::string KernelBuilder::State::Describe(const Operand& operand) const {
  if (operand.IsPoison()) return "an erroneous value";
  if (operand.IsLiteral()) return "literal " + LiteralText(operand.literal());
  if (operand.IsValue()) return Describe(TypeOf(operand.value()));
  const ConstexprNode& node = module->constexpr_nodes[operand.constexpr_id()];
  if (node.op == ConstexprOp::kParameter) return "constexpr " + map.constexpr_names[node.index];
  if (const auto literal = LiteralOf(operand)) return "constexpr " + LiteralText(*literal);
  switch (node.kind) {
    case ConstexprKind::kInt:
      return "constexpr int";
    case ConstexprKind::kFloat:
      return "constexpr float";
    case ConstexprKind::kBool:
      return "constexpr bool";
    case ConstexprKind::kEnum:
      return "constexpr enum";
  }
  return "constexpr";
}

Operand KernelBuilder::State::Constant(const ScalarValue& value) {
  return Emit(OpKind::kConstant, Type::Scalar(value.dtype), {}, ConstantAttr{value});
}

Operand KernelBuilder::State::IndexConstant(int64_t value) {
  return Constant({DType::kIndex, static_cast<uint64_t>(value)});
}

Operand KernelBuilder::State::Materialize(const Operand& operand) {
  if (!IsCompileTime(operand)) return operand;
  if (operand.IsLiteral()) {
    const Operand value = Instantiate(operand, ContextlessDType(operand.literal()));
    if (value.IsValue()) literals.emplace(value.value(), operand.literal());
    return value;
  }
  switch (module->constexpr_nodes[operand.constexpr_id()].kind) {
    case ConstexprKind::kInt:
      return Instantiate(operand, DType::kI64);
    case ConstexprKind::kFloat:
      return Instantiate(operand, DType::kF64);
    case ConstexprKind::kBool:
      return Instantiate(operand, DType::kBool);
    case ConstexprKind::kEnum:
      break;
  }
  return Fail(DiagnosticCode::kDtypeNotAllowed,
              "an enum has no value at run time; compare it or pass it as a constexpr");
}

Operand KernelBuilder::State::Instantiate(const Operand& operand, DType dtype) {
  if (operand.IsPoison()) return {};
  if (operand.IsValue()) {
    const Type& type = TypeOf(operand.value());
    if (type.IsElementwise() && type.dtype() == dtype) return operand;
    if (!CheckElementwise(operand, "a value")) return {};
    return Fail(DiagnosticCode::kDtypeMismatch, std::string(DTypeName(type.dtype())) + " and " +
                                                    std::string(DTypeName(dtype)) +
                                                    " do not mix; cast one of them");
  }
  const std::optional<Literal> literal = LiteralOf(operand);
  if (!literal) {
    return Emit(OpKind::kConstexpr, Type::Scalar(dtype), {}, ConstexprAttr{operand.constexpr_id()});
  }
  const std::optional<ScalarValue> value = LiteralAs(*literal, dtype);
  if (!value) return Fail(DiagnosticCode::kLiteralRange, LiteralMismatch(*literal, dtype));
  return Constant(*value);
}

Operand KernelBuilder::State::IndexScalar(const Operand& operand, const char* what) {
  if (operand.IsPoison()) return {};
  if (IsCompileTime(operand)) return Instantiate(operand, DType::kIndex);
  const Type& type = TypeOf(operand.value());
  if (type.IsScalar(DType::kIndex)) return operand;
  std::string message = std::string(what) + " is an index scalar, not " + Describe(type);
  if (type.IsScalar() && IsInteger(type.dtype())) message += "; cast it to index";
  return Fail(DiagnosticCode::kBadIndex, std::move(message));
}

bool KernelBuilder::State::CheckElementwise(const Operand& operand, const char* what) {
  if (IsCompileTime(operand)) return true;
  const Type& type = TypeOf(operand.value());
  switch (type.kind()) {
    case TypeKind::kScalar:
    case TypeKind::kTensor:
      return true;
    case TypeKind::kBuffer:
      Fail(DiagnosticCode::kBufferAsValue,
           "a buffer is storage, not a value; read it with an index to get a tensor");
      return false;
    case TypeKind::kView:
      Fail(DiagnosticCode::kTypeMismatch, std::string(what) + " is a scalar or tensor, not " +
                                              Describe(type) + "; read the view with an index");
      return false;
    case TypeKind::kDomain:
      Fail(DiagnosticCode::kTypeMismatch, std::string(what) + " is a scalar or tensor, not " +
                                              Describe(type) +
                                              "; I.indices gives a domain's coordinates");
      return false;
    case TypeKind::kNone:
    case TypeKind::kTuple:
    case TypeKind::kRecord:
      Fail(DiagnosticCode::kTypeMismatch,
           std::string(what) + " is a scalar or tensor, not " + Describe(type));
      return false;
  }
  return false;
}

std::optional<Extent> KernelBuilder::State::ExtentOf(const Operand& operand, const char* what) {
  const auto refuse = [&](const std::string& hint = "") -> std::nullopt_t {
    Fail(DiagnosticCode::kBadExtent,
         std::string(what) + " is an index, not " + Describe(operand) + hint);
    return std::nullopt;
  };
  if (operand.IsPoison()) return std::nullopt;
  if (const auto literal = LiteralOf(operand)) {
    if (literal->kind != Literal::Kind::kInt) return refuse();
    if (literal->int_value > INT64_MAX || literal->int_value < INT64_MIN) {
      return refuse(": it does not fit");
    }
    return Extent(static_cast<int64_t>(literal->int_value));
  }
  if (operand.IsConstexpr()) {
    if (module->constexpr_nodes[operand.constexpr_id()].kind != ConstexprKind::kInt) {
      return refuse();
    }
    const Extent extent = extents->OfConstexpr(operand.constexpr_id());
    if (extent.valid()) return extent;
    const Operand value = Instantiate(operand, DType::kIndex);
    if (!value.IsValue()) return std::nullopt;
    return extents->Of(value.value());
  }
  const Type& type = TypeOf(operand.value());
  if (type.IsScalar(DType::kIndex)) return extents->Of(operand.value());
  if (type.IsDomain() && type.rank() == 1) return type.shape()[0];
  return refuse(type.IsScalar() && IsInteger(type.dtype()) ? "; cast it to index" : "");
}

std::optional<std::vector<Extent>> KernelBuilder::State::Shape(std::span<const Operand> shape) {
  std::vector<Extent> result;
  for (const Operand& entry : shape) {
    const auto extent = ExtentOf(entry, "an extent");
    if (!extent) return std::nullopt;
    if ((Extent(-1) - *extent).ProvablyNonNegative()) {
      Fail(DiagnosticCode::kBadExtent, "the extent " + extent->ToString(namer) + " is negative");
      return std::nullopt;
    }
    result.push_back(*extent);
  }
  return result;
}

Type KernelBuilder::TypeOf(const Operand& operand) const {
  return operand.IsValue() ? state_->TypeOf(operand.value()) : Type::None();
}

std::string KernelBuilder::Describe(const Operand& operand) const {
  return state_->Describe(operand);
}

std::string KernelBuilder::Describe(const Type& type) const { return state_->Describe(type); }

std::optional<int64_t> KernelBuilder::StaticIntOf(const Operand& operand) const {
  const auto in_range = [](__int128 value) -> std::optional<int64_t> {
    if (value > INT64_MAX || value < INT64_MIN) return std::nullopt;
    return static_cast<int64_t>(value);
  };
  if (const auto literal = state_->LiteralOf(operand)) {
    if (literal->kind != Literal::Kind::kInt) return std::nullopt;
    return in_range(literal->int_value);
  }
  if (!operand.IsValue()) return std::nullopt;
  const Type& type = state_->TypeOf(operand.value());
  if (type.IsScalar(DType::kIndex)) {
    const Extent extent = state_->extents->Of(operand.value());
    return extent.IsConstant() ? std::optional(extent.constant()) : std::nullopt;
  }
  const Op* op = state_->function->value(operand.value()).op;
  if (op == nullptr || op->kind != OpKind::kConstant || !IsInteger(type.dtype())) {
    return std::nullopt;
  }
  unsigned __int128 bits = op->attr<ConstantAttr>().value.bits;
  const int unused = 128 - BitWidth(type.dtype());
  if (!IsSignedInteger(type.dtype())) {
    return bits >> 63 != 0 ? std::nullopt : std::optional(static_cast<int64_t>(bits));
  }
  return in_range(static_cast<__int128>(bits << unused) >> unused);
}

bool KernelBuilder::IsConstexpr(const Operand& operand) const {
  return State::IsCompileTime(operand);
}

Operand KernelBuilder::Materialize(const Operand& operand) {
  if (!state_->Usable(operand)) return {};
  return state_->Materialize(operand);
}

Operand KernelBuilder::Instantiate(const Operand& operand, DType dtype) {
  if (!state_->Usable(operand)) return {};
  return state_->Instantiate(operand, dtype);
}

Extent KernelBuilder::ExtentOf(const Operand& operand) {
  return state_->ExtentOf(operand, "an extent").value_or(Extent::Invalid());
}

Operand KernelBuilder::Dim(const Operand& source, int64_t axis) {
  State& s = *state_;
  if (!s.Usable(source)) return {};
  const Type type = TypeOf(source);
  if (!type.IsResource() && !type.IsTensor() && !type.IsDomain()) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "only tensors, views and buffers have a shape, not " + Describe(source));
  }
  const std::optional<int64_t> position = s.Axis(axis, type.rank());
  if (!position) return {};
  return s.Emit(OpKind::kDim, Type::None(), {source.value()}, AxisAttr{*position});
}

}  // namespace intent
