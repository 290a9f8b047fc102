// Reductions and scans by builtin combines, with captures, and with slices as states.

#include <algorithm>

#include "compiler/numerics/scalar.h"
#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

Operand Element(KernelBuilder* b, const Operand& vector, int64_t position) {
  const Operand at = Literal{.kind = Literal::Kind::kInt, .int_value = position};
  const std::vector<IndexItem> items = {{.kind = IndexItem::Kind::kOperand, .operand = at}};
  return b->Load(vector, items);
}

}  // namespace

KernelBuilder::RegionPtr Generator::Combine(
    const Type& schema, const std::function<Operand(const Operand&, const Operand&)>& body) {
  const std::vector<Operand> states = b_.PushRegion(std::vector<Type>{schema, schema}, true);
  const Operand combined = body(states[0], states[1]);
  return b_.PopRegion(std::vector<Operand>{combined});
}

Operand Generator::IdentityFor(CombineKind kind, DType dtype) {
  const ScalarValue value =
      kind == CombineKind::kArgMax ? numerics::LowestOf(dtype) : numerics::IdentityOf(kind, dtype);
  if (dtype == DType::kBool) return Number(dtype, numerics::AsBool(value) ? 1 : 0);
  if (IsFloat(dtype)) {
    return b_.Cast(Literal{.kind = Literal::Kind::kFloat, .float_value = numerics::AsDouble(value)},
                   dtype);
  }
  return b_.Cast(Literal{.kind = Literal::Kind::kInt, .int_value = numerics::AsInteger(value)},
                 dtype);
}

// A reduction or any of the four scans.
Operand Generator::Fold(const Operand& members, int64_t axis, const Operand& identity,
                        CombineKind kind, const KernelBuilder::RegionPtr& combine,
                        std::span<const Operand> captures, bool scan) {
  if (!scan) {
    return b_.Reduce(members, std::vector<int64_t>{axis}, identity, kind, combine, captures);
  }
  return b_.Scan(members, axis, identity, kind, combine, captures, Flag(random_.Chance(60)),
                 Flag(random_.Chance(40)));
}

void Generator::BuiltinCombine(int /*depth*/) {
  const bool logical = random_.Chance(35);
  const Val* picked = PickVal([&](const Val& val) {
    return val.type.IsTensor() && val.type.rank() > 0 &&
           (val.type.dtype() == DType::kBool || !logical) && val.fact.exactness < Exactness::kFuzzy;
  });
  if (picked == nullptr) return;
  Val value = *picked;
  const DType dtype = value.type.dtype();
  const int64_t axis = random_.Below(value.type.rank());
  const bool scan = random_.Chance(50);
  const CombineKind kind = dtype == DType::kBool
                               ? random_.Pick({CombineKind::kAnd, CombineKind::kOr})
                               : random_.Pick({CombineKind::kAdd, CombineKind::kMaximum,
                                               CombineKind::kMinimum, CombineKind::kArgMax});
  Fact fact = value.fact;
  if (kind == CombineKind::kAdd && IsFloat(dtype)) {
    const auto count = static_cast<double>((*Concrete(value.type.shape()))[axis]);
    value = Clamp(value, 8);
    if (value.fact.bound * count > ExactLimit(dtype)) value = Clamp(value, 1);
    if (value.fact.bound * count > ExactLimit(dtype)) return;
    fact = value.fact;
    fact.bound *= std::max(count, 1.0);
  }
  if (kind != CombineKind::kAdd) fact.finite = false;
  const Operand identity = IdentityFor(kind, dtype);
  if (kind == CombineKind::kArgMax) {
    std::vector<Operand> line(static_cast<size_t>(value.type.rank()), Int(1));
    line[axis] = b_.Dim(value.operand, axis);
    const Operand positions = b_.Reshape(b_.Indices(b_.Domain(Int(0), line[axis], Int(1))), line);
    const Operand members = b_.MakeTuple(
        std::vector<Operand>{value.operand, b_.Broadcast(positions, ShapeOf(value.operand))});
    const Operand both =
        b_.MakeTuple(std::vector<Operand>{identity, b_.Cast(Int(INT64_MAX), DType::kIndex)});
    const Operand result = Fold(members, axis, both, kind, nullptr, {}, scan);
    Add(b_.Extract(result, 0), fact);
    return Add(b_.Extract(result, 1), {});
  }
  if (random_.Chance(30)) {
    // Two components at once.
    const Operand members = b_.MakeRecord(std::vector<std::string>{"x", "y"},
                                          std::vector<Operand>{value.operand, value.operand});
    const Operand neutral =
        b_.MakeRecord(std::vector<std::string>{"x", "y"}, std::vector<Operand>{identity, identity});
    const Operand result = Fold(members, axis, neutral, kind, nullptr, {}, scan);
    return Add(b_.Extract(result, random_.Below(2)), fact);
  }
  Add(Fold(value.operand, axis, identity, kind, nullptr, {}, scan), fact);
}

// What is captured does not take part in the algebra: members keep within its bits.
void Generator::CapturingCombine(int /*depth*/) {
  const Val* picked = PickVal([](const Val& val) {
    return val.type.IsTensor() && val.type.rank() > 0 && IsInteger(val.type.dtype());
  });
  if (picked == nullptr) return;
  const Val value = *picked;
  const DType dtype = value.type.dtype();
  const Val* scalar = PickVal([&](const Val& val) { return val.type.IsScalar(dtype); });
  const Operand mask = scalar != nullptr ? scalar->operand : Number(dtype, 5);
  const Operand members = b_.Binary(BinaryKind::kAnd, value.operand, mask);
  const std::vector<Type> arguments(3, Type::Scalar(dtype));
  const std::vector<Operand> states = b_.PushRegion(arguments, true);
  const Operand mixed = b_.Binary(BinaryKind::kXor, states[0], states[1]);
  const auto region =
      b_.PopRegion(std::vector<Operand>{b_.Binary(BinaryKind::kAnd, mixed, states[2])});
  const int64_t axis = random_.Below(value.type.rank());
  Add(Fold(members, axis, Number(dtype, 0), CombineKind::kRegion, region,
           std::vector<Operand>{mask}, random_.Chance(50)),
      {});
}

// States that are slices, combined by more than one element at a time.
void Generator::SliceCombine(int /*depth*/) {
  const Val* sized = PickVal([](const Val& val) { return val.type.rank() > 0; });
  const Operand length = sized != nullptr && random_.Chance(60)
                             ? b_.Dim(sized->operand, random_.Below(sized->type.rank()))
                             : Int(random_.Pick({0, 1, 2, 3, 7, 16, 33}));
  const bool scan = random_.Chance(50);
  const DType dtype =
      random_.Pick({DType::kI32, DType::kI64, DType::kU32, DType::kU8, DType::kI16, DType::kIndex});
  switch (random_.Below(5)) {
    case 0: {  // sums by way of transposes
      const DType number = random_.Chance(50) ? DType::kF32 : dtype;
      const std::vector<Operand> shape = {Int(random_.Between(1, 4)), length,
                                          Int(random_.Between(1, 5))};
      const Operand members = b_.Cast(Pattern(shape, 0, 7), number);
      const int64_t axis = random_.Below(3);
      std::vector<Operand> retained;
      for (int64_t i = 0; i < 3; ++i) {
        if (i != axis) retained.push_back(shape[static_cast<size_t>(i)]);
      }
      const Operand identity = b_.Full(retained, Number(number, 0), number);
      const auto region = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        return b_.Transpose(b_.Binary(BinaryKind::kAdd, b_.Transpose(a, std::nullopt),
                                      b_.Transpose(b, std::nullopt)),
                            std::nullopt);
      });
      return Add(Fold(members, axis, identity, CombineKind::kRegion, region, {}, scan),
                 {.bound = 7 * 2100});
    }
    case 1: {  // circular convolution
      const int64_t k = random_.Between(2, 4);
      const std::vector<Operand> shape = {length, Int(k)};
      const Operand members = b_.Cast(Pattern(shape, 0, 5), dtype);
      const auto places = [&] { return b_.Indices(b_.Domain(Int(0), Int(k), Int(1))); };
      const Operand identity =
          b_.Cast(b_.Cast(b_.Compare(CompareKind::kEq, places(), Int(0)), DType::kI32), dtype);
      const auto region = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        const std::vector<Operand> column = {Int(k), Int(1)};
        const Operand shift =
            b_.Binary(BinaryKind::kMod,
                      b_.Binary(BinaryKind::kSub, b_.Reshape(places(), column), places()), Int(k));
        const std::vector<IndexItem> items = {
            {.kind = IndexItem::Kind::kOperand, .operand = shift}};
        return b_.Contract(b_.Load(b, items), a, std::vector<std::pair<int64_t, int64_t>>{{1, 0}},
                           {}, dtype);
      });
      return Add(Fold(members, 0, identity, CombineKind::kRegion, region, {}, scan), {});
    }
    case 2: {  // the two greatest
      const Val* picked = PickVal([](const Val& val) {
        return val.type.IsTensor() && val.type.rank() == 1 && val.type.dtype() != DType::kBool &&
               val.fact.exactness < Exactness::kFuzzy;
      });
      if (picked == nullptr) return;
      const Val value = Tame(*picked);
      const DType number = value.type.dtype();
      const Operand other = Number(number, random_.Between(0, 3));
      const Operand members = b_.Join(b_.Binary(BinaryKind::kMaximum, value.operand, other),
                                      b_.Binary(BinaryKind::kMinimum, value.operand, other));
      const std::vector<Operand> two = {Int(2)}, one = {Int(1)};
      const Operand identity = b_.Full(two, IdentityFor(CombineKind::kMaximum, number), number);
      const auto region = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        const Operand first =
            b_.Binary(BinaryKind::kMaximum, Element(&b_, a, 0), Element(&b_, b, 0));
        const Operand second =
            b_.Binary(BinaryKind::kMaximum,
                      b_.Binary(BinaryKind::kMinimum, Element(&b_, a, 0), Element(&b_, b, 0)),
                      b_.Binary(BinaryKind::kMaximum, Element(&b_, a, 1), Element(&b_, b, 1)));
        return b_.Reshape(b_.Join(b_.Reshape(first, one), b_.Reshape(second, one)), two);
      });
      return Add(Fold(members, 0, identity, CombineKind::kRegion, region, {}, scan),
                 {.bound = 8, .finite = false});
    }
    case 3: {  // products of matrices, which only a scan may combine
      const std::vector<Operand> shape = {length, Int(2), Int(2)};
      const Operand members = b_.Cast(Pattern(shape, 0, 3), dtype);
      const Operand places = b_.Indices(b_.Domain(Int(0), Int(2), Int(1)));
      const Operand diagonal = b_.Compare(
          CompareKind::kEq, b_.Reshape(places, std::vector<Operand>{Int(2), Int(1)}), places);
      const Operand identity = b_.Cast(b_.Cast(diagonal, DType::kI32), dtype);
      const auto region = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        return b_.Contract(a, b, std::vector<std::pair<int64_t, int64_t>>{{1, 0}}, {}, dtype);
      });
      return Add(Fold(members, 0, identity, CombineKind::kRegion, region, {}, true), {});
    }
    default: {  // affine maps: a slice and a scalar in one state
      const int64_t k = random_.Between(1, 4);
      const std::vector<Operand> matrix = {length, Int(k)}, vector = {length}, row = {Int(k)};
      const Operand members = b_.MakeTuple(std::vector<Operand>{
          b_.Cast(Pattern(matrix, 0, 9), dtype), b_.Cast(Pattern(vector, 1, 3), dtype)});
      const Operand identity = b_.MakeTuple(
          std::vector<Operand>{b_.Full(row, Number(dtype, 0), dtype), Number(dtype, 1)});
      const auto region = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        const Operand scale = b_.Extract(b, 1);
        const Operand sum =
            b_.Binary(BinaryKind::kAdd, b_.Binary(BinaryKind::kMul, b_.Extract(a, 0), scale),
                      b_.Extract(b, 0));
        return b_.MakeTuple(
            std::vector<Operand>{sum, b_.Binary(BinaryKind::kMul, b_.Extract(a, 1), scale)});
      });
      const Operand result = Fold(members, 0, identity, CombineKind::kRegion, region, {}, true);
      Add(b_.Extract(result, 0), {});
      Add(b_.Extract(result, 1), {});
    }
  }
}

}  // namespace intent::testing
