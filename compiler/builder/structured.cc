// Reductions, scans and their builtins.

#include <algorithm>

#include "compiler/builder/state.h"
#include "compiler/numerics/float_format.h"

namespace intent {
namespace {

// seed 000 chapter 3: what sums accumulate in.
DType SumDType(DType dtype) {
  switch (dtype) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI4:
      return DType::kI32;
    case DType::kU8:
    case DType::kU16:
      return DType::kU32;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kBool:
    case DType::kIndex:
    case DType::kI32:
    case DType::kI64:
    case DType::kU32:
    case DType::kU64:
    case DType::kF32:
    case DType::kF64:
    case DType::kI128:
    case DType::kU128:
    case DType::kF8E4M3:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E4M3B11FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
    case DType::kF4E2M1FN:
      return dtype;
  }
  return dtype;
}

// -inf where the format has it, the least finite value otherwise.
ScalarValue Lowest(DType dtype) {
  if (IsFloat(dtype)) {
    const numerics::FloatFormat format = numerics::FormatOf(dtype);
    return {dtype, numerics::EncodeInfinity(format, true, numerics::Overflow::kSaturate) +
                       (format.has_infinity ? 1 : 0)};
  }
  if (!IsSignedInteger(dtype)) return {dtype, 0};
  return {dtype, static_cast<unsigned __int128>(1) << (BitWidth(dtype) - 1)};
}

struct Builtin {
  CombineKind combine;
  bool logical;
};

std::optional<Builtin> BuiltinOf(const std::string& name) {
  if (name == "sum") return Builtin{CombineKind::kAdd, false};
  if (name == "max") return Builtin{CombineKind::kMaximum, false};
  if (name == "any") return Builtin{CombineKind::kOr, true};
  if (name == "all") return Builtin{CombineKind::kAnd, true};
  return std::nullopt;
}

ScalarValue IdentityOf(CombineKind combine, DType dtype) {
  if (combine == CombineKind::kMaximum) return Lowest(dtype);
  return {dtype, combine == CombineKind::kAnd ? 1u : 0u};
}

}  // namespace

bool KernelBuilder::State::CheckFoldValue(const Operand& value, const char* what) {
  if (value.IsPoison()) return false;
  if (value.IsValue()) {
    const Type& type = TypeOf(value.value());
    if (type.IsTensor() || type.IsProduct()) return true;
    if (!type.IsScalar() && !CheckElementwise(value, what)) return false;
  }
  Fail(DiagnosticCode::kTypeMismatch,
       std::string(what) + " takes a tensor or a product of tensors, not " + Describe(value));
  return false;
}

int KernelBuilder::State::ComponentRank(const Type& value) const {
  const Type* type = &value;
  while (type->IsProduct() && !type->fields().empty()) type = &type->fields()[0];
  return type->rank();
}

Operand KernelBuilder::State::FoldIdentity(const Type& value, const Operand& identity) {
  if (identity.IsPoison()) return {};
  if (IsCompileTime(identity)) {
    if (value.IsElementwise()) return Instantiate(identity, value.dtype());
    return Fail(
        DiagnosticCode::kCombineSchema,
        "the identity of " + Describe(value) + " has its components, not " + Describe(identity));
  }
  const Type type = TypeOf(identity.value());
  if (value.IsProduct() && type.IsProduct() && value.fields().size() == type.fields().size()) {
    std::vector<ValueId> fields;
    const Op* op = function->value(identity.value()).op;
    const bool made =
        op != nullptr && (op->kind == OpKind::kMakeTuple || op->kind == OpKind::kMakeRecord);
    bool changed = false;
    for (size_t i = 0; i < type.fields().size(); ++i) {
      const Operand field = made ? Operand::OfValue(op->operands[i])
                                 : Emit(OpKind::kExtract, Type::None(), {identity.value()},
                                        AxisAttr{static_cast<int64_t>(i)});
      const Operand met = FoldIdentity(value.fields()[i], field);
      if (!met.IsValue()) return {};
      changed = changed || met.value() != field.value();
      fields.push_back(met.value());
    }
    if (!changed) return identity;
    if (type.kind() == TypeKind::kTuple) {
      return Emit(OpKind::kMakeTuple, Type::None(), std::move(fields));
    }
    std::vector<Type> types;
    for (const ValueId field : fields) types.push_back(TypeOf(field));
    return Emit(OpKind::kMakeRecord, Type::Record(type.names(), std::move(types)),
                std::move(fields));
  }
  if (!value.IsElementwise() || !type.IsElementwise()) return identity;
  const auto literal = literals.find(identity.value());
  if (literal != literals.end() && type.dtype() != value.dtype()) {
    return Instantiate(literal->second, value.dtype());
  }
  if (type.IsTensor() && type.rank() == 0) return BroadcastTo(identity, {}, false);
  return identity;
}

std::optional<Type> KernelBuilder::CombineSchema(const Operand& value,
                                                 std::span<const int64_t> axes,
                                                 const Operand& identity) {
  State& s = *state_;
  if (!s.Usable(value) || !s.Usable(identity)) return std::nullopt;
  if (!s.CheckFoldValue(value, "a reduction")) return std::nullopt;
  const Type type = s.TypeOf(value.value());
  const auto positions = s.Axes(axes, s.ComponentRank(type));
  if (!positions) return std::nullopt;
  const Operand neutral = s.FoldIdentity(type, identity);
  if (!neutral.IsValue()) return std::nullopt;
  const auto schema = InferReduce(s.Context(), type, *positions, s.TypeOf(neutral.value()));
  if (!schema) return std::nullopt;
  return schema->state;
}

std::optional<std::vector<ValueId>> KernelBuilder::State::FoldOperands(
    const Operand& value, const Operand& identity, std::span<const Operand> captures,
    CombineKind kind, const RegionPtr& combine) {
  if (!Usable(value) || !Usable(identity) || !Usable(captures)) return std::nullopt;
  if (kind == CombineKind::kRegion && !Takes(combine)) return std::nullopt;
  const Operand neutral = FoldIdentity(TypeOf(value.value()), identity);
  if (!neutral.IsValue()) return std::nullopt;
  std::vector<ValueId> operands = {value.value(), neutral.value()};
  for (const Operand& capture : captures) {
    const Operand captured = Materialize(capture);
    if (!captured.IsValue()) return std::nullopt;
    operands.push_back(captured.value());
  }
  return operands;
}

Operand KernelBuilder::Reduce(const Operand& value, std::span<const int64_t> axes,
                              const Operand& identity, CombineKind kind, RegionPtr combine,
                              std::span<const Operand> captures) {
  State& s = *state_;
  if (!s.Usable(value) || !s.CheckFoldValue(value, "a reduction")) return {};
  const auto positions = s.Axes(axes, s.ComponentRank(s.TypeOf(value.value())));
  if (!positions) return {};
  auto operands = s.FoldOperands(value, identity, captures, kind, combine);
  if (!operands) return {};
  ReduceAttr attr{.axes = {positions->begin(), positions->end()}, .combine = kind};
  std::vector<RegionPtr> regions;
  if (kind == CombineKind::kRegion) regions.push_back(std::move(combine));
  return s.Emit(OpKind::kReduce, Type::None(), std::move(*operands), std::move(attr),
                std::move(regions));
}

Operand KernelBuilder::Scan(const Operand& value, int64_t axis, const Operand& identity,
                            CombineKind kind, RegionPtr combine, std::span<const Operand> captures,
                            const Operand& inclusive, const Operand& reverse) {
  State& s = *state_;
  if (!s.Usable(value) || !s.CheckFoldValue(value, "a scan")) return {};
  const auto position = s.Axis(axis, s.ComponentRank(s.TypeOf(value.value())));
  const auto includes = s.Flag(inclusive, "inclusive");
  const auto reverses = s.Flag(reverse, "reverse");
  if (!position || !includes || !reverses) return {};
  auto operands = s.FoldOperands(value, identity, captures, kind, combine);
  if (!operands) return {};
  std::vector<RegionPtr> regions;
  if (kind == CombineKind::kRegion) regions.push_back(std::move(combine));
  return s.Emit(OpKind::kScan, Type::None(), std::move(*operands),
                ScanAttr{*position, kind, *includes, *reverses}, std::move(regions));
}

// The tensor that a builtin folds: converted to its accumulator's dtype; poison with an error if
// the builtin is not defined for it.
Operand KernelBuilder::State::BuiltinValue(const std::string& name, const Operand& value,
                                           bool logical, bool sums,
                                           std::optional<DType> acc_dtype) {
  if (!CheckElementwise(value, "the operand of a reduction")) return {};
  if (!value.IsValue() || !TypeOf(value.value()).IsTensor()) {
    return Fail(DiagnosticCode::kTypeMismatch, name + " takes a tensor, not " + Describe(value));
  }
  const Type type = TypeOf(value.value());
  const DType dtype = type.dtype();
  if (logical != (dtype == DType::kBool)) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                name + (logical ? " is defined for bool, not " : " is not defined for ") +
                    std::string(DTypeName(dtype)) + (logical ? "" : "; cast to an integer first"));
  }
  const DType accumulator = acc_dtype ? *acc_dtype : sums ? SumDType(dtype) : dtype;
  if (accumulator == dtype) return value;
  if (logical || accumulator == DType::kBool) {
    return Fail(DiagnosticCode::kDtypeNotAllowed,
                name + " cannot accumulate in " + std::string(DTypeName(accumulator)));
  }
  return Emit(OpKind::kCast, type.WithDType(accumulator), {value.value()});
}

Operand KernelBuilder::ReduceBuiltin(const std::string& name, const Operand& value,
                                     std::span<const int64_t> axes,
                                     std::optional<DType> acc_dtype) {
  State& s = *state_;
  if (!s.Usable(value)) return {};
  const auto builtin = BuiltinOf(name);
  if (!builtin)
    return s.Fail(DiagnosticCode::kUnknownName, "no builtin reduction is named " + name);
  if (value.IsValue() && s.TypeOf(value.value()).IsProduct()) {
    if (acc_dtype && s.TypeOf(value.value()).fields().size() > 1) {
      return s.Fail(DiagnosticCode::kBadArguments, "acc_dtype is for one component only");
    }
    const Type type = s.TypeOf(value.value());
    std::vector<Operand> results;
    for (size_t i = 0; i < type.fields().size(); ++i) {
      results.push_back(
          ReduceBuiltin(name, Extract(value, static_cast<int64_t>(i)), axes, acc_dtype));
    }
    return type.kind() == TypeKind::kTuple ? MakeTuple(results) : MakeRecord(type.names(), results);
  }
  const Operand folded = s.BuiltinValue(name, value, builtin->logical,
                                        builtin->combine == CombineKind::kAdd, acc_dtype);
  if (!folded.IsValue()) return {};
  const auto positions = s.Axes(axes, s.TypeOf(folded.value()).rank());
  if (!positions) return {};
  const Operand identity =
      s.Constant(IdentityOf(builtin->combine, s.TypeOf(folded.value()).dtype()));
  return s.Emit(OpKind::kReduce, Type::None(), {folded.value(), identity.value()},
                ReduceAttr{{positions->begin(), positions->end()}, builtin->combine});
}

Operand KernelBuilder::CumulativeBuiltin(const std::string& name, const Operand& value,
                                         int64_t axis, const Operand& inclusive,
                                         const Operand& reverse, std::optional<DType> acc_dtype) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {value, inclusive, reverse};
  if (!s.Usable(operands)) return {};
  if (name != "sum" && name != "max" && name != "cumsum" && name != "cummax") {
    return s.Fail(DiagnosticCode::kUnknownName, "no builtin scan is named " + name);
  }
  const bool sums = name.ends_with("sum");
  const Operand folded = s.BuiltinValue(sums ? "cumsum" : "cummax", value, false, sums, acc_dtype);
  if (!folded.IsValue()) return {};
  const auto position = s.Axis(axis, s.TypeOf(folded.value()).rank());
  const auto includes = s.Flag(inclusive, "inclusive");
  const auto reverses = s.Flag(reverse, "reverse");
  if (!position || !includes || !reverses) return {};
  const CombineKind combine = sums ? CombineKind::kAdd : CombineKind::kMaximum;
  const Operand identity = s.Constant(IdentityOf(combine, s.TypeOf(folded.value()).dtype()));
  return s.Emit(OpKind::kScan, Type::None(), {folded.value(), identity.value()},
                ScanAttr{*position, combine, *includes, *reverses});
}

Operand KernelBuilder::ArgMax(const Operand& value, int64_t axis, std::optional<DType> acc_dtype) {
  State& s = *state_;
  if (!s.Usable(value)) return {};
  const Operand folded = s.BuiltinValue("arg_reduce.max", value, false, false, acc_dtype);
  if (!folded.IsValue()) return {};
  const Type type = s.TypeOf(folded.value());
  const auto position = s.Axis(axis, type.rank());
  if (!position) return {};
  // Positions along the axis, beside every member.
  const Operand zero = s.IndexConstant(0), one = s.IndexConstant(1);
  const Operand end = s.Emit(OpKind::kDim, Type::None(), {folded.value()}, AxisAttr{*position});
  const Operand domain =
      s.Emit(OpKind::kDomain, Type::None(), {zero.value(), end.value(), one.value()});
  if (!domain.IsValue()) return {};
  Operand indices = s.Emit(OpKind::kIndices, Type::None(), {domain.value()});
  if (!indices.IsValue()) return {};
  if (type.rank() > 1) {
    std::vector<Extent> line(type.shape().size(), Extent(1));
    line[*position] = type.shape()[*position];
    indices =
        s.Emit(OpKind::kReshape, Type::Tensor(DType::kIndex, std::move(line)), {indices.value()});
    if (!indices.IsValue()) return {};
  }
  indices = s.BroadcastTo(indices, type.shape(), true);
  if (!indices.IsValue()) return {};
  const Operand members =
      s.Emit(OpKind::kMakeTuple, Type::None(), {folded.value(), indices.value()});
  const Operand lowest = s.Constant(Lowest(type.dtype())), last = s.IndexConstant(INT64_MAX);
  const Operand identity = s.Emit(OpKind::kMakeTuple, Type::None(), {lowest.value(), last.value()});
  return s.Emit(OpKind::kReduce, Type::None(), {members.value(), identity.value()},
                ReduceAttr{{*position}, CombineKind::kArgMax});
}

}  // namespace intent
