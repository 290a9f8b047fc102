// Pointwise operations: literals meet dtypes, shapes broadcast, compile-time operands fold.

#include <array>

#include "compiler/builder/fold.h"
#include "compiler/builder/state.h"

namespace intent {
namespace {

bool IsZero(const StaticInt& flag) { return flag.resolved() && flag.value == 0; }

bool IsFloatLiteral(const std::optional<Literal>& literal) {
  return literal && literal->kind == Literal::Kind::kFloat;
}

}  // namespace

Operand KernelBuilder::State::BroadcastTo(const Operand& value, const std::vector<Extent>& shape,
                                          bool tensor) {
  const Type& type = TypeOf(value.value());
  if (type.IsTensor() == tensor && type.shape() == shape) return value;
  if (!tensor && type.IsTensor() && type.rank() == 0) {
    return LoadElements(value.value(), Relation{}, std::nullopt, std::nullopt);
  }
  if (!BroadcastsTo(type.shape(), shape)) {
    return Fail(DiagnosticCode::kShapeMismatch,
                "shape " + ShapeToString(type.shape(), namer) + " does not broadcast to " +
                    ShapeToString(shape, namer) +
                    ": from the right, extents are equal or a literal 1");
  }
  return Emit(OpKind::kBroadcast, Type::Tensor(type.dtype(), shape), {value.value()});
}

std::string KernelBuilder::State::ColumnHint(const std::vector<Extent>& line,
                                             const std::vector<Extent>& shape) const {
  if (line.size() != 1) return "";
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (!(line[0] == shape[axis])) continue;
    std::string subscript = "[:";
    for (size_t i = axis + 1; i < shape.size(); ++i) subscript += ", None";
    return "; " + subscript + "] behind the one of shape " + ShapeToString(line, namer) +
           " puts it along axis " + std::to_string(axis);
  }
  return "";
}

std::optional<std::vector<ValueId>> KernelBuilder::State::Align(std::span<const Operand> values) {
  std::vector<Extent> shape;
  bool tensor = false;
  for (const Operand& value : values) {
    const Type& type = TypeOf(value.value());
    auto joint = BroadcastShapes(shape, type.shape());
    if (!joint) {
      Fail(DiagnosticCode::kShapeMismatch,
           "shapes " + ShapeToString(shape, namer) + " and " + ShapeToString(type.shape(), namer) +
               " do not broadcast: from the right, extents are provably equal or a literal 1" +
               ColumnHint(shape, type.shape()) + ColumnHint(type.shape(), shape));
      return std::nullopt;
    }
    shape = std::move(*joint);
    tensor = tensor || type.IsTensor();
  }
  std::vector<ValueId> aligned;
  for (const Operand& value : values) {
    const Operand spread = BroadcastTo(value, shape, tensor);
    if (!spread.IsValue()) return std::nullopt;
    aligned.push_back(spread.value());
  }
  return aligned;
}

namespace {

// A scalar of a bare literal's own dtype beside another dtype of its class was probably made by
// one.
std::string BareLiteralHint(const Type& bare, const Type& other) {
  const bool is_float = bare.IsScalar(DType::kF64) && IsFloat(other.dtype());
  const bool is_integer = bare.IsScalar(DType::kI64) && IsInteger(other.dtype());
  if (!is_float && !is_integer) return "";
  return std::string("; a name bound to a bare ") + (is_float ? "0.0 is f64" : "0 is i64") +
         ", one bound to I.cast(" + (is_float ? "0.0" : "0") + ", I." +
         std::string(DTypeName(other.dtype())) + ") is not";
}

// Coordinates and extents often meet data.
std::string IndexHint(const Type& index, const Type& other) {
  if (index.dtype() != DType::kIndex || !IsFloat(other.dtype())) return "";
  return "; I.cast(..., I." + std::string(DTypeName(other.dtype())) +
         ") makes a float of a coordinate or extent";
}

}  // namespace

// Literals and constexprs take the dtype of the value they meet; two of them are materialised, an
// integer beside a float as a float.
std::optional<std::array<Operand, 2>> KernelBuilder::State::Meet(const Operand& a, const Operand& b,
                                                                 const char* what) {
  if (!CheckElementwise(a, what) || !CheckElementwise(b, what)) return std::nullopt;
  std::array<Operand, 2> met = {a, b};
  if (IsCompileTime(a) && IsCompileTime(b)) {
    const bool is_float = IsFloatLiteral(LiteralOf(a)) || IsFloatLiteral(LiteralOf(b));
    for (Operand& operand : met) {
      const auto literal = LiteralOf(operand);
      operand = is_float && literal && literal->kind == Literal::Kind::kInt
                    ? Instantiate(operand, DType::kF64)
                    : Materialize(operand);
    }
  } else if (IsCompileTime(a)) {
    met[0] = Instantiate(a, TypeOf(b.value()).dtype());
  } else if (IsCompileTime(b)) {
    met[1] = Instantiate(b, TypeOf(a.value()).dtype());
  }
  if (met[0].IsPoison() || met[1].IsPoison()) return std::nullopt;
  const Type &x = TypeOf(met[0].value()), &y = TypeOf(met[1].value());
  if (x.dtype() == y.dtype()) return met;
  Fail(DiagnosticCode::kDtypeMismatch,
       Describe(x) + " and " + Describe(y) + ": dtypes " + std::string(DTypeName(x.dtype())) +
           " and " + std::string(DTypeName(y.dtype())) + " do not mix; cast one of them" +
           BareLiteralHint(x, y) + BareLiteralHint(y, x) + IndexHint(x, y) + IndexHint(y, x));
  return std::nullopt;
}

Operand KernelBuilder::Unary(UnaryKind kind, const Operand& x, const Operand& approximate,
                             const Operand& flush_to_zero) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {x, approximate, flush_to_zero};
  if (!s.Usable(operands)) return {};
  const auto approximation = s.Flag(approximate, "approximate");
  const auto flush = s.Flag(flush_to_zero, "flush_to_zero");
  if (!approximation || !flush) return {};
  Operand value = x;
  if (State::IsCompileTime(x) && IsZero(*approximation) && IsZero(*flush)) {
    const auto literal = s.LiteralOf(x);
    const bool boolean = x.IsLiteral()
                             ? x.literal().kind == Literal::Kind::kBool
                             : s.ConstexprTypeOf(x.constexpr_id()).kind == ConstexprKind::kBool;
    if (kind == UnaryKind::kNegate && !boolean) {
      return s.Fold(ConstexprOp::kNegate, std::span(&x, 1));
    }
    if (kind == UnaryKind::kNot && boolean) return s.Fold(ConstexprOp::kNot, std::span(&x, 1));
    if (kind == UnaryKind::kNot && x.IsLiteral() && literal->kind == Literal::Kind::kInt) {
      return IntLiteral(~literal->int_value);
    }
    if (kind == UnaryKind::kAbs && !boolean) {
      const Operand negated = s.Fold(ConstexprOp::kNegate, std::span(&x, 1));
      if (negated.IsPoison()) return {};
      const std::array<Operand, 2> both = {x, negated};
      return s.Fold(ConstexprOp::kMax, both);
    }
  }
  if (!s.CheckElementwise(x, "the operand of a pointwise operation")) return {};
  value = s.Materialize(x);
  if (!value.IsValue()) return {};
  return s.Emit(OpKind::kUnary, Type::None(), {value.value()},
                UnaryAttr{kind, *approximation, *flush});
}

Operand KernelBuilder::Binary(BinaryKind kind, const Operand& a, const Operand& b,
                              const Operand& approximate, const Operand& flush_to_zero) {
  State& s = *state_;
  const std::array<Operand, 4> operands = {a, b, approximate, flush_to_zero};
  if (!s.Usable(operands)) return {};
  const auto approximation = s.Flag(approximate, "approximate");
  const auto flush = s.Flag(flush_to_zero, "flush_to_zero");
  if (!approximation || !flush) return {};
  if (State::IsCompileTime(a) && State::IsCompileTime(b) && IsZero(*approximation) &&
      IsZero(*flush)) {
    const auto x = s.LiteralOf(a), y = s.LiteralOf(b);
    const bool boolean = a.IsLiteral()
                             ? a.literal().kind == Literal::Kind::kBool
                             : s.ConstexprTypeOf(a.constexpr_id()).kind == ConstexprKind::kBool;
    if (const auto op = ConstexprOpOf(kind, boolean)) {
      const std::array<Operand, 2> both = {a, b};
      return s.Fold(*op, both);
    }
    if (x && y && x->kind == Literal::Kind::kInt && y->kind == Literal::Kind::kInt) {
      if (const auto bits = FoldBits(kind, x->int_value, y->int_value)) return IntLiteral(*bits);
    }
  }
  const auto met = s.Meet(a, b, "the operand of a pointwise operation");
  if (!met) return {};
  auto aligned = s.Align(*met);
  if (!aligned) return {};
  return s.Emit(OpKind::kBinary, Type::None(), std::move(*aligned),
                BinaryAttr{kind, *approximation, *flush});
}

Operand KernelBuilder::Compare(CompareKind kind, const Operand& a, const Operand& b) {
  State& s = *state_;
  const std::array<Operand, 2> both = {a, b};
  if (!s.Usable(both)) return {};
  if (State::IsCompileTime(a) && State::IsCompileTime(b)) return s.Fold(ConstexprOpOf(kind), both);
  const auto met = s.Meet(a, b, "the operand of a comparison");
  if (!met) return {};
  auto aligned = s.Align(*met);
  if (!aligned) return {};
  return s.Emit(OpKind::kCompare, Type::None(), std::move(*aligned), CompareAttr{kind});
}

bool KernelBuilder::State::CheckLogical(const Operand& operand, const char* word,
                                        const char* symbol) {
  if (IsCompileTime(operand)) return true;
  const Type& type = TypeOf(operand.value());
  if (type.IsScalar(DType::kBool)) return true;
  std::string message = "`" + std::string(word) + "` takes scalar bools, not " + Describe(type);
  if (type.IsTensor()) message += "; elementwise it is written " + std::string(symbol);
  Fail(DiagnosticCode::kDtypeNotAllowed, std::move(message));
  return false;
}

Operand KernelBuilder::State::Logical(ConstexprOp op, BinaryKind kind, const Operand& a,
                                      const Operand& b) {
  const std::array<Operand, 2> both = {a, b};
  if (!Usable(both)) return {};
  const bool is_and = op == ConstexprOp::kAnd;
  const char *word = is_and ? "and" : "or", *symbol = is_and ? "&" : "|";
  if (!CheckLogical(a, word, symbol) || !CheckLogical(b, word, symbol)) return {};
  if (IsCompileTime(a) && IsCompileTime(b)) return Fold(op, both);
  const Operand x = Instantiate(a, DType::kBool), y = Instantiate(b, DType::kBool);
  if (!x.IsValue() || !y.IsValue()) return {};
  return Emit(OpKind::kBinary, Type::None(), {x.value(), y.value()}, BinaryAttr{kind});
}

Operand KernelBuilder::LogicalAnd(const Operand& a, const Operand& b) {
  return state_->Logical(ConstexprOp::kAnd, BinaryKind::kAnd, a, b);
}

Operand KernelBuilder::LogicalOr(const Operand& a, const Operand& b) {
  return state_->Logical(ConstexprOp::kOr, BinaryKind::kOr, a, b);
}

Operand KernelBuilder::LogicalNot(const Operand& a) {
  State& s = *state_;
  if (!s.Usable(a) || !s.CheckLogical(a, "not", "~")) return {};
  if (State::IsCompileTime(a)) return s.Fold(ConstexprOp::kNot, std::span(&a, 1));
  return s.Emit(OpKind::kUnary, Type::None(), {a.value()}, UnaryAttr{UnaryKind::kNot});
}

Operand KernelBuilder::Select(const Operand& condition, const Operand& a, const Operand& b) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {condition, a, b};
  if (!s.Usable(operands)) return {};
  if (State::IsCompileTime(condition) && State::IsCompileTime(a) && State::IsCompileTime(b)) {
    const auto kind = [&](const Operand& operand) {
      if (operand.IsConstexpr()) return s.ConstexprTypeOf(operand.constexpr_id()).kind;
      switch (operand.literal().kind) {
        case Literal::Kind::kBool:
          return ConstexprKind::kBool;
        case Literal::Kind::kInt:
          return ConstexprKind::kInt;
        case Literal::Kind::kFloat:
          break;
      }
      return ConstexprKind::kFloat;
    };
    if (kind(condition) == ConstexprKind::kBool && kind(a) == kind(b)) {
      return s.Fold(ConstexprOp::kSelect, operands);
    }
  }
  const Operand chooses = s.Materialize(condition);
  if (!chooses.IsValue() || !s.CheckElementwise(chooses, "the condition of a select")) return {};
  if (s.TypeOf(chooses.value()).dtype() != DType::kBool) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "the condition of a select is bool, not " + s.Describe(chooses));
  }
  const auto met = s.Meet(a, b, "a branch of a select");
  if (!met) return {};
  const std::array<Operand, 3> values = {chooses, (*met)[0], (*met)[1]};
  auto aligned = s.Align(values);
  if (!aligned) return {};
  return s.Emit(OpKind::kSelect, Type::None(), std::move(*aligned));
}

Operand KernelBuilder::Mask(const Operand& value, const Operand& valid, const Operand& fill) {
  State& s = *state_;
  const std::array<Operand, 3> operands = {value, valid, fill};
  if (!s.Usable(operands)) return {};
  const Operand tests = s.Materialize(valid);
  if (!tests.IsValue() || !s.CheckElementwise(tests, "the valid operand of a mask")) return {};
  if (s.TypeOf(tests.value()).dtype() != DType::kBool) {
    return s.Fail(DiagnosticCode::kTypeMismatch,
                  "the valid operand of a mask is bool, not " + s.Describe(tests));
  }
  const auto met = s.Meet(value, fill, "the operand of a mask");
  if (!met) return {};
  const std::array<Operand, 3> values = {(*met)[0], tests, (*met)[1]};
  auto aligned = s.Align(values);
  if (!aligned) return {};
  return s.Emit(OpKind::kMask, Type::None(), std::move(*aligned));
}

Operand KernelBuilder::Cast(const Operand& x, DType dtype) {
  State& s = *state_;
  if (!s.Usable(x) || !s.CheckElementwise(x, "the operand of a cast")) return {};
  // A representable literal becomes the constant; anything else is cast like a value would be.
  if (const auto literal = s.LiteralOf(x)) {
    if (const auto value = LiteralAs(*literal, dtype)) return s.Constant(*value);
  }
  const Operand value = s.Materialize(x);
  if (!value.IsValue()) return {};
  const Type& type = s.TypeOf(value.value());
  if (type.dtype() == dtype) return value;
  return s.Emit(OpKind::kCast, type.WithDType(dtype), {value.value()});
}

Operand KernelBuilder::SaturatingCast(const Operand& x, DType dtype) {
  State& s = *state_;
  if (!s.Usable(x) || !s.CheckElementwise(x, "the operand of a cast")) return {};
  const Operand value = s.Materialize(x);
  if (!value.IsValue()) return {};
  const Type& type = s.TypeOf(value.value());
  if (type.dtype() == dtype && dtype != DType::kBool) return value;
  return s.Emit(OpKind::kSaturatingCast, type.WithDType(dtype), {value.value()});
}

Operand KernelBuilder::Bitcast(const Operand& x, DType dtype) {
  State& s = *state_;
  if (!s.Usable(x) || !s.CheckElementwise(x, "the operand of a bitcast")) return {};
  const Operand value = s.Materialize(x);
  if (!value.IsValue()) return {};
  const Type& type = s.TypeOf(value.value());
  if (type.dtype() == dtype) return value;
  return s.Emit(OpKind::kBitcast, type.WithDType(dtype), {value.value()});
}

}  // namespace intent
