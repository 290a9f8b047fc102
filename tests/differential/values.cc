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

Val Generator::PartnerOf(const Val& value) {
  const DType dtype = value.type.dtype();
  const auto fits = [&](const Val& other, bool same_dtype) {
    if (same_dtype != (other.type.dtype() == dtype)) return false;
    if (other.fact.exactness == Exactness::kFuzzy) return false;
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
    x = b_.Binary(BinaryKind::kMinimum, x, Number(from, 100));
    x = b_.Binary(BinaryKind::kMaximum, x, Number(from, IsSignedInteger(dtype) ? -100 : 0));
  }
  return MakeVal(b_.Cast(x, dtype), ConversionFact(value, dtype));
}

void Generator::Pointwise() {
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
  const bool library = random_.Chance(25);
  if (!library || value.fact.exactness == Exactness::kFuzzy) {
    const UnaryKind kind = value.fact.exactness == Exactness::kFuzzy
                               ? random_.Pick({UnaryKind::kNegate, UnaryKind::kAbs})
                               : random_.Pick({UnaryKind::kNegate, UnaryKind::kAbs,
                                               UnaryKind::kFloor, UnaryKind::kSqrt});
    Fact fact = value.fact;
    if (kind == UnaryKind::kFloor) fact.product = false;
    if (kind == UnaryKind::kSqrt) fact = Rounded();
    return Add(b_.Unary(kind, value.operand), fact);
  }
  // Library functions where they are tame: at 1 to 9.
  if (dtype != DType::kF32 && dtype != DType::kF64) return;
  const Val settled = Settle(value);
  const Operand x =
      b_.Binary(BinaryKind::kAdd, b_.Unary(UnaryKind::kAbs, settled.operand), Number(dtype, 1));
  const UnaryKind kind = random_.Pick({UnaryKind::kExp, UnaryKind::kExp2, UnaryKind::kLog,
                                       UnaryKind::kLog1p, UnaryKind::kTanh, UnaryKind::kSigmoid,
                                       UnaryKind::kErf, UnaryKind::kRsqrt, UnaryKind::kErfc});
  Fact fact;
  fact.exactness = Exactness::kFuzzy;
  fact.finite = false;
  Add(b_.Unary(kind, x), fact);
}

void Generator::BinaryOf(const Val& value) {
  const DType dtype = value.type.dtype();
  if (value.fact.exactness == Exactness::kFuzzy) return UnaryOf(value);
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
                      BinaryKind::kPow});
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
    }
    return Add(b_.Binary(kind, left.operand, y), Exact());
  }
  const BinaryKind kind =
      random_.Pick({BinaryKind::kAdd, BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul,
                    BinaryKind::kMul, BinaryKind::kMaximum, BinaryKind::kMinimum,
                    BinaryKind::kMaximumNum, BinaryKind::kMinimumNum, BinaryKind::kDiv});
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
        left = Clamp(left, 4);
        right = Clamp(right, 4);
      }
      return Add(b_.Binary(kind, left.operand, right.operand), Whole(bound(), finite));
    }
    case BinaryKind::kDiv: {
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
      PickVal([](const Val& val) { return val.fact.exactness != Exactness::kFuzzy; });
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
    if (value.fact.exactness == Exactness::kFuzzy) return;
    test = b_.Compare(CompareKind::kGt, value.operand, other.operand);
  }
  const Fact fact = Either(value.fact, other.fact);
  if (random_.Chance(50)) return Add(b_.Select(test, value.operand, other.operand), fact);
  if (other.type.rank() == 0) Add(b_.Mask(value.operand, test, other.operand), fact);
}

void Generator::Conversion() {
  const Val* picked =
      PickVal([](const Val& val) { return val.fact.exactness != Exactness::kFuzzy; });
  if (picked == nullptr) return;
  const Val value = *picked;
  const DType from = value.type.dtype(), to = PickDType();
  const int64_t how = random_.Below(10);
  if (how == 0 && from != DType::kBool && to != DType::kBool) {
    const bool narrows = IsFloat(to) && !IsFloat(from);
    if (narrows) return;
    Fact fact = ConversionFact(value, to);
    return Add(b_.SaturatingCast(value.operand, to), fact);
  }
  if (how == 1 && BitWidth(from) == BitWidth(to) && from != DType::kBool) {
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

void Generator::ShapeChange() {
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
      if (value.fact.exactness == Exactness::kFuzzy) return;
      return Add(b_.Join(value.operand, other.operand), fact);
    }
  }
}

void Generator::Construction() {
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
    return val.type.IsScalar(dtype) && val.fact.exactness != Exactness::kFuzzy;
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

void Generator::Product() {
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

}  // namespace intent::testing
