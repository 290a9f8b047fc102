// Pure operations on values in scope, with what is known of their results.

#include <algorithm>

#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

Fact Exact() { return {}; }

Fact Whole(double bound, bool finite) {
  return {.exactness = Exactness::kWhole, .bound = bound, .finite = finite};
}

Fact Rounded(bool product = false) {
  return {.exactness = Exactness::kRounded, .product = product, .finite = false};
}

// Of a value that is one of two.
Fact Either(const Fact& a, const Fact& b) {
  Fact fact;
  fact.exactness = std::max(a.exactness, b.exactness);
  fact.bound = std::max(a.bound, b.bound);
  fact.product = a.product || b.product;
  fact.finite = a.finite && b.finite;
  return fact;
}

}  // namespace

Val Generator::Clamp(const Val& value, int64_t bound) {
  if (!IsFloat(value.type.dtype())) return value;
  if (value.fact.exactness == Exactness::kWhole && value.fact.bound <= static_cast<double>(bound))
    return value;
  Operand x = value.operand;
  if (value.fact.exactness == Exactness::kRounded) x = b_.Unary(UnaryKind::kFloor, x);
  x = b_.Binary(BinaryKind::kMinimum, x, Number(value.type.dtype(), bound));
  x = b_.Binary(BinaryKind::kMaximum, x, Number(value.type.dtype(), -bound));
  return MakeVal(x, Whole(static_cast<double>(bound), value.fact.finite));
}

Val Generator::Settle(const Val& value) {
  if (!IsFloat(value.type.dtype())) return value;
  const Val clamped = Clamp(value, 8);
  if (clamped.fact.finite || special_) return clamped;
  const Operand x = clamped.operand;
  return MakeVal(b_.Select(b_.Compare(CompareKind::kEq, x, x), x, Number(value.type.dtype(), 0)),
                 Whole(8, true));
}

Val Generator::Tame(const Val& value) {
  const Val settled = Settle(value);
  if (!IsFloat(value.type.dtype()) || settled.fact.finite) return settled;
  const Operand x = settled.operand;
  return MakeVal(b_.Select(b_.Compare(CompareKind::kEq, x, x), x, Number(value.type.dtype(), 0)),
                 Whole(8, true));
}

Val Generator::PartnerOf(const Val& value) {
  const DType dtype = value.type.dtype();
  const auto fits = [&](const Val& other, bool same_dtype) {
    if (same_dtype != (other.type.dtype() == dtype)) return false;
    if (other.fact.exactness >= Exactness::kFuzzy) return false;
    if (other.type.rank() > value.type.rank()) return false;
    for (int axis = 0; axis < other.type.rank(); ++axis) {
      const Extent& mine = value.type.shape()[value.type.rank() - other.type.rank() + axis];
      const Extent& its = other.type.shape()[axis];
      if (!(its == mine) && !its.IsConstant(1)) return false;
    }
    return true;
  };
  if (random_.Chance(80)) {
    if (const Val* found = PickVal([&](const Val& other) { return fits(other, true); }))
      return *found;
  }
  if (random_.Chance(50)) {
    if (const Val* found = PickVal([&](const Val& other) { return fits(other, false); })) {
      const Val copy = *found;
      return Convert(copy, dtype);
    }
  }
  Fact fact;
  fact.bound = 5;
  const int64_t number = random_.Between(IsFloat(dtype) || IsSignedInteger(dtype) ? -5 : 0, 5);
  return MakeVal(Number(dtype, number), fact);
}

Fact Generator::ConversionFact(const Val& value, DType dtype) const {
  if (!IsFloat(dtype)) return Exact();
  const DType from = value.type.dtype();
  if (IsFloat(from)) {
    if (value.fact.exactness != Exactness::kWhole) return Rounded();
    const bool exact = value.fact.bound <= ExactLimit(dtype);
    return exact ? Whole(value.fact.bound, value.fact.finite) : Rounded();
  }
  double bound = 1e30;
  if (from == DType::kBool) bound = 1;
  if (from == DType::kI8 || from == DType::kU8) bound = 255;
  if (from == DType::kI16 || from == DType::kU16) bound = 65535;
  if (value.fact.ranged) {
    bound = static_cast<double>(std::max(std::abs(value.fact.low), std::abs(value.fact.high)));
  }
  return bound <= ExactLimit(dtype) ? Whole(bound, true) : Rounded();
}

Val Generator::Convert(const Val& value, DType dtype) {
  const DType from = value.type.dtype();
  Operand x = value.operand;
  if (IsFloat(from) && IsInteger(dtype)) {
    // Only finite values in range have a meaning as integers.
    if (!value.fact.finite || value.fact.exactness != Exactness::kWhole) {
      x = b_.Select(b_.Compare(CompareKind::kEq, x, x), x, Number(from, 0));
    }
    x = b_.Binary(BinaryKind::kMinimum, x, Number(from, 96));
    x = b_.Binary(BinaryKind::kMaximum, x, Number(from, IsSignedInteger(dtype) ? -96 : 0));
  }
  if (dtype == DType::kF8E4M3FN && from != DType::kBool) {
    // There is no infinity: only what is in range has a meaning.
    if (IsFloat(from)) {
      const Val small = Clamp(value, 8);
      return MakeVal(b_.Cast(small.operand, dtype), Whole(8, value.fact.finite));
    }
    x = b_.Binary(BinaryKind::kAnd, x, Number(from, 7));
    return MakeVal(b_.Cast(x, dtype), Whole(8, true));
  }
  return MakeVal(b_.Cast(x, dtype), ConversionFact(value, dtype));
}

void Generator::Pointwise(int /*depth*/) {
  const Val* picked = PickVal([](const Val&) { return true; });
  if (picked == nullptr) return;
  const Val value = *picked;
  switch (random_.Below(10)) {
    case 0:
    case 1:
      return UnaryOf(value);
    case 2:
      return Comparison();
    case 3:
      return Choice();
    case 4:
    case 5:
      return Conversion();
    default:
      return BinaryOf(value);
  }
}

void Generator::UnaryOf(const Val& value) {
  const DType dtype = value.type.dtype();
  if (dtype == DType::kBool) return Add(b_.Unary(UnaryKind::kNot, value.operand), Exact());
  if (!IsFloat(dtype)) {
    const UnaryKind kind =
        IsSignedInteger(dtype)
            ? random_.Pick({UnaryKind::kNegate, UnaryKind::kAbs, UnaryKind::kNot})
            : random_.Pick({UnaryKind::kNegate, UnaryKind::kNot});
    return Add(b_.Unary(kind, value.operand), Exact());
  }
  if (value.fact.exactness >= Exactness::kFuzzy) {
    return Add(b_.Unary(random_.Pick({UnaryKind::kNegate, UnaryKind::kAbs}), value.operand),
               value.fact);
  }
  const UnaryKind kind =
      random_.Pick({UnaryKind::kNegate, UnaryKind::kAbs, UnaryKind::kFloor, UnaryKind::kSqrt});
  Fact fact = value.fact;
  if (kind == UnaryKind::kFloor) fact.product = false;
  if (kind == UnaryKind::kSqrt) fact = Rounded();
  Add(b_.Unary(kind, value.operand), fact);
}

void Generator::AddFuzzy(const Operand& operand, const Fact& fact) {
  Add(operand, fact);
  if (in_parallel_ || !operand.IsValue() || !random_.Chance(60)) return;
  const Type type = b_.TypeOf(operand);
  for (size_t i = 0; i < view_count_; ++i) {
    Store& store = stores_[i];
    if (!store.writable || store.full || store.limit < fact.exactness ||
        store.type.dtype() != type.dtype() || type.rank() > store.type.rank()) {
      continue;
    }
    bool fits = true;
    for (int axis = 0; axis < type.rank(); ++axis) {
      const Extent& extent = type.shape()[axis];
      const Extent& whole = store.type.shape()[store.type.rank() - type.rank() + axis];
      fits = fits && (extent == whole || extent.IsConstant(1));
    }
    if (!fits) continue;
    b_.Store(store.operand, {}, operand);
    store.full = true;
    return;
  }
}

// Where functions are tame: at 1 to 9, and at 0 to 1 for the inverse sine.
void Generator::LibraryFunction(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) {
    return IsFloat(val.type.dtype()) && val.fact.exactness < Exactness::kFuzzy;
  });
  if (picked == nullptr) return;
  const Val settled = Settle(*picked);
  const DType dtype = settled.type.dtype();
  const Operand one = Number(dtype, 1);
  Operand x = b_.Binary(BinaryKind::kAdd, b_.Unary(UnaryKind::kAbs, settled.operand), one);
  Fact fact;
  fact.exactness = Exactness::kFuzzy;
  fact.finite = false;
  const bool grows = dtype != DType::kF8E4M3FN && dtype != DType::kF8E5M2;
  if (random_.Chance(12) && grows) {
    const Operand exponent = random_.Chance(50) ? Number(dtype, random_.Between(0, 3))
                                                : Number(dtype, random_.Between(-3, 0));
    if (random_.Chance(30)) x = settled.operand;
    return AddFuzzy(b_.Binary(BinaryKind::kPow, x, exponent), fact);
  }
  UnaryKind kind = random_.Pick(
      {UnaryKind::kLog, UnaryKind::kLog1p, UnaryKind::kTanh, UnaryKind::kSigmoid, UnaryKind::kErf,
       UnaryKind::kRsqrt, UnaryKind::kErfc, UnaryKind::kSin, UnaryKind::kCos, UnaryKind::kAsin,
       UnaryKind::kLgamma, UnaryKind::kExp, UnaryKind::kExp2, UnaryKind::kI0});
  const bool large = kind == UnaryKind::kExp || kind == UnaryKind::kExp2 || kind == UnaryKind::kI0;
  // Eight bits do not hold the exponential of 9.
  if (large && !grows) x = Clamp(MakeVal(x, Whole(9, false)), 2).operand;
  if (kind == UnaryKind::kAsin && random_.Chance(80)) x = b_.Binary(BinaryKind::kDiv, one, x);
  // An error where the function is zero has no relative size.
  if (kind == UnaryKind::kLgamma) x = b_.Binary(BinaryKind::kAdd, x, Number(dtype, 2));
  const bool negative = kind == UnaryKind::kTanh || kind == UnaryKind::kSigmoid ||
                        kind == UnaryKind::kErf || kind == UnaryKind::kErfc ||
                        kind == UnaryKind::kSin || kind == UnaryKind::kCos || large;
  if (negative && random_.Chance(40)) x = b_.Unary(UnaryKind::kNegate, x);
  AddFuzzy(b_.Unary(kind, x), fact);
}

void Generator::Approximate(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) {
    return val.type.dtype() == DType::kF32 && val.fact.exactness < Exactness::kFuzzy;
  });
  if (picked == nullptr) return;
  const Val settled = Settle(*picked);
  Fact fact;
  fact.exactness = Exactness::kFuzzy;
  fact.finite = false;
  const Operand flush = Flag(random_.Chance(50));
  switch (random_.Below(3)) {
    case 0: {
      // Now and then the result is subnormal.
      Operand x = settled.operand;
      if (random_.Chance(40)) x = b_.Binary(BinaryKind::kSub, x, Number(DType::kF32, 135));
      return AddFuzzy(b_.Unary(UnaryKind::kExp2, x, Flag(true), flush), fact);
    }
    case 1:
      fact.exactness = Exactness::kLoose;
      return AddFuzzy(b_.Unary(UnaryKind::kTanh, settled.operand, Flag(true)), fact);
    default: {
      const Val other = Settle(PartnerOf(settled));
      const Operand divisor = b_.Binary(BinaryKind::kAdd, b_.Unary(UnaryKind::kAbs, other.operand),
                                        Number(DType::kF32, 1));
      return AddFuzzy(b_.Binary(BinaryKind::kDiv, settled.operand, divisor, Flag(true), flush),
                      fact);
    }
  }
}

void Generator::BinaryOf(const Val& value) {
  const DType dtype = value.type.dtype();
  if (value.fact.exactness >= Exactness::kFuzzy) return UnaryOf(value);
  Val left = value, right = PartnerOf(value);
  if (random_.Chance(30)) std::swap(left, right);
  if (dtype == DType::kBool) {
    const BinaryKind kind = random_.Pick({BinaryKind::kAnd, BinaryKind::kOr, BinaryKind::kXor});
    return Add(b_.Binary(kind, left.operand, right.operand), Exact());
  }
  if (!IsFloat(dtype)) {
    const BinaryKind kind =
        random_.Pick({BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kMaximum,
                      BinaryKind::kMinimum, BinaryKind::kAnd, BinaryKind::kOr, BinaryKind::kXor,
                      BinaryKind::kShl, BinaryKind::kShr, BinaryKind::kFloorDiv, BinaryKind::kMod,
                      BinaryKind::kPow, BinaryKind::kMaximumNum, BinaryKind::kMinimumNum,
                      BinaryKind::kIpowTrunc});
    Operand y = right.operand;
    if (kind == BinaryKind::kShl || kind == BinaryKind::kShr) {
      y = b_.Binary(BinaryKind::kAnd, y, Number(dtype, BitWidth(dtype) - 1));
    } else if (kind == BinaryKind::kFloorDiv || kind == BinaryKind::kMod) {
      // Two to eight, of either sign: never zero, never the minimum by minus one.
      y = b_.Binary(BinaryKind::kAdd, b_.Binary(BinaryKind::kAnd, y, Number(dtype, 6)),
                    Number(dtype, 2));
      if (IsSignedInteger(dtype) && random_.Chance(50)) y = b_.Unary(UnaryKind::kNegate, y);
    } else if (kind == BinaryKind::kPow) {
      y = b_.Binary(BinaryKind::kAnd, y, Number(dtype, 7));
    } else if (kind == BinaryKind::kIpowTrunc) {
      // Zero has no negative powers.
      y = b_.Binary(BinaryKind::kMod, y, Number(dtype, 5));
      if (IsSignedInteger(dtype)) y = b_.Binary(BinaryKind::kSub, y, Number(dtype, 2));
      left.operand = b_.Binary(BinaryKind::kOr, left.operand, Number(dtype, 1));
    }
    return Add(b_.Binary(kind, left.operand, y), Exact());
  }
  const BinaryKind kind = random_.Pick(
      {BinaryKind::kAdd, BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kMul,
       BinaryKind::kMaximum, BinaryKind::kMinimum, BinaryKind::kMaximumNum, BinaryKind::kMinimumNum,
       BinaryKind::kDiv, random_.Pick({BinaryKind::kFloatFloorDiv, BinaryKind::kFloatFloorMod})});
  if (dtype == DType::kF8E4M3FN) {
    // What leaves its range has no meaning.
    left = Clamp(left, 8);
    right = Clamp(right, 8);
  }
  const bool finite = left.fact.finite && right.fact.finite;
  switch (kind) {
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
    case BinaryKind::kMul: {
      const auto bound = [&] {
        return kind == BinaryKind::kMul ? left.fact.bound * right.fact.bound
                                        : left.fact.bound + right.fact.bound;
      };
      const bool rounded =
          left.fact.exactness == Exactness::kRounded || right.fact.exactness == Exactness::kRounded;
      if (rounded && kind != BinaryKind::kMul && (left.fact.product || right.fact.product)) {
        left = Clamp(left, 8);
        right = Clamp(right, 8);
      } else if (rounded) {
        return Add(b_.Binary(kind, left.operand, right.operand), Rounded(kind == BinaryKind::kMul));
      }
      if (bound() > ExactLimit(dtype) / 4) {
        const int64_t small = dtype == DType::kF8E5M2 ? 2 : 4;
        left = Clamp(left, small);
        right = Clamp(right, small);
      }
      return Add(b_.Binary(kind, left.operand, right.operand), Whole(bound(), finite));
    }
    case BinaryKind::kDiv:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod: {
      // The sign of a zero sum is free, so zero never divides.
      const Val settled = Clamp(right, 8);
      const Operand y =
          b_.Binary(BinaryKind::kAdd, b_.Unary(UnaryKind::kAbs, settled.operand), Number(dtype, 1));
      return Add(b_.Binary(kind, left.operand, y), Rounded());
    }
    default:
      return Add(b_.Binary(kind, left.operand, right.operand), Either(left.fact, right.fact));
  }
}

void Generator::Comparison() {
  const Val* picked =
      PickVal([](const Val& val) { return val.fact.exactness < Exactness::kFuzzy; });
  if (picked == nullptr) return;
  const Val value = *picked, other = PartnerOf(value);
  const bool order = value.type.dtype() != DType::kBool;
  const CompareKind kind =
      order ? random_.Pick({CompareKind::kEq, CompareKind::kNe, CompareKind::kLt, CompareKind::kLe,
                            CompareKind::kGt, CompareKind::kGe})
            : random_.Pick({CompareKind::kEq, CompareKind::kNe});
  Add(b_.Compare(kind, value.operand, other.operand), Exact());
}

void Generator::Choice() {
  const Val* picked = PickVal([](const Val&) { return true; });
  if (picked == nullptr) return;
  const Val value = *picked, other = PartnerOf(value);
  const Val* condition = PickVal([&](const Val& val) {
    if (val.type.dtype() != DType::kBool) return false;
    return val.type.rank() == 0 || val.type.shape() == value.type.shape();
  });
  Operand test = condition != nullptr ? condition->operand : Operand();
  if (condition == nullptr) {
    if (value.fact.exactness >= Exactness::kFuzzy) return;
    test = b_.Compare(CompareKind::kGt, value.operand, other.operand);
  }
  const Fact fact = Either(value.fact, other.fact);
  if (random_.Chance(50)) return Add(b_.Select(test, value.operand, other.operand), fact);
  if (other.type.rank() == 0) Add(b_.Mask(value.operand, test, other.operand), fact);
}

void Generator::Conversion() {
  const Val* picked =
      PickVal([](const Val& val) { return val.fact.exactness < Exactness::kFuzzy; });
  if (picked == nullptr) return;
  const Val value = *picked;
  const DType from = value.type.dtype(), to = PickDType();
  const int64_t how = random_.Below(10);
  if (how <= 1 && from != DType::kBool && to != DType::kBool) {
    Fact fact = ConversionFact(value, to);
    return Add(b_.SaturatingCast(value.operand, to), fact);
  }
  if (how == 2 && BitWidth(from) == BitWidth(to) && from != DType::kBool) {
    if (IsFloat(to)) return Add(b_.Bitcast(value.operand, to), Rounded());
    Operand x = value.operand;
    if (IsFloat(from)) {
      // Signs of zeros and payloads of NaNs are free.
      if (value.fact.exactness != Exactness::kWhole || !value.fact.finite) return;
      const Val small = Clamp(value, 8);
      x = b_.Binary(BinaryKind::kAdd, b_.Unary(UnaryKind::kAbs, small.operand), Number(from, 1));
    }
    return Add(b_.Bitcast(x, to), Exact());
  }
  const Val converted = Convert(value, to);
  Add(converted.operand, converted.fact);
}

void Generator::ShapeChange(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) { return val.type.IsTensor(); });
  if (picked == nullptr) return;
  const Val value = *picked;
  const int rank = value.type.rank();
  const auto dim = [&](int axis) -> Operand {
    const Extent& extent = value.type.shape()[axis];
    return extent.IsConstant() ? Int(extent.constant()) : b_.Dim(value.operand, axis);
  };
  switch (random_.Below(6)) {
    case 0: {
      std::vector<int64_t> axes;
      for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
      for (size_t i = axes.size(); i > 1; --i) {
        std::swap(axes[i - 1], axes[static_cast<size_t>(random_.Below(static_cast<int64_t>(i)))]);
      }
      return Add(b_.Transpose(value.operand, axes), value.fact);
    }
    case 1: {  // merge all axes
      if (!b_.TypeOf(value.operand).IsTensor()) return;
      return Add(b_.Reshape(value.operand, std::vector<Operand>{Int(-1)}), value.fact);
    }
    case 2: {  // an axis of extent 1 anywhere
      std::vector<Operand> shape;
      const int64_t at = random_.Below(rank + 1);
      for (int axis = 0; axis <= rank; ++axis) {
        if (axis == at) shape.push_back(Int(1));
        if (axis < rank) shape.push_back(dim(axis));
      }
      if (rank >= 4) return;
      return Add(b_.Reshape(value.operand, shape), value.fact);
    }
    case 3: {  // split or merge around one axis
      if (rank == 0) return;
      const int axis = static_cast<int>(random_.Below(rank));
      std::vector<Operand> shape;
      const Extent& extent = value.type.shape()[axis];
      for (int i = 0; i < rank; ++i) {
        if (i != axis) {
          shape.push_back(dim(i));
          continue;
        }
        if (extent.IsConstant() && extent.constant() % 2 == 0) {
          shape.push_back(Int(extent.constant() / 2));
          shape.push_back(Int(2));
        } else if (i + 1 < rank) {
          shape.push_back(b_.Binary(BinaryKind::kMul, dim(i), dim(i + 1)));
          ++i;
        } else {
          shape.push_back(dim(i));
        }
      }
      if (shape.size() > 4) return;
      return Add(b_.Reshape(value.operand, shape), value.fact);
    }
    case 4: {  // a leading axis, or axes of extent 1 spread
      std::vector<Operand> shape;
      if (rank < 3 && random_.Chance(60)) shape.push_back(Int(random_.Between(0, 4)));
      for (int axis = 0; axis < rank; ++axis) {
        const bool one = value.type.shape()[axis].IsConstant(1);
        shape.push_back(one ? Int(random_.Between(1, 5)) : dim(axis));
      }
      return Add(b_.Broadcast(value.operand, shape), value.fact);
    }
    default: {
      if (rank >= 3) return;
      const Val other = PartnerOf(value);
      Fact fact = Either(value.fact, other.fact);
      if (value.fact.exactness >= Exactness::kFuzzy) return;
      return Add(b_.Join(value.operand, other.operand), fact);
    }
  }
}

void Generator::Construction(int /*depth*/) {
  if (random_.Chance(50)) {
    // Absolute coordinates of a domain.
    const Store& store =
        stores_[static_cast<size_t>(random_.Below(static_cast<int64_t>(stores_.size())))];
    if (store.type.rank() == 0) return;
    const int64_t axis = random_.Below(store.type.rank());
    const Operand begin = Int(random_.Between(0, 2)), step = Int(random_.Pick({1, 1, 1, 2, 3}));
    const Operand end =
        random_.Chance(60) ? b_.Dim(store.operand, axis) : Int(random_.Between(0, 9));
    Operand domain = b_.Domain(begin, end, step);
    return Add(b_.Indices(domain), Exact());
  }
  const DType dtype = PickDType();
  const Val* scalar = PickVal([&](const Val& val) {
    return val.type.IsScalar(dtype) && val.fact.exactness < Exactness::kFuzzy;
  });
  Fact fact;
  Operand fill = Number(dtype, random_.Between(0, 3));
  if (scalar != nullptr) {
    fill = scalar->operand;
    fact = scalar->fact;
  }
  std::vector<Operand> shape;
  for (int64_t i = random_.Below(3); i > 0; --i) {
    const Store& store =
        stores_[static_cast<size_t>(random_.Below(static_cast<int64_t>(view_count_)))];
    if (store.type.rank() > 0 && random_.Chance(60)) {
      shape.push_back(b_.Dim(store.operand, random_.Below(store.type.rank())));
    } else {
      shape.push_back(Int(random_.Between(0, 5)));
    }
  }
  Add(b_.Full(shape, fill, dtype), fact);
}

void Generator::Product(int /*depth*/) {
  const Val* first = PickVal([](const Val&) { return true; });
  const Val* second = PickVal([](const Val&) { return true; });
  if (first == nullptr) return;
  const std::vector<Operand> fields = {first->operand, second->operand};
  const std::vector<std::string> names = {"a", "b"};
  const Fact facts[] = {first->fact, second->fact};
  const Operand product = random_.Chance(50) ? b_.MakeTuple(fields) : b_.MakeRecord(names, fields);
  const int64_t at = random_.Below(2);
  Add(b_.Extract(product, at), facts[at]);
}

// Domains with run-time bounds, parts of them, and where those end.
void Generator::Bounds(int /*depth*/) {
  const int64_t begin = random_.Between(0, 3), count = random_.Between(0, 9);
  const int64_t step = random_.Pick({1, 1, 1, 2});
  const Operand domain = b_.Domain(Int(begin), Int(begin + count), Int(step));
  Operand part = domain;
  int64_t end = begin + count;
  if (step == 1 && random_.Chance(85)) {
    const int64_t from = random_.Between(begin, end), to = random_.Between(from, end);
    std::optional<Operand> start, stop;
    if (random_.Chance(70)) start = Int(from);
    if (random_.Chance(70)) stop = Int(to);
    part = b_.Subregion(domain, start, stop);
    if (stop) end = to;
  }
  Add(b_.Indices(part), Exact());
  Fact fact;
  fact.ranged = true;
  fact.low = 0;
  fact.high = end + 3;
  if (step == 1) Add(b_.RegionEnd(part), fact);
}

void Generator::OfConstexprs(int /*depth*/) {
  if (constexpr_ints_.empty()) return;
  const size_t which =
      static_cast<size_t>(random_.Below(static_cast<int64_t>(constexpr_ints_.size())));
  const Operand number = constexpr_ints_[which];
  switch (random_.Below(3)) {
    case 0: {
      const Val* picked = PickVal([](const Val& val) {
        return val.fact.exactness == Exactness::kWhole && val.fact.bound <= 8 &&
               val.type.dtype() != DType::kBool;
      });
      if (picked == nullptr) return;
      const Val value = IsFloat(picked->type.dtype()) ? Clamp(*picked, 2) : *picked;
      Fact fact = value.fact;
      fact.bound = 10;
      const DType dtype = value.type.dtype();
      if (dtype == DType::kF8E5M2) return;
      return Add(b_.Binary(random_.Pick({BinaryKind::kMul, BinaryKind::kAdd, BinaryKind::kMaximum}),
                           value.operand, number),
                 fact);
    }
    case 1: {
      const DType dtype = PickDType();
      const std::vector<Operand> shape = {number, Int(random_.Between(0, 3))};
      return Add(b_.Full(shape, Number(dtype, random_.Between(0, 3)), dtype), Exact());
    }
    default: {
      Fact fact;
      fact.ranged = true;
      fact.low = fact.high = constexpr_values_[which];
      const Operand value = b_.Instantiate(number, DType::kIndex);
      if (value.IsValue()) known_values_[value.value()] = fact.low;
      return Add(value, fact);
    }
  }
}

}  // namespace intent::testing
