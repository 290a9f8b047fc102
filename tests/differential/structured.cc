// Reductions, scans and contractions whose results do not depend on order.

#include <algorithm>

#include "compiler/numerics/scalar.h"
#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

bool IsNumber(const Val& val) {
  return val.type.IsTensor() && val.type.dtype() != DType::kBool && val.type.rank() > 0 &&
         val.fact.exactness < Exactness::kFuzzy;
}

Operand RealLiteral(double value) {
  return Literal{.kind = Literal::Kind::kFloat, .float_value = value};
}

}  // namespace

void Generator::Reduction(int /*depth*/) {
  const bool logical = random_.Chance(15);
  const Val* picked = PickVal([&](const Val& val) {
    return val.type.IsTensor() && val.type.rank() > 0 &&
           (val.type.dtype() == DType::kBool) == logical && val.fact.exactness < Exactness::kFuzzy;
  });
  if (picked == nullptr) return;
  Val value = *picked;
  std::vector<int64_t> axes;
  for (int axis = 0; axis < value.type.rank(); ++axis) {
    if (random_.Chance(50)) axes.push_back(random_.Chance(20) ? axis - value.type.rank() : axis);
  }
  if (axes.empty()) axes.push_back(random_.Below(value.type.rank()));
  if (logical) {
    return Add(b_.ReduceBuiltin(random_.Pick({"any", "all"}), value.operand, axes, std::nullopt),
               {});
  }
  if (random_.Chance(40)) {
    return Add(b_.ReduceBuiltin("max", value.operand, axes, std::nullopt),
               {.exactness = value.fact.exactness, .bound = value.fact.bound, .finite = false});
  }
  const double count = static_cast<double>(Count(value.type));
  const DType dtype = value.type.dtype();
  DType accumulator = dtype;
  if (IsFloat(dtype) && BitWidth(dtype) < 32) accumulator = DType::kF32;
  std::optional<DType> acc_dtype;
  if (random_.Chance(20) && IsFloat(dtype)) {
    accumulator = random_.Pick({DType::kF64, DType::kF32, dtype});
    acc_dtype = accumulator;
  }
  for (int64_t bound : {8, 1}) {
    if (IsFloat(dtype) && (value.fact.exactness == Exactness::kRounded ||
                           value.fact.bound * count > ExactLimit(accumulator))) {
      value = Clamp(value, bound);
    }
  }
  if (IsFloat(dtype) && value.fact.bound * count > ExactLimit(accumulator)) return;
  Add(b_.ReduceBuiltin("sum", value.operand, axes, acc_dtype),
      {.bound = value.fact.bound * std::max(count, 1.0), .finite = value.fact.finite});
}

void Generator::GenericReduction(int /*depth*/) {
  const Val* picked = PickVal(IsNumber);
  if (picked == nullptr) return;
  const Val value = *picked;
  const DType dtype = value.type.dtype();
  std::vector<int64_t> axes = {random_.Below(value.type.rank())};
  if (value.type.rank() > 1 && random_.Chance(30)) {
    axes = {0, 1};
  }
  const bool pair = random_.Chance(40);
  const BinaryKind first =
      IsFloat(dtype)
          ? random_.Pick({BinaryKind::kMaximumNum, BinaryKind::kMinimumNum, BinaryKind::kMaximum})
          : random_.Pick({BinaryKind::kMul, BinaryKind::kXor, BinaryKind::kAnd, BinaryKind::kAdd,
                          BinaryKind::kMinimum});
  Operand identity;
  switch (first) {
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMaximum:
      identity = b_.Cast(RealLiteral(-__builtin_inf()), dtype);
      break;
    case BinaryKind::kMinimumNum:
      identity = b_.Cast(RealLiteral(__builtin_inf()), dtype);
      break;
    case BinaryKind::kMul:
      identity = Number(dtype, 1);
      break;
    case BinaryKind::kAnd:
      identity = b_.Unary(UnaryKind::kNot, Number(dtype, 0));
      break;
    case BinaryKind::kMinimum: {
      const ScalarValue greatest = numerics::GreatestOf(dtype);
      identity = b_.Cast(
          Literal{.kind = Literal::Kind::kInt, .int_value = numerics::AsInteger(greatest)}, dtype);
      break;
    }
    default:
      identity = Number(dtype, 0);
  }
  // The state may be a whole slice instead of one element.
  if (axes.size() == 1 && random_.Chance(25) && value.type.rank() > 1) {
    std::vector<Operand> shape;
    for (int axis = 0; axis < value.type.rank(); ++axis) {
      if (axis != axes[0]) shape.push_back(b_.Dim(value.operand, axis));
    }
    identity = b_.Full(shape, identity, dtype);
  }
  Operand members = value.operand;
  if (pair) {
    // Beside it a count of the members above zero.
    const Operand above =
        b_.Cast(b_.Compare(CompareKind::kGt, value.operand, Number(dtype, 0)), DType::kI32);
    members = b_.MakeTuple(std::vector<Operand>{value.operand, above});
    Operand none = Number(DType::kI32, 0);
    const Type type = b_.TypeOf(identity);
    if (type.IsTensor()) {
      std::vector<Operand> shape;
      for (int axis = 0; axis < type.rank(); ++axis) shape.push_back(b_.Dim(identity, axis));
      none = b_.Full(shape, none, DType::kI32);
    }
    identity = b_.MakeTuple(std::vector<Operand>{identity, none});
  }
  const auto schema = b_.CombineSchema(members, axes, identity);
  if (!schema) return;
  const std::vector<Operand> states = b_.PushRegion(std::vector<Type>{*schema, *schema}, true);
  Operand combined;
  if (pair) {
    combined = b_.MakeTuple(std::vector<Operand>{
        b_.Binary(first, b_.Extract(states[0], 0), b_.Extract(states[1], 0)),
        b_.Binary(BinaryKind::kAdd, b_.Extract(states[0], 1), b_.Extract(states[1], 1))});
  } else {
    combined = b_.Binary(first, states[0], states[1]);
  }
  const auto region = b_.PopRegion(std::vector<Operand>{combined});
  const Operand result = b_.Reduce(members, axes, identity, CombineKind::kRegion, region, {});
  Fact fact = value.fact;
  fact.finite = false;
  if (!pair) return Add(result, fact);
  Add(b_.Extract(result, 0), fact);
  Add(b_.Extract(result, 1), {});
}

void Generator::ArgReduction(int /*depth*/) {
  const Val* picked = PickVal(IsNumber);
  if (picked == nullptr) return;
  const Val value = *picked;
  const Operand result = b_.ArgMax(value.operand, random_.Below(value.type.rank()), std::nullopt);
  Fact fact = value.fact;
  fact.finite = false;
  Add(b_.Extract(result, 0), fact);
  Add(b_.Extract(result, 1), {});
}

void Generator::Cumulative(int /*depth*/) {
  const Val* picked = PickVal(IsNumber);
  if (picked == nullptr) return;
  Val value = *picked;
  const int64_t axis = random_.Below(value.type.rank());
  const Operand inclusive = Literal{Literal::Kind::kBool, random_.Chance(60), 0};
  const Operand reverse = Literal{Literal::Kind::kBool, random_.Chance(40), 0};
  const DType dtype = value.type.dtype();
  if (random_.Chance(40)) {
    Fact fact = value.fact;
    fact.finite = false;
    return Add(
        b_.CumulativeBuiltin("cummax", value.operand, axis, inclusive, reverse, std::nullopt),
        fact);
  }
  const double extent = static_cast<double>((*Concrete(value.type.shape()))[axis]);
  const DType accumulator = IsFloat(dtype) && BitWidth(dtype) < 32 ? DType::kF32 : dtype;
  if (IsFloat(dtype)) {
    if (value.fact.exactness != Exactness::kWhole ||
        value.fact.bound * extent > ExactLimit(accumulator)) {
      value = Clamp(value, 8);
    }
  }
  Add(b_.CumulativeBuiltin("cumsum", value.operand, axis, inclusive, reverse, std::nullopt),
      {.bound = value.fact.bound * std::max(extent, 1.0), .finite = value.fact.finite});
}

// An associative, not commutative state: the last member above zero (else zero, so that the
// identity is neutral), and how many there were.
void Generator::GenericScan(int /*depth*/) {
  const Val* picked =
      PickVal([](const Val& val) { return IsNumber(val) && val.type.dtype() != DType::kIndex; });
  if (picked == nullptr) return;
  const Val value = *picked;
  const DType dtype = value.type.dtype();
  const int64_t axis = random_.Below(value.type.rank());
  const Operand zero = Number(dtype, 0);
  const Operand above = b_.Compare(CompareKind::kGt, value.operand, zero);
  const std::vector<std::string> names = {"seen", "last", "count"};
  const Operand members =
      b_.MakeRecord(names, std::vector<Operand>{above, b_.Select(above, value.operand, zero),
                                                b_.Cast(above, DType::kI32)});
  const Operand no = Number(DType::kBool, 0);
  const Operand identity =
      b_.MakeRecord(names, std::vector<Operand>{no, zero, Number(DType::kI32, 0)});
  const auto schema = b_.CombineSchema(members, std::vector<int64_t>{axis}, identity);
  if (!schema) return;
  const std::vector<Operand> s = b_.PushRegion(std::vector<Type>{*schema, *schema}, true);
  const Operand seen = b_.Field(s[1], "seen");
  const Operand combined = b_.MakeRecord(
      names, std::vector<Operand>{
                 b_.Binary(BinaryKind::kOr, b_.Field(s[0], "seen"), seen),
                 b_.Select(seen, b_.Field(s[1], "last"), b_.Field(s[0], "last")),
                 b_.Binary(BinaryKind::kAdd, b_.Field(s[0], "count"), b_.Field(s[1], "count"))});
  const auto region = b_.PopRegion(std::vector<Operand>{combined});
  const Operand result = b_.Scan(members, axis, identity, CombineKind::kRegion, region, {},
                                 Literal{Literal::Kind::kBool, random_.Chance(60), 0},
                                 Literal{Literal::Kind::kBool, random_.Chance(40), 0});
  Add(b_.Extract(result, 1), value.fact);
  if (random_.Chance(50)) Add(b_.Extract(result, 2), {});
}

void Generator::Contraction(int /*depth*/) {
  const Val* first = PickVal(IsNumber);
  if (first == nullptr) return;
  Val left = *first;
  const DType dtype = left.type.dtype();
  const auto shares = [&](const Val& other) {
    if (!IsNumber(other) || other.type.dtype() != dtype) return false;
    for (const Extent& mine : left.type.shape()) {
      for (const Extent& its : other.type.shape()) {
        if (mine == its) return true;
      }
    }
    return false;
  };
  const Val* second = PickVal(shares);
  if (second == nullptr) return;
  Val right = *second;
  std::vector<std::pair<int64_t, int64_t>> reduce, batch;
  std::vector<bool> used(static_cast<size_t>(right.type.rank()), false);
  double depth = 1;
  for (int l = 0; l < left.type.rank(); ++l) {
    for (int r = 0; r < right.type.rank(); ++r) {
      if (used[r] || !(left.type.shape()[l] == right.type.shape()[r])) continue;
      const int64_t choice = reduce.empty() ? random_.Below(2) : random_.Below(4);
      if (choice == 0) {
        reduce.emplace_back(l, r);
        depth *= static_cast<double>((*Concrete({left.type.shape()[l]}))[0]);
      } else if (choice == 1 && l > 0) {
        batch.emplace_back(l, r);
      } else {
        continue;
      }
      used[r] = true;
      break;
    }
  }
  if (reduce.empty()) return;
  double work = static_cast<double>(Count(left.type)) * static_cast<double>(Count(right.type));
  if (depth > 0) work /= depth;
  if (work * static_cast<double>(repeat_) > 300'000) return;
  budget_ -= static_cast<int64_t>(work / 16);
  DType accumulator = dtype;
  if (IsFloat(dtype)) {
    accumulator = random_.Pick({dtype, DType::kF32, DType::kF64});
  } else {
    accumulator = random_.Pick({dtype, DType::kI32, DType::kI64, DType::kU16});
  }
  if (IsFloat(dtype)) {
    const auto fits = [&] {
      return left.fact.exactness == Exactness::kWhole &&
             right.fact.exactness == Exactness::kWhole &&
             left.fact.bound * right.fact.bound * depth <= ExactLimit(accumulator);
    };
    for (int64_t bound : {8, 1}) {
      if (fits()) break;
      left = Clamp(left, bound);
      right = Clamp(right, bound);
    }
    if (!fits()) return;
  }
  Add(b_.Contract(left.operand, right.operand, reduce, batch, accumulator),
      {.bound = left.fact.bound * right.fact.bound * std::max(depth, 1.0),
       .finite = left.fact.finite && right.fact.finite});
}

// Batch, reduced and free axes, as many as there may be, in any places on both sides.
void Generator::ContractionForm(int /*depth*/) {
  struct Axis {
    Size extent;
    int64_t pair;  // shared with the other side; -1: free
    bool batch;
  };
  const auto some = [&] { return SomeExtent({1, 2, 3, 4, 5, 8, 17}, 40); };
  std::vector<Axis> left, right;
  int64_t pairs = 0;
  for (int64_t i = random_.Between(1, 2); i > 0; --i) {
    const Axis axis = {some(), pairs++, false};
    left.push_back(axis);
    right.push_back(axis);
  }
  for (int64_t i = random_.Pick({0, 1, 1, 2}); i > 0; --i) {
    const Axis axis = {some(), pairs++, true};
    left.push_back(axis);
    right.push_back(axis);
  }
  for (int64_t i = random_.Pick({0, 1, 1, 2}); i > 0; --i) left.push_back({some(), -1, false});
  for (int64_t i = random_.Pick({0, 1, 1, 2}); i > 0; --i) right.push_back({some(), -1, false});
  const auto shape = [&](std::vector<Axis>* axes) {
    for (size_t i = axes->size(); i > 1; --i) {
      std::swap((*axes)[i - 1],
                (*axes)[static_cast<size_t>(random_.Below(static_cast<int64_t>(i)))]);
    }
    std::vector<Operand> extents;
    for (const Axis& axis : *axes) extents.push_back(axis.extent.operand);
    return extents;
  };
  const std::vector<Operand> left_shape = shape(&left), right_shape = shape(&right);
  for (const auto* axes : {&left, &right}) {
    int64_t count = repeat_;
    for (const Axis& axis : *axes) count *= axis.extent.value;
    if (count > 20'000) return;
  }
  DType dtype = PickDType();
  if (dtype == DType::kBool) dtype = DType::kF32;
  const bool sign = IsFloat(dtype) || IsSignedInteger(dtype);
  const Operand lhs = Carrier(left_shape, dtype, sign ? -4 : 0, 4);
  const Operand rhs = Carrier(right_shape, dtype, sign ? -4 : 0, 4);
  if (!lhs.IsValue() || !rhs.IsValue()) return;
  std::vector<std::pair<int64_t, int64_t>> reduce, batch;
  double depth = 1, work = static_cast<double>(Count(b_.TypeOf(rhs)));
  for (size_t l = 0; l < left.size(); ++l) {
    const auto extent = static_cast<double>(left[l].extent.value);
    bool paired = false;
    for (size_t r = 0; r < right.size(); ++r) {
      if (left[l].pair < 0 || right[r].pair != left[l].pair) continue;
      paired = true;
      (left[l].batch ? batch : reduce)
          .emplace_back(static_cast<int64_t>(l), static_cast<int64_t>(r));
      if (!left[l].batch) depth *= extent;
    }
    if (!paired) work *= extent;
  }
  if (work * static_cast<double>(repeat_) > 200'000) return;
  budget_ -= static_cast<int64_t>(work / 16);
  DType accumulator = random_.Pick({dtype, DType::kF32, DType::kF64});
  if (!IsFloat(dtype)) accumulator = random_.Pick({dtype, DType::kI32, DType::kI64, DType::kI16});
  if (IsFloat(dtype) && 64 * depth > ExactLimit(accumulator)) accumulator = DType::kF32;
  if (IsFloat(dtype) && 64 * depth > ExactLimit(accumulator)) return;
  Add(b_.Contract(lhs, rhs, reduce, batch, accumulator), {.bound = 64 * std::max(depth, 1.0)});
}

// Several reductions over the same rows, as in softmax and norms.
void Generator::RowChain(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) {
    return IsNumber(val) && IsFloat(val.type.dtype()) && val.type.rank() >= 2;
  });
  if (picked == nullptr) return;
  const Val value = Clamp(*picked, 8);
  const int rank = value.type.rank();
  const int64_t axis = random_.Chance(80) ? rank - 1 : random_.Below(rank);
  std::vector<Operand> kept;
  for (int i = 0; i < rank; ++i) {
    const Extent& extent = value.type.shape()[i];
    kept.push_back(i == axis             ? Int(1)
                   : extent.IsConstant() ? Int(extent.constant())
                                         : b_.Dim(value.operand, i));
  }
  const std::vector<int64_t> axes = {axis};
  const Operand most = b_.Reshape(b_.ReduceBuiltin("max", value.operand, axes, std::nullopt), kept);
  const DType dtype = value.type.dtype();
  const Operand shifted = b_.Binary(BinaryKind::kSub, value.operand, most);
  const double extent = static_cast<double>((*Concrete(value.type.shape()))[axis]);
  if (dtype == DType::kF32 && !special_ && random_.Chance(50)) {
    const Operand powers = b_.Unary(UnaryKind::kExp, shifted);
    const Operand sum = b_.Reshape(b_.ReduceBuiltin("sum", powers, axes, std::nullopt), kept);
    return Add(b_.Binary(BinaryKind::kDiv, powers, sum),
               {.exactness = Exactness::kFuzzy, .finite = false});
  }
  if (16 * extent > ExactLimit(DType::kF32)) return;
  const Operand sum = b_.ReduceBuiltin("sum", shifted, axes, std::nullopt);
  Add(sum, {.bound = 16 * std::max(extent, 1.0), .finite = false});
  if (b_.TypeOf(sum).dtype() != dtype || 32 * extent > ExactLimit(dtype)) return;
  Add(b_.Binary(BinaryKind::kSub, value.operand, b_.Reshape(sum, kept)),
      {.bound = 32 * std::max(extent, 1.0), .finite = false});
}

}  // namespace intent::testing
