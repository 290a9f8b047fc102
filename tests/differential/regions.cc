// Region folds and scans whose laws hold exactly, so that every choice of slices gives the same
// bytes (seed 000 chapter 6, language.md chapter 8).

#include <algorithm>

#include "compiler/numerics/scalar.h"
#include "tests/differential/generator.h"

namespace intent::testing {
namespace {

using Operands = std::vector<Operand>;
using Names = std::vector<std::string>;

}  // namespace

// A tensor of whole numbers with an axis to slice, in a dtype in which sums of it are exact.
std::optional<Val> Generator::RegionSource(int minimum, int maximum) {
  const Val* picked = PickVal([&](const Val& val) {
    return val.type.IsTensor() && val.type.rank() >= minimum && val.type.rank() <= maximum &&
           val.type.dtype() != DType::kBool && IsAddressable(val.type.dtype()) &&
           val.fact.exactness < Exactness::kFuzzy;
  });
  if (picked == nullptr) return std::nullopt;
  Val value = Tame(*picked);
  const DType dtype = value.type.dtype();
  if (IsFloat(dtype) && BitWidth(dtype) < 32) value = Convert(value, DType::kF32);
  if (!value.operand.IsValue() || !Concrete(value.type.shape())) return std::nullopt;
  return value;
}

// Zero, or the least value, in the shape of a slice without its axis.
Operand Generator::RetainedFull(const Val& value, int64_t axis, const Operand& fill) {
  if (value.type.rank() == 1) return fill;
  std::vector<Operand> shape = ShapeOf(value.operand);
  shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return b_.Full(shape, fill, value.type.dtype());
}

// The extents of a retained state with 1 in place of the sliced axis.
Operand Generator::AlongSlice(const Operand& state, const Type& slice, int64_t axis) {
  if (slice.rank() == 1) return state;
  std::vector<Operand> shape = ShapeOf(state);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), Int(1));
  return b_.Reshape(state, shape);
}

void Generator::RegionFold(int /*depth*/) {
  const int64_t form = random_.Below(6);
  const bool vectors = form == 2 || form == 4 || form == 5;
  const std::optional<Val> source = RegionSource(1, vectors ? 1 : 3);
  if (!source) return;
  const Val& value = *source;
  const DType dtype = value.type.dtype();
  const int64_t axis = random_.Below(value.type.rank());
  const auto extent = static_cast<double>((*Concrete(value.type.shape()))[axis]);
  const std::vector<int64_t> axes = {axis};
  const Operand zero = Number(dtype, 0);
  budget_ -= Count(value.type);
  const auto added = [&](const Operand& a, const Operand& b) {
    return b_.Binary(BinaryKind::kAdd, a, b);
  };
  switch (form) {
    case 0: {  // a sum, scaled by a capture
      const Val* scale = PickVal([&](const Val& val) {
        return val.type.IsScalar(dtype) && val.fact.exactness == Exactness::kWhole &&
               val.fact.bound <= 8 && val.fact.finite;
      });
      const Operand factor = scale != nullptr ? scale->operand : Number(dtype, 2);
      const auto slices = b_.Slices(value.operand, axis);
      if (!slices) return;
      const Operand identity = RetainedFull(value, axis, zero);
      const Operands in =
          b_.PushRegion(std::vector<Type>{slices->types[0], Type::Scalar(dtype)}, true);
      const Operand scaled = b_.Binary(BinaryKind::kMul, in[0], in[1]);
      const auto summarize = b_.PopRegion(
          Operands{b_.Reduce(scaled, axes, Number(dtype, 0), CombineKind::kAdd, nullptr, {})});
      const auto combine = Combine(b_.TypeOf(identity), added);
      return Add(
          b_.RegionFold(value.operand, *slices, identity, summarize, combine, Operands{factor}),
          {.bound = 64 * std::max(extent, 1.0)});
    }
    case 1: {  // the greatest, and how many are above zero
      const auto slices = b_.Slices(value.operand, axis);
      if (!slices) return;
      const Names names = {"most", "above"};
      const Operand least = IdentityFor(CombineKind::kMaximum, dtype);
      const Operand none = b_.Cast(RetainedFull(value, axis, zero), DType::kI32);
      const Operand identity =
          b_.MakeRecord(names, Operands{RetainedFull(value, axis, least), none});
      const Operand slice = b_.PushRegion(slices->types, true)[0];
      const Operand most = b_.Reduce(slice, axes, IdentityFor(CombineKind::kMaximum, dtype),
                                     CombineKind::kMaximum, nullptr, {});
      const Operand above =
          b_.Cast(b_.Compare(CompareKind::kGt, slice, Number(dtype, 0)), DType::kI32);
      const Operand count =
          b_.Reduce(above, axes, Number(DType::kI32, 0), CombineKind::kAdd, nullptr, {});
      const auto summarize = b_.PopRegion(Operands{b_.MakeRecord(names, Operands{most, count})});
      const auto combine = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        return b_.MakeRecord(
            names, Operands{b_.Binary(BinaryKind::kMaximum, b_.Extract(a, 0), b_.Extract(b, 0)),
                            added(b_.Extract(a, 1), b_.Extract(b, 1))});
      });
      const Operand result =
          b_.RegionFold(value.operand, *slices, identity, summarize, combine, {});
      Add(b_.Extract(result, 0), {.bound = 8, .finite = false});
      return Add(b_.Extract(result, 1), {});
    }
    case 2: {  // the first and the last above zero: order matters
      const Operand places = b_.Indices(b_.Domain(Int(0), b_.Dim(value.operand, 0), Int(1)));
      const Operand both = b_.MakeTuple(Operands{value.operand, places});
      const auto slices = b_.Slices(both, 0);
      if (!slices) return;
      const Operand identity = b_.MakeTuple(Operands{Number(DType::kBool, 0), zero, zero});
      const Operands in = b_.PushRegion(slices->types, true);
      const Operand above = b_.Compare(CompareKind::kGt, in[0], Number(dtype, 0));
      const Operand any =
          b_.Reduce(above, axes, Number(DType::kBool, 0), CombineKind::kOr, nullptr, {});
      const auto valued = [&](CombineKind kind, int64_t outside) {
        const Operand at = b_.Reduce(b_.Select(above, in[1], b_.Cast(Int(outside), DType::kIndex)),
                                     axes, IdentityFor(kind, DType::kIndex), kind, nullptr, {});
        const Operand here = b_.Compare(CompareKind::kEq, in[1], at);
        return b_.Reduce(b_.Select(here, in[0], Number(dtype, 0)), axes, Number(dtype, 0),
                         CombineKind::kAdd, nullptr, {});
      };
      const Operand first = valued(CombineKind::kMinimum, INT64_MAX);
      const Operand last = valued(CombineKind::kMaximum, -1);
      const auto summarize = b_.PopRegion(Operands{b_.MakeTuple(Operands{any, first, last})});
      const auto combine = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        const Operand in_a = b_.Extract(a, 0), in_b = b_.Extract(b, 0);
        return b_.MakeTuple(Operands{b_.Binary(BinaryKind::kOr, in_a, in_b),
                                     b_.Select(in_a, b_.Extract(a, 1), b_.Extract(b, 1)),
                                     b_.Select(in_b, b_.Extract(b, 2), b_.Extract(a, 2))});
      });
      const Operand result = b_.RegionFold(both, *slices, identity, summarize, combine, {});
      Add(b_.Extract(result, 0), {});
      Add(b_.Extract(result, 1), value.fact);
      return Add(b_.Extract(result, 2), value.fact);
    }
    case 3: {  // products of two sliced matrices
      if (value.type.rank() != 2) return;
      const int64_t other = 1 - axis;
      const auto wide = static_cast<double>((*Concrete(value.type.shape()))[other]);
      if (wide * wide * extent > 100'000) return;
      const Operand both = b_.MakeTuple(Operands{value.operand, value.operand});
      const auto slices = b_.Slices(both, axis);
      if (!slices) return;
      const Operand size = b_.Dim(value.operand, other);
      const Operand identity = b_.Full(Operands{size, size}, zero, dtype);
      const Operands in = b_.PushRegion(slices->types, true);
      const auto summarize = b_.PopRegion(Operands{b_.Contract(
          in[0], in[1], std::vector<std::pair<int64_t, int64_t>>{{axis, axis}}, {}, dtype)});
      const auto combine = Combine(b_.TypeOf(identity), added);
      budget_ -= static_cast<int64_t>(wide * wide * extent / 16);
      return Add(b_.RegionFold(both, *slices, identity, summarize, combine, {}),
                 {.bound = 64 * std::max(extent, 1.0)});
    }
    case 4: {  // the greatest prefix sum
      const Val small = IsFloat(dtype) ? value : Convert(value, DType::kI8);
      const Operand members = b_.Cast(small.operand, DType::kI32);
      const auto slices = b_.Slices(members, 0);
      if (!slices) return;
      const auto low = [&] { return Number(DType::kI32, -(1 << 30)); };
      const Operand identity = b_.MakeTuple(Operands{Number(DType::kI32, 0), low()});
      const Operand slice = b_.PushRegion(slices->types, true)[0];
      const Operand sum =
          b_.Reduce(slice, axes, Number(DType::kI32, 0), CombineKind::kAdd, nullptr, {});
      const Operand prefixes = b_.Scan(slice, 0, Number(DType::kI32, 0), CombineKind::kAdd, nullptr,
                                       {}, Flag(true), Flag(false));
      const Operand most = b_.Reduce(prefixes, axes, low(), CombineKind::kMaximum, nullptr, {});
      const auto summarize = b_.PopRegion(Operands{b_.MakeTuple(Operands{sum, most})});
      const auto combine = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        const Operand before = b_.Extract(a, 0);
        return b_.MakeTuple(Operands{
            added(before, b_.Extract(b, 0)),
            b_.Binary(BinaryKind::kMaximum, b_.Extract(a, 1), added(before, b_.Extract(b, 1)))});
      });
      const Operand result = b_.RegionFold(members, *slices, identity, summarize, combine, {});
      Add(b_.Extract(result, 0), {});
      return Add(b_.Extract(result, 1), {});
    }
    default: {  // the mass of exponentials below the greatest: slices change roundings
      if (dtype != DType::kF32) return;
      const auto slices = b_.Slices(value.operand, 0);
      if (!slices) return;
      const Operand identity = b_.MakeTuple(Operands{Number(DType::kBool, 0), zero, zero});
      const Operand slice = b_.PushRegion(slices->types, true)[0];
      const Operand most = b_.Reduce(slice, axes, IdentityFor(CombineKind::kMaximum, dtype),
                                     CombineKind::kMaximum, nullptr, {});
      const Operand mass =
          b_.Reduce(b_.Unary(UnaryKind::kExp, b_.Binary(BinaryKind::kSub, slice, most)), axes,
                    Number(dtype, 0), CombineKind::kAdd, nullptr, {});
      const auto summarize =
          b_.PopRegion(Operands{b_.MakeTuple(Operands{Number(DType::kBool, 1), most, mass})});
      const auto combine = Combine(b_.TypeOf(identity), [&](const Operand& a, const Operand& b) {
        const Operand in_a = b_.Extract(a, 0), in_b = b_.Extract(b, 0);
        const Operand of_a = b_.Extract(a, 1), of_b = b_.Extract(b, 1);
        const Operand both = b_.Binary(BinaryKind::kMaximum, of_a, of_b);
        const Operand top = b_.Select(in_a, b_.Select(in_b, both, of_a), of_b);
        const auto rescaled = [&](const Operand& in, const Operand& of, const Operand& state) {
          const Operand away = b_.Binary(BinaryKind::kSub, of, top);
          const Operand less =
              b_.Binary(BinaryKind::kMul, b_.Extract(state, 2), b_.Unary(UnaryKind::kExp, away));
          return b_.Select(in, less, Number(dtype, 0));
        };
        return b_.MakeTuple(Operands{b_.Binary(BinaryKind::kOr, in_a, in_b), top,
                                     added(rescaled(in_a, of_a, a), rescaled(in_b, of_b, b))});
      });
      const Operand result =
          b_.RegionFold(value.operand, *slices, identity, summarize, combine, {});
      Add(b_.Extract(result, 1), value.fact);
      return Add(b_.Extract(result, 2), {.exactness = Exactness::kFuzzy, .finite = false});
    }
  }
}

void Generator::RegionScan(int /*depth*/) {
  const int64_t form = random_.Below(3);
  const std::optional<Val> source = RegionSource(1, form == 2 ? 1 : 3);
  if (!source) return;
  const Val& value = *source;
  const DType dtype = value.type.dtype();
  const int64_t axis = random_.Below(value.type.rank());
  const std::vector<int64_t> axes = {axis};
  const auto extent = static_cast<double>((*Concrete(value.type.shape()))[axis]);
  const Operand zero = Number(dtype, 0);
  budget_ -= 2 * Count(value.type);
  const auto added = [&](const Operand& a, const Operand& b) {
    return b_.Binary(BinaryKind::kAdd, a, b);
  };
  const auto retained = [&](const Val& of) { return RetainedFull(of, axis, zero); };
  if (form == 0) {  // prefix sums from some start, and their double
    const auto slices = b_.Slices(value.operand, axis);
    if (!slices) return;
    const Operand identity = retained(value);
    const Operand initial = RetainedFull(value, axis, Number(dtype, random_.Between(0, 5)));
    const Type state = b_.TypeOf(identity);
    const Operand slice = b_.PushRegion(slices->types, true)[0];
    const auto summarize = b_.PopRegion(
        Operands{b_.Reduce(slice, axes, Number(dtype, 0), CombineKind::kAdd, nullptr, {})});
    const auto combine = Combine(state, added);
    const auto apply = Combine(state, added);
    const Operands in = b_.PushRegion(std::vector<Type>{slices->types[0], state}, true);
    const Operand prefixes = b_.Scan(in[0], axis, Number(dtype, 0), CombineKind::kAdd, nullptr, {},
                                     Flag(random_.Chance(60)), Flag(false));
    const Operand sums = added(prefixes, AlongSlice(in[1], slices->types[0], axis));
    const bool pair = random_.Chance(40);
    const Operand turned = random_.Chance(50) ? b_.Transpose(sums, std::nullopt) : sums;
    const auto emit =
        b_.PopRegion(Operands{pair ? b_.MakeTuple(Operands{sums, added(turned, turned)}) : sums});
    const Operand result = b_.RegionScan(value.operand, *slices, identity, initial, summarize,
                                         combine, apply, emit, {});
    const Fact fact = {.bound = 16 * std::max(extent, 1.0) + 10};
    Add(b_.Extract(result, 1), fact);
    const Operand outputs = b_.Extract(result, 0);
    if (!pair) return Add(outputs, fact);
    Add(b_.Extract(outputs, 0), fact);
    return Add(b_.Extract(outputs, 1), fact);
  }
  if (form == 1) {  // the greatest so far, where a capture allows
    const auto slices = b_.Slices(value.operand, axis);
    if (!slices) return;
    const Operand least = IdentityFor(CombineKind::kMaximum, dtype);
    const Operand identity = RetainedFull(value, axis, least);
    const Operand initial = retained(value);
    const Type state = b_.TypeOf(identity);
    const Operand floor = Number(dtype, random_.Between(0, 3));
    const auto greater = [&](const Operand& a, const Operand& b) {
      return b_.Binary(BinaryKind::kMaximum, a, b);
    };
    const std::vector<Type> seen = {slices->types[0], Type::Scalar(dtype)};
    const Operands in = b_.PushRegion(seen, true);
    const auto summarize = b_.PopRegion(
        Operands{b_.Reduce(greater(in[0], in[1]), axes, IdentityFor(CombineKind::kMaximum, dtype),
                           CombineKind::kMaximum, nullptr, {})});
    const auto combine = Combine(state, greater);
    const auto apply = Combine(state, greater);
    const Operands out =
        b_.PushRegion(std::vector<Type>{slices->types[0], state, Type::Scalar(dtype)}, true);
    const Operand prefixes =
        b_.Scan(greater(out[0], out[2]), axis, IdentityFor(CombineKind::kMaximum, dtype),
                CombineKind::kMaximum, nullptr, {}, Flag(true), Flag(false));
    const auto emit =
        b_.PopRegion(Operands{greater(prefixes, AlongSlice(out[1], slices->types[0], axis))});
    const Operand result = b_.RegionScan(value.operand, *slices, identity, initial, summarize,
                                         combine, apply, emit, Operands{floor});
    const Fact fact = {.bound = 8, .finite = false};
    Add(b_.Extract(result, 0), fact);
    return Add(b_.Extract(result, 1), fact);
  }
  // x = a * x + b modulo 2^32: the summary is a map, the state a number.
  const DType word = random_.Pick({DType::kI32, DType::kU32});
  const Val small = IsFloat(dtype) ? Convert(value, word) : value;
  const Operand terms = b_.Cast(small.operand, word);
  const Operand places = b_.Indices(b_.Domain(Int(0), b_.Dim(value.operand, 0), Int(1)));
  const Operand factors =
      b_.Binary(BinaryKind::kAdd, b_.Cast(b_.Binary(BinaryKind::kMod, places, Int(5)), word),
                Number(word, 1));
  const Operand all = b_.MakeTuple(Operands{factors, terms, places});
  const auto slices = b_.Slices(all, 0);
  if (!slices) return;
  const Operand identity = b_.MakeTuple(Operands{Number(word, 1), Number(word, 0)});
  const Type summary = b_.TypeOf(identity);
  const auto composed = [&](const Operand& a, const Operand& b) {
    const Operand factor = b_.Extract(b, 0);
    return b_.MakeTuple(
        Operands{b_.Binary(BinaryKind::kMul, b_.Extract(a, 0), factor),
                 added(b_.Binary(BinaryKind::kMul, b_.Extract(a, 1), factor), b_.Extract(b, 1))});
  };
  const auto prefixes = [&](const Operand& factor, const Operand& term) {
    const Operand members = b_.MakeTuple(Operands{factor, term});
    const Operand neutral = b_.MakeTuple(Operands{Number(word, 1), Number(word, 0)});
    return b_.Scan(members, 0, neutral, CombineKind::kRegion, Combine(summary, composed), {},
                   Flag(true), Flag(false));
  };
  const Operands in = b_.PushRegion(slices->types, true);
  const Operand maps = prefixes(in[0], in[1]);
  const Operand last =
      b_.Compare(CompareKind::kEq, in[2],
                 b_.Reduce(in[2], axes, IdentityFor(CombineKind::kMaximum, DType::kIndex),
                           CombineKind::kMaximum, nullptr, {}));
  const auto final_of = [&](int64_t part) {
    return b_.Reduce(b_.Select(last, b_.Extract(maps, part), Number(word, 0)), axes,
                     Number(word, 0), CombineKind::kAdd, nullptr, {});
  };
  const auto summarize = b_.PopRegion(Operands{b_.MakeTuple(Operands{final_of(0), final_of(1)})});
  const auto combine = Combine(summary, composed);
  const auto moved = [&](const Operand& map, const Operand& state) {
    return added(b_.Binary(BinaryKind::kMul, b_.Extract(map, 0), state), b_.Extract(map, 1));
  };
  const Operands acted = b_.PushRegion(std::vector<Type>{summary, Type::Scalar(word)}, true);
  const auto apply = b_.PopRegion(Operands{moved(acted[0], acted[1])});
  std::vector<Type> seen = slices->types;
  seen.push_back(Type::Scalar(word));
  const Operands out = b_.PushRegion(seen, true);
  const auto emit = b_.PopRegion(Operands{moved(prefixes(out[0], out[1]), out[3])});
  const Operand initial = Number(word, random_.Between(0, 9));
  const Operand result =
      b_.RegionScan(all, *slices, identity, initial, summarize, combine, apply, emit, {});
  Add(b_.Extract(result, 0), {});
  Add(b_.Extract(result, 1), {});
}

}  // namespace intent::testing
