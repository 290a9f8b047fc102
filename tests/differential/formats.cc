// Operations on formats of their own: scaled and sparse contractions, histograms, quantised
// records, random bits, and values of dtypes that no memory holds.

#include <algorithm>

#include "compiler/numerics/scalar.h"
#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

using Operands = std::vector<Operand>;

bool IsE2M1(ScaledFormat format) {
  return format == ScaledFormat::kE2M1E8M0 || format == ScaledFormat::kE2M1E4M3;
}
bool IsE8M0(ScaledFormat format) {
  return format == ScaledFormat::kE2M1E8M0 || format == ScaledFormat::kE4M3E8M0;
}

}  // namespace

Operand Generator::Pattern(std::span<const Operand> shape, int64_t low, int64_t high) {
  Operand total = b_.Cast(Int(random_.Between(1, 1000)), DType::kIndex);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Operand places = b_.Indices(b_.Domain(Int(0), shape[axis], Int(1)));
    Operands line = {b_.Dim(places, 0)};
    line.resize(shape.size() - axis, Int(1));
    const Operand step =
        b_.Binary(BinaryKind::kMul, b_.Reshape(places, line), Int(random_.Between(1, 97)));
    total = b_.Binary(BinaryKind::kAdd, total, step);
  }
  const Operand square =
      b_.Binary(BinaryKind::kMul, total, b_.Binary(BinaryKind::kAdd, total, Int(17)));
  const Operand mixed =
      b_.Binary(BinaryKind::kXor, square, b_.Binary(BinaryKind::kShr, square, Int(3)));
  const Operand within = b_.Binary(
      BinaryKind::kAdd, b_.Binary(BinaryKind::kMod, mixed, Int(high - low + 1)), Int(low));
  return b_.Broadcast(within, shape);
}

Generator::Size Generator::SomeExtent(std::initializer_list<int64_t> literals, int64_t most) {
  const Val* sized = PickVal([&](const Val& val) {
    const auto shape = Concrete(val.type.shape());
    return !shape->empty() && *std::max_element(shape->begin(), shape->end()) <= most;
  });
  if (sized == nullptr || random_.Chance(65)) {
    const int64_t value = random_.Pick(literals);
    return {Int(value), value};
  }
  const int64_t axis = random_.Below(sized->type.rank());
  return {b_.Dim(sized->operand, axis),
          (*Concrete(sized->type.shape()))[static_cast<size_t>(axis)]};
}

Operand Generator::Carrier(std::span<const Operand> shape, DType dtype, int64_t low, int64_t high) {
  const Operand pattern = Pattern(shape, low, high);
  if (!pattern.IsValue()) return {};
  const Type type = b_.TypeOf(pattern).WithDType(dtype);
  const Val* found = PickVal(
      [&](const Val& val) { return val.type == type && val.fact.exactness < Exactness::kFuzzy; });
  if (found != nullptr && random_.Chance(80)) return Tame(*found).operand;
  return b_.Cast(pattern, dtype);
}

void Generator::ScaledContraction(int /*depth*/) {
  const auto format = [&] {
    return random_.Pick({ScaledFormat::kE2M1E8M0, ScaledFormat::kE2M1E4M3, ScaledFormat::kE4M3E8M0,
                         ScaledFormat::kE4M3E4M3});
  };
  ScaledFormat left = format();
  const ScaledFormat right = format();
  // Rows, groups and carriers of a tensor at hand, or some.
  const Val* given = PickVal([&](const Val& val) {
    return val.type.rank() == 3 && val.type.IsTensor() && val.type.shape()[2].IsConstant() &&
           val.type.shape()[2].constant() > 0 && val.type.shape()[2].constant() <= 16 &&
           val.type.shape()[2].constant() % 2 == 0 && Count(val.type) < 10'000 &&
           (val.type.dtype() == DType::kU8 || val.type.dtype() == DType::kF8E4M3FN);
  });
  Operand rows = SomeExtent({0, 1, 2, 3, 5}, 130).operand, groups = Int(random_.Between(1, 4));
  int64_t carriers = random_.Pick({2, 4, 8});
  std::optional<Val> own;
  if (given != nullptr && random_.Chance(80)) {
    own = *given;
    rows = b_.Dim(own->operand, 0);
    groups = b_.Dim(own->operand, 1);
    carriers = own->type.shape()[2].constant();
    const bool packed = own->type.dtype() == DType::kU8;
    left = packed ? random_.Pick({ScaledFormat::kE2M1E8M0, ScaledFormat::kE2M1E4M3})
                  : random_.Pick({ScaledFormat::kE4M3E8M0, ScaledFormat::kE4M3E4M3});
  }
  const int64_t size = carriers * (IsE2M1(left) ? 2 : 1);
  const Operand columns = SomeExtent({0, 1, 2, 3, 5}, 130).operand;
  const auto elements = [&](ScaledFormat of, const Operands& shape) {
    return IsE2M1(of) ? Carrier(shape, DType::kU8, 0, 255)
                      : Carrier(shape, DType::kF8E4M3FN, -8, 8);
  };
  const auto scales = [&](ScaledFormat of, const Operands& shape) {
    if (!IsE8M0(of)) return Carrier(shape, DType::kF8E4M3FN, -4, 4);
    // 2^-1 to 2^2.
    const Operand any = Carrier(shape, DType::kU8, 0, 255);
    return b_.Binary(BinaryKind::kAdd, b_.Binary(BinaryKind::kAnd, any, Number(DType::kU8, 3)),
                     Number(DType::kU8, 126));
  };
  Operand lhs;
  if (own) {
    lhs = Tame(*own).operand;
  } else {
    lhs = elements(left, {rows, groups, Int(carriers)});
  }
  const Operand lhs_scale = scales(left, {rows, groups});
  const Operand rhs = elements(right, {groups, Int(size / (IsE2M1(right) ? 2 : 1)), columns});
  const Operand rhs_scale = scales(right, {columns, groups});
  const DType accumulator =
      random_.Pick({DType::kF32, DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const Operand result =
      b_.ScaledContract(lhs, lhs_scale, rhs, rhs_scale, left, right, size, accumulator);
  if (!result.IsValue()) return;
  const auto shape = Concrete(b_.TypeOf(result).shape());
  if (shape) budget_ -= (*shape)[0] * (*shape)[1] * size / 4;
  Add(result, {.exactness = Exactness::kRounded, .finite = false});
}

void Generator::SparseContraction(int /*depth*/) {
  const SparseFormat format = random_.Pick({SparseFormat::kOneOfTwo, SparseFormat::kTwoOfFour});
  const auto some = [&] { return SomeExtent({0, 1, 2, 3, 5}, 130).operand; };
  const auto times = [&](const Operand& extent, int64_t factor) -> Operand {
    if (extent.IsLiteral()) {
      return Int(static_cast<int64_t>(extent.literal().int_value) * factor);
    }
    return b_.Binary(BinaryKind::kMul, extent, Int(factor));
  };
  const Operand rows = some(), groups = some(), columns = some();
  const Operand stored = times(groups, 2), logical = times(groups, 4);
  const DType dtype =
      random_.Pick({DType::kF32, DType::kI8, DType::kF16, DType::kI32, DType::kF64, DType::kBF16,
                    DType::kU8, DType::kI64, DType::kF8E4M3FN, DType::kF8E5M2});
  const bool batched = random_.Chance(30);
  const bool first = random_.Chance(35);  // compressed along the first axis
  Operands compressed_shape = first ? Operands{stored, rows} : Operands{rows, stored};
  Operands group_shape = first ? Operands{groups, rows} : Operands{rows, groups};
  Operands dense_shape = {logical, columns};
  int64_t axis = first ? 0 : 1, dense_axis = 0;
  std::vector<std::pair<int64_t, int64_t>> batch;
  if (batched) {
    const Operand many = Int(random_.Between(1, 3));
    for (Operands* shape : {&compressed_shape, &group_shape, &dense_shape}) {
      shape->insert(shape->begin(), many);
    }
    ++axis;
    ++dense_axis;
    batch = {{0, 0}};
  }
  const int64_t low = IsFloat(dtype) || IsSignedInteger(dtype) ? -4 : 0;
  Val lhs = MakeVal(Carrier(compressed_shape, dtype, low, 4), {});
  Val rhs = MakeVal(Carrier(dense_shape, dtype, low, 4), {});
  if (!lhs.operand.IsValue() || !rhs.operand.IsValue()) return;
  const auto left = Concrete(lhs.type.shape()), right = Concrete(rhs.type.shape());
  if (!left || !right) return;
  const int64_t work = Count(lhs.type) * (*right)[static_cast<size_t>(dense_axis) + 1];
  if (work > 100'000) return;
  budget_ -= work / 8;
  Operand metadata;
  if (format == SparseFormat::kOneOfTwo) {
    metadata = Pattern(compressed_shape, 0, 1);
  } else {
    const Operand one = Pattern(group_shape, 0, 2);
    const Operand room = b_.Binary(BinaryKind::kSub, Int(3), one);
    const Operand step = b_.Binary(BinaryKind::kMod, Pattern(group_shape, 0, 11), room);
    const Operand two = b_.Binary(BinaryKind::kAdd, b_.Binary(BinaryKind::kAdd, one, step), Int(1));
    metadata = b_.MakeRecord(std::vector<std::string>{"first", "second"}, Operands{one, two});
  }
  const auto depth = static_cast<double>((*right)[static_cast<size_t>(dense_axis)]);
  DType accumulator = DType::kF32;
  if (IsFloat(dtype)) {
    accumulator = random_.Pick({DType::kF32, DType::kF64, dtype});
    if (64 * depth > ExactLimit(accumulator)) accumulator = DType::kF32;
    if (64 * depth > ExactLimit(accumulator)) return;
  } else {
    accumulator = random_.Pick({dtype, DType::kI32, DType::kI64});
  }
  Add(b_.SparseContract(lhs.operand, metadata, rhs.operand, format, axis,
                        std::vector<std::pair<int64_t, int64_t>>{{axis, dense_axis}}, batch,
                        accumulator),
      {.bound = 64 * std::max(depth, 1.0)});
}

void Generator::HistogramOf(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) {
    return val.type.IsTensor() && IsInteger(val.type.dtype()) && IsAddressable(val.type.dtype());
  });
  if (picked == nullptr) return;
  const Val value = *picked;
  const DType dtype = value.type.dtype();
  const int64_t bins = random_.Pick({1, 2, 3, 7, 16, 100});
  const Operand count = Int(bins);
  const Val* mask =
      PickVal([&](const Val& val) { return val.type == value.type.WithDType(DType::kBool); });
  Operand values = value.operand, valid = Flag(true);
  const Operand odd = b_.Compare(
      CompareKind::kEq, b_.Binary(BinaryKind::kAnd, values, Number(dtype, 1)), Number(dtype, 1));
  if (random_.Chance(60)) valid = mask != nullptr ? mask->operand : odd;
  if (random_.Chance(60)) {
    values = b_.Binary(BinaryKind::kMod, values, Number(dtype, bins));
  } else {
    // Inactive values may be anything.
    const Operand within =
        b_.Binary(BinaryKind::kAnd, b_.Compare(CompareKind::kGe, values, Number(dtype, 0)),
                  b_.Compare(CompareKind::kLt, values, Number(dtype, bins)));
    valid = mask != nullptr ? b_.Binary(BinaryKind::kAnd, within, mask->operand) : within;
  }
  const Val* scalar = PickVal([&](const Val& val) {
    return val.type.IsScalar(DType::kIndex) && known_values_.contains(val.operand.value()) &&
           known_values_.at(val.operand.value()) >= bins;
  });
  Add(b_.Histogram(values, scalar != nullptr && random_.Chance(60) ? scalar->operand : count, valid,
                   random_.Pick({DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                                 DType::kU16, DType::kU32, DType::kU64})),
      {});
}

// Records whose dots are exact in any grouping: extremes of 127 and small scales.
void Generator::Quantisation(int /*depth*/) {
  const auto records = [&](DType dtype, int64_t width) {
    return PickVal([&](const Val& val) {
      return val.type.IsTensor() && val.type.dtype() == dtype && val.type.rank() == 2 &&
             val.type.shape()[1].IsConstant(width) && val.fact.exactness < Exactness::kFuzzy;
    });
  };
  const Val* reals = records(DType::kF32, 256);
  const Val* packed = records(DType::kU8, 144);
  if (reals != nullptr && random_.Chance(50)) {
    const Val value = Tame(*reals);
    const Operand scaled =
        b_.Binary(BinaryKind::kMul, value.operand, Number(DType::kF32, random_.Between(1, 9)));
    return Add(b_.Quantize(scaled), {});
  }
  std::optional<Val> lhs;
  if (packed != nullptr && random_.Chance(80)) lhs = *packed;
  const Operand groups = lhs ? b_.Dim(lhs->operand, 0) : Int(random_.Between(0, 4));
  const Operand column = b_.Indices(b_.Domain(Int(0), Int(256), Int(1)));
  const Operand numbers = b_.Cast(Pattern(Operands{groups, Int(256)}, -100, 100), DType::kF32);
  const Operand extreme = Number(DType::kF32, random_.Pick({127, -127, 254, -508}));
  const Operand q8 = b_.Quantize(
      b_.Select(b_.Compare(CompareKind::kEq, column, Int(random_.Below(256))), extreme, numbers));
  Add(q8, {});
  const Operand place = b_.Indices(b_.Domain(Int(0), Int(144), Int(1)));
  const Operands q4_shape = {groups, Int(144)};
  const Operand bytes = lhs ? lhs->operand : b_.Cast(Pattern(q4_shape, 0, 255), DType::kU8);
  // f16 of d and dmin: the second bytes of 1, 0.5 and -2 over zero first bytes.
  const auto is = [&](int64_t at) { return b_.Compare(CompareKind::kEq, place, Int(at)); };
  const auto byte = [&](int64_t value) { return Number(DType::kU8, value); };
  const Operand small = b_.Binary(BinaryKind::kAnd, bytes, byte(3));
  Operand q4 = b_.Select(b_.Compare(CompareKind::kLt, place, Int(16)), small, bytes);
  for (const int64_t at : {0, 2}) q4 = b_.Select(is(at), byte(0), q4);
  for (const int64_t at : {1, 3}) {
    q4 = b_.Select(is(at), byte(random_.Pick({0x3c, 0x38, 0xc0})), q4);
  }
  Add(b_.QuantizedDot(q4, q8), {.bound = 1e9});
}

void Generator::RandomNumbers(int /*depth*/) {
  const Val* key = PickVal([](const Val& val) { return val.type.IsScalar(DType::kU64); });
  const Val* counter = PickVal([](const Val& val) {
    return val.type.dtype() == DType::kU64 || val.type.dtype() == DType::kIndex;
  });
  const Operand seed = key != nullptr && random_.Chance(60)
                           ? key->operand
                           : Number(DType::kU64, random_.Between(0, 1 << 30));
  Operand count = Number(DType::kU64, random_.Between(0, 1 << 30));
  if (counter != nullptr && random_.Chance(80)) {
    count = counter->operand;
    // An index that counts is not negative.
    if (counter->type.dtype() == DType::kIndex) {
      count = b_.Binary(BinaryKind::kAnd, count, Int(random_.Pick({INT64_MAX, int64_t{0xffff}})));
    }
  }
  const Operand bits = b_.RandomBits(seed, count);
  Add(bits, {});
  if (!bits.IsValue() || !random_.Chance(40)) return;
  const Operand unit =
      b_.Cast(b_.Binary(BinaryKind::kShr, bits, Number(DType::kU32, 8)), DType::kF32);
  const Operand scale =
      b_.Cast(Literal{.kind = Literal::Kind::kFloat, .float_value = 0x1p-24}, DType::kF32);
  Add(b_.Binary(BinaryKind::kMul, unit, scale),
      {.exactness = Exactness::kRounded, .product = true});
}

// Through a dtype that only values have, and back.
void Generator::ValueOnly(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) {
    if (val.fact.exactness >= Exactness::kFuzzy || val.type.dtype() == DType::kBool) return false;
    return std::all_of(val.type.shape().begin(), val.type.shape().end(),
                       [](const Extent& extent) { return extent.IsConstant(); });
  });
  Val value;
  if (picked != nullptr) {
    value = *picked;
  } else {
    const Operands shape = {Int(random_.Between(0, 9))};
    value = MakeVal(b_.Cast(Pattern(shape, -8, 8), DType::kI32), {});
  }
  if (!value.operand.IsValue()) return;
  const auto back = [&](const Operand& x, DType dtype, const Fact& fact) {
    Add(b_.Cast(x, dtype), fact);
  };
  if (random_.Chance(50)) {
    const DType wide = random_.Pick({DType::kI4, DType::kI128, DType::kU128});
    const DType from = value.type.dtype();
    const Val whole = IsFloat(from) ? Convert(value, DType::kI8) : value;
    Operand x =
        random_.Chance(25) ? b_.SaturatingCast(whole.operand, wide) : b_.Cast(whole.operand, wide);
    Operand y = random_.Chance(50) ? x : Number(wide, random_.Between(0, 7));
    for (int64_t i = random_.Between(1, 3); i > 0; --i) {
      const BinaryKind kind =
          random_.Pick({BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kMaximum,
                        BinaryKind::kMinimum, BinaryKind::kAnd, BinaryKind::kOr, BinaryKind::kXor,
                        BinaryKind::kShl, BinaryKind::kShr, BinaryKind::kFloorDiv, BinaryKind::kMod,
                        BinaryKind::kPow});
      Operand other = y;
      if (kind == BinaryKind::kShl || kind == BinaryKind::kShr) {
        other = b_.Binary(BinaryKind::kAnd, y, Number(wide, wide == DType::kI4 ? 3 : 7));
      } else if (kind == BinaryKind::kFloorDiv || kind == BinaryKind::kMod) {
        other = b_.Binary(BinaryKind::kAdd, b_.Binary(BinaryKind::kAnd, y, Number(wide, 2)),
                          Number(wide, 1));
      } else if (kind == BinaryKind::kPow) {
        other = b_.Binary(BinaryKind::kAnd, y, Number(wide, 7));
      }
      x = b_.Binary(kind, x, other);
    }
    if (random_.Chance(30)) {
      x = b_.Unary(random_.Pick({UnaryKind::kNegate, UnaryKind::kNot, UnaryKind::kAbs}), x);
    }
    if (random_.Chance(20)) {
      return Add(
          b_.Compare(random_.Pick({CompareKind::kLt, CompareKind::kGe, CompareKind::kEq}), x, y),
          {});
    }
    if (x.IsValue() && b_.TypeOf(x).rank() > 0 && random_.Chance(25)) {
      const std::vector<int64_t> axes = {0};
      x = b_.Reduce(x, axes, Number(wide, 0), CombineKind::kAdd, nullptr, {});
    }
    if (random_.Chance(20)) {
      return Add(b_.SaturatingCast(x, random_.Pick({DType::kI8, DType::kU16, DType::kI64})), {});
    }
    if (random_.Chance(20)) {
      return back(x, random_.Pick({DType::kF32, DType::kF64}),
                  {.exactness = Exactness::kRounded, .finite = false});
    }
    return back(x, random_.Pick({DType::kI32, DType::kU64, DType::kI8, DType::kIndex}), {});
  }
  const DType narrow =
      random_.Pick({DType::kF8E4M3, DType::kF8E4M3FNUZ, DType::kF8E4M3B11FNUZ, DType::kF8E8M0FNU,
                    DType::kF6E2M3FN, DType::kF6E3M2FN, DType::kF4E2M1FN});
  const Fact rounded = {.exactness = Exactness::kRounded, .finite = false};
  if (BitWidth(value.type.dtype()) == 8 && !IsFloat(value.type.dtype()) && BitWidth(narrow) == 8 &&
      random_.Chance(50)) {
    return back(b_.Bitcast(value.operand, narrow), DType::kF32, rounded);
  }
  if (random_.Chance(20) && narrow != DType::kF8E8M0FNU) {
    const Val real = IsFloat(value.type.dtype()) ? Tame(value) : Convert(value, DType::kF32);
    return back(b_.SaturatingCast(real.operand, narrow), DType::kF32, rounded);
  }
  // Ones and twos, which every format holds.
  const Val tame = Tame(value);
  const DType from = tame.type.dtype();
  const Operand above = b_.Compare(CompareKind::kGt, tame.operand, Number(from, 1));
  Operand x = b_.Cast(b_.Select(above, Number(from, 2), Number(from, 1)), narrow);
  const Operand one = Number(narrow, 1);
  const BinaryKind kind = narrow == DType::kF8E8M0FNU
                              ? random_.Pick({BinaryKind::kMul, BinaryKind::kDiv,
                                              BinaryKind::kMaximum, BinaryKind::kMinimumNum})
                              : random_.Pick({BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul,
                                              BinaryKind::kMaximumNum, BinaryKind::kMinimum});
  x = b_.Binary(kind, x, random_.Chance(50) && kind != BinaryKind::kAdd ? x : one);
  if (random_.Chance(25)) return Add(b_.Compare(CompareKind::kLe, x, one), {});
  if (narrow != DType::kF8E8M0FNU && random_.Chance(30)) {
    x = b_.Unary(random_.Pick({UnaryKind::kNegate, UnaryKind::kAbs, UnaryKind::kFloor}), x);
  }
  back(x, random_.Pick({DType::kF32, DType::kF16, DType::kF64}), {.bound = 4});
}

}  // namespace intent::testing
