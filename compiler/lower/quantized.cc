// q8_k records and their dot products with q4_k (language.md chapter 15): integer sums are exact,
// and every floating step of a record rounds once, outside the reach of fused multiply-adds.

#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

constexpr int64_t kRecord = 256;  // elements
constexpr int64_t kQ4Scales = 4, kQ4Elements = 16;
constexpr int64_t kQ8Elements = 4, kQ8Sums = 260;
constexpr int64_t kRun = 16;  // elements of one q8_k sum
constexpr int64_t kSub = 32;  // elements of one q4_k scale

}  // namespace

void Lowerer::QuantizeRecord(const Binding& x, Id record, const TensorPtr& output,
                             const Context& lanes) {
  const auto real = [&](uint32_t bits) { return b().Const({DType::kF32, bits}); };
  const auto element = [&](Id at) {
    Coord coord;
    coord.base = at;
    coord.step = lanes.lanes > 1 ? 1 : 0;
    return b().Splat(Eval(x, {CoordOf(record), coord}, lanes), lanes.lanes);
  };
  const Id zero = b().Index(0), one = b().Index(1);
  const Id start = element(zero);
  const std::vector<Id> extremes =
      b().For(zero, b().Index(kRecord), b().Index(lanes.lanes), {start, start},
              [&](const std::vector<Id>& carried) {
                const Id value = element(carried[0]);
                return std::vector<Id>{b().Max(carried[1], value), b().Min(carried[2], value)};
              });
  const Id greatest = b().ReduceLanes(CombineKind::kMaximum, extremes[0]);
  const Id least = b().ReduceLanes(CombineKind::kMinimum, extremes[1]);
  const auto magnitude = [&](Id value) { return b().Unary(UnaryKind::kAbs, value); };
  const Id extreme =
      b().Select(b().LessEqual(magnitude(greatest), magnitude(least)), least, greatest);
  const Id nothing = real(0);
  const Id blank = b().Equal(extreme, nothing);
  const Id inverse = b().Select(
      blank, nothing, b().Binary(BinaryKind::kDiv, real(0xc2fe0000), extreme));  // -127 / extreme
  const Id scale =
      b().Select(blank, nothing, b().Binary(BinaryKind::kDiv, real(0x3f800000), inverse));
  const Id origin = b().Mul(record, output->strides[0]);
  const auto store_bytes = [&](int64_t at, Id word, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const Id shift = b().Const({b().type(word).dtype, static_cast<uint64_t>(8 * i)});
      b().Store(output->base, b().Add(origin, b().Index(at + i)),
                b().Cast(b().Binary(BinaryKind::kShr, word, shift), DType::kU8), one);
    }
  };
  store_bytes(0, b().Bitcast(scale, DType::kU32), 4);
  // Adding 1.5 * 2^23 and taking it away rounds what is at most 128 to a whole number, ties to
  // even.
  const Id magic = real(0x4b400000);
  for (int64_t run = 0; run < kRecord / kRun; ++run) {
    const std::vector<Id> sums = b().For(
        b().Index(kRun * run), b().Index(kRun * (run + 1)), b().Index(lanes.lanes),
        {b().Splat(b().Const({DType::kI16, 0}), lanes.lanes)}, [&](const std::vector<Id>& carried) {
          const Id scaled = b().Rounded(BinaryKind::kMul, element(carried[0]), inverse);
          const Id whole = b().Sub(b().Add(scaled, magic), magic);
          const Id q = b().SaturatingCast(whole, DType::kI8);
          b().Store(output->base, b().Add(origin, b().Add(carried[0], b().Index(kQ8Elements))),
                    b().Bitcast(q, DType::kU8), one);
          return std::vector<Id>{b().Add(carried[1], b().Cast(q, DType::kI16))};
        });
    const Id sum = b().ReduceLanes(CombineKind::kAdd, sums[0]);
    store_bytes(kQ8Sums + 2 * run, b().Bitcast(sum, DType::kU16), 2);
  }
}

void Lowerer::LowerQuantize(const Op& op) {
  const Binding x = Of(op.operands[0]);
  const TensorPtr output = AllocateDense(DType::kU8, ExtentIds(ResultType(op).shape()));
  Bind(op.result, Binding::OfTensor(output));
  const int32_t lanes = options_.vector_bits > 0 ? kRun : 1;
  ForEachRecord(output->extents[0], {x}, lanes, [&](Id record, const Context& context) {
    QuantizeRecord(x, record, output, context);
  });
  Report(op, std::to_string(lanes) + " lanes in a record, every step rounded");
}

// body(record, context) for every record; contexts have no mask, and know unit strides where the
// operands have them.
void Lowerer::ForEachRecord(Id records, const std::vector<Binding>& operands, int32_t lanes,
                            const std::function<void(Id, const Context&)>& body) {
  std::vector<Id> watch;
  if (lanes > 1) {
    for (const Binding& operand : operands) WatchStrides(operand, StageCoords(2, 1), &watch);
  }
  const Id unit = UnitCondition(watch);
  InParallel(records, b().Index(4 * kRecord), [&](const Window& window) {
    const auto run = [&](const std::vector<Id>* known) {
      b().For(window.low == kNoId ? b().Index(0) : window.low,
              window.high == kNoId ? records : window.high, b().Index(1), {},
              [&](const std::vector<Id>& record) {
                b().Poll();
                Context context;
                context.lanes = lanes;
                context.unit = known;
                Fence();
                body(record[0], context);
                Fence();
                return std::vector<Id>{};
              });
      return std::vector<Id>{};
    };
    if (watch.empty()) {
      run(lanes > 1 ? &watch : nullptr);
    } else {
      b().If(
          unit, [&] { return run(&watch); }, [&] { return run(nullptr); });
    }
  });
}

Id Lowerer::DotRecord(const Binding& lhs, const Binding& rhs, Id record, const Context& lanes) {
  const auto byte = [&](const Binding& side, int64_t at, DType dtype) {
    return b().Cast(Eval(side, {CoordOf(record), CoordOf(b().Index(at))}, {}), dtype);
  };
  const auto integer = [&](int64_t value) {
    return b().Const({DType::kI32, static_cast<uint32_t>(value)});
  };
  const auto bits = [&](BinaryKind kind, Id x, int64_t amount) {
    return b().Binary(kind, x, integer(amount));
  };
  const auto q4 = [&](int64_t at) { return byte(lhs, kQ4Scales + at, DType::kI32); };
  // The eight 6-bit scales (first 0) or mins (first 4).
  const auto six_bits = [&](int64_t first, int64_t s) {
    if (s < 4) return bits(BinaryKind::kAnd, q4(first + s), 63);
    const Id low = bits(BinaryKind::kAnd, bits(BinaryKind::kShr, q4(4 + s), first), 15);
    const Id high = bits(BinaryKind::kShl, bits(BinaryKind::kShr, q4(first + s - 4), 6), 4);
    return b().Or(low, high);
  };
  const auto members = [&](const Binding& side, Id at) {
    Coord coord;
    coord.base = at;
    coord.step = lanes.lanes > 1 ? 1 : 0;
    return b().Splat(Eval(side, {CoordOf(record), coord}, lanes), lanes.lanes);
  };
  Id products = b().Splat(integer(0), lanes.lanes), mins = integer(0);
  for (int64_t s = 0; s < kRecord / kSub; ++s) {
    const std::vector<Id> sum = b().For(
        b().Index(0), b().Index(kSub), b().Index(lanes.lanes), {b().Splat(integer(0), lanes.lanes)},
        [&](const std::vector<Id>& carried) {
          const Id packed =
              b().Cast(members(lhs, b().Add(carried[0], b().Index(kQ4Elements + kSub * (s / 2)))),
                       DType::kI32);
          const Id q =
              s % 2 == 0 ? bits(BinaryKind::kAnd, packed, 15) : bits(BinaryKind::kShr, packed, 4);
          const Id y = b().Cast(
              b().Bitcast(members(rhs, b().Add(carried[0], b().Index(kQ8Elements + kSub * s))),
                          DType::kI8),
              DType::kI32);
          return std::vector<Id>{b().Add(carried[1], b().Mul(q, y))};
        });
    products = b().Add(products, b().Mul(sum[0], six_bits(0, s)));
    const auto run = [&](int64_t j) {
      const Id low = byte(rhs, kQ8Sums + 2 * j, DType::kU16);
      const Id high = b().Binary(BinaryKind::kShl, byte(rhs, kQ8Sums + 2 * j + 1, DType::kU16),
                                 b().Const({DType::kU16, 8}));
      return b().Cast(b().Bitcast(b().Or(low, high), DType::kI16), DType::kI32);
    };
    mins = b().Add(mins, b().Mul(six_bits(4, s), b().Add(run(2 * s), run(2 * s + 1))));
  }
  const auto word = [&](const Binding& side, int64_t at, int bytes, DType dtype) {
    Id value = byte(side, at, dtype);
    for (int i = 1; i < bytes; ++i) {
      const Id shift = b().Const({dtype, static_cast<uint64_t>(8 * i)});
      value = b().Or(value, b().Binary(BinaryKind::kShl, byte(side, at + i, dtype), shift));
    }
    return value;
  };
  const auto half = [&](int64_t at) {
    return b().Cast(b().Bitcast(word(lhs, at, 2, DType::kU16), DType::kF16), DType::kF32);
  };
  const auto times = [&](Id x, Id y) { return b().Rounded(BinaryKind::kMul, x, y); };
  const Id total = b().ReduceLanes(CombineKind::kAdd, products);
  const Id p = times(half(0), b().Cast(total, DType::kF32));
  const Id n = times(half(2), b().Cast(mins, DType::kF32));
  const Id scale = b().Bitcast(word(rhs, 0, 4, DType::kU32), DType::kF32);
  return times(scale, b().Rounded(BinaryKind::kSub, p, n));
}

// The records' values add up as a tree of neighbours: their order holds, and long sums stay exact.
void Lowerer::LowerQuantizedDot(const Op& op) {
  const Binding lhs = Of(op.operands[0]), rhs = Of(op.operands[1]);
  const Id records = lhs.tensor->extents[0];
  const Id zero = b().Index(0), one = b().Index(1), two = b().Index(2);
  const TensorPtr output = AllocateDense(DType::kF32, {});
  Bind(op.result, Binding::OfTensor(output));
  const Id terms = b().Alloc(DType::kF32, b().Max(records, one));
  Fence();
  b().Store(terms, zero, ZeroOf(DType::kF32), one);
  Fence();
  const int32_t lanes = options_.vector_bits > 0 ? kSub : 1;
  ForEachRecord(records, {lhs, rhs}, lanes, [&](Id record, const Context& context) {
    b().Store(terms, record, DotRecord(lhs, rhs, record, context), one);
  });
  Alone([&] {
    b().While(
        {records}, [&](const std::vector<Id>& m) { return b().Less(one, m[0]); },
        [&](const std::vector<Id>& m) {
          const Id pairs = b().FloorDiv(m[0], two), left = b().Mod(m[0], two);
          const auto term = [&](Id at) { return b().Load(terms, at, 1, zero); };
          b().For(zero, pairs, one, {}, [&](const std::vector<Id>& i) {
            const Id at = b().Mul(i[0], two);
            const Id sum = b().Add(term(at), term(b().Add(at, one)));
            Fence();
            b().Store(terms, i[0], sum, one);
            Fence();
            return std::vector<Id>{};
          });
          b().If(b().Equal(left, one), [&] {
            const Id last = term(b().Sub(m[0], one));
            Fence();
            b().Store(terms, pairs, last, one);
            Fence();
          });
          return std::vector<Id>{b().Add(pairs, left)};
        });
    b().Store(output->base, zero, b().Load(terms, zero, 1, zero), one);
    Fence();
  });
  Report(op, std::to_string(lanes) + " lanes in a record, every step rounded");
}

}  // namespace intent::lower
