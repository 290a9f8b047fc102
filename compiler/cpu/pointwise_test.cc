// Arithmetic, comparisons and conversions of every dtype: compiled code against the tile
// interpreter, bit for bit (NaNs are equal to NaNs), on special values and random bits.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/loops.h"
#include "compiler/numerics/scalar.h"

namespace intent::cpu {
namespace {

constexpr DType kDTypes[] = {DType::kBool, DType::kIndex, DType::kI8,     DType::kI16,
                             DType::kI32,  DType::kI64,   DType::kU8,     DType::kU16,
                             DType::kU32,  DType::kU64,   DType::kF16,    DType::kBF16,
                             DType::kF32,  DType::kF64,   DType::kF8E5M2, DType::kF8E4M3FN};

using Scalars = std::vector<ScalarValue>;

// Edges of the dtype, then random bits.
Scalars Interesting(DType dtype, std::mt19937_64* random) {
  Scalars values;
  const auto add = [&](double number) {
    if (IsFloat(dtype)) {
      values.push_back(numerics::MakeFloat(dtype, number));
    } else {
      values.push_back(numerics::MakeInteger(dtype, static_cast<int64_t>(number)));
    }
  };
  for (double number : {0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 13.0, 31.0, 63.0, 100.0, 127.0}) {
    add(number);
    if (dtype != DType::kBool) add(-number);
  }
  values.push_back(numerics::LowestOf(dtype));
  values.push_back(numerics::GreatestOf(dtype));
  if (IsFloat(dtype)) {
    for (double number :
         {0.5, 1.5, 2.5, 448.0, 464.0, 57344.0, 61440.0, 65504.0, 65520.0, 3e38, 1e300}) {
      add(number);
      add(-number);
    }
    for (double number :
         {5e-324, 1e-310, 1e-45, 1e-40, 6e-8, 3e-8, 1e-5, 9e-41, 2147483648.0, 9.3e18}) {
      add(number);
      add(-number);
    }
    add(std::nan(""));
  }
  const int width = BitWidth(dtype);
  while (values.size() < 96) {
    const uint64_t bits = (*random)();
    values.push_back({dtype, width == 64 ? bits : bits & ((uint64_t{1} << width) - 1)});
  }
  return values;
}

// Integers at, just below and just above the midpoints of the floating formats, both signs.
void AddHalfways(DType dtype, Scalars* values) {
  const int bits = BitWidth(dtype) - (IsSignedInteger(dtype) ? 1 : 0);
  for (int precision : {8, 11, 24, 53}) {
    for (int top = precision; top < bits; ++top) {
      const __int128 half = __int128{1} << (top - precision), base = __int128{1} << top;
      for (__int128 midpoint : {base + half, base + 3 * half, 2 * base - half}) {
        for (int offset : {-1, 0, 1}) {
          values->push_back(numerics::MakeInteger(dtype, midpoint + offset));
          values->push_back(numerics::MakeInteger(dtype, -(midpoint + offset)));
        }
      }
    }
  }
}

std::vector<uint8_t> Stored(const Scalars& values) {
  std::vector<uint8_t> bytes;
  for (const ScalarValue& value : values) {
    const size_t at = bytes.size();
    bytes.resize(at + static_cast<size_t>(StorageBytes(value.dtype)));
    numerics::StoreScalar(value, &bytes[at]);
  }
  return bytes;
}

bool IsNan(DType dtype, const uint8_t* address) {
  return IsFloat(dtype) && std::isnan(numerics::AsDouble(numerics::LoadScalar(dtype, address)));
}

// One elementwise program: inputs of one dtype, one output view for each expression.
struct Sweep {
  DType dtype;
  int lanes;
  std::string body;
  std::vector<DType> outputs;
  std::vector<std::string> names;

  std::string Type(DType d) const {
    return std::string(DTypeName(d)) + (lanes == 1 ? "" : "x" + std::to_string(lanes));
  }
  // `expression` uses %x, %y and %z.
  void Add(const std::string& expression, DType result) {
    const std::string k = std::to_string(outputs.size());
    body += "  %r" + k + ": " + Type(result) + " = " + expression + "\n  store(%o" + k +
            ", %i, %r" + k + ") {stride=1}\n";
    outputs.push_back(result);
    names.push_back(expression);
  }

  std::string Text() const {
    const std::string in = std::string(DTypeName(dtype));
    std::string text = "tile {\n";
    for (int i = 0; i < 3; ++i) text += "  view " + in + " rank 1 read\n";
    for (DType d : outputs) text += "  view " + std::string(DTypeName(d)) + " rank 1 write\n";
    for (int i = 0; i < 3; ++i) {
      text += "  %m" + std::to_string(i) + ": mem<" + in +
              "> = view_base {view=" + std::to_string(i) + "}\n";
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      text += "  %o" + std::to_string(i) + ": mem<" + std::string(DTypeName(outputs[i])) +
              "> = view_base {view=" + std::to_string(i + 3) + "}\n";
    }
    text += "  %zero: index = const 0\n  %n: index = view_extent {view=0 axis=0}\n";
    text += "  %step: index = const " + std::to_string(lanes) + "\n";
    text += "  for(%zero, %n, %step) (%i: index) {\n";
    const char* const names[] = {"%x", "%y", "%z"};
    for (int i = 0; i < 3; ++i) {
      text += std::string("  ") + names[i] + ": " + Type(dtype) + " = load(%m" + std::to_string(i) +
              ", %i) {stride=1}\n";
    }
    return text + body + "  yield\n  }\n}\n";
  }

  void Check(const Scalars& xs, const Scalars& ys, const Scalars& zs,
             const std::vector<std::pair<std::string, int>>& targets) const {
    std::vector<ViewArgument> views;
    for (const Scalars* s : {&xs, &ys, &zs}) {
      views.push_back(Contiguous(Stored(*s), StorageBytes(dtype)));
    }
    for (DType d : outputs) {
      views.push_back(
          Contiguous(std::vector<uint8_t>(xs.size() * static_cast<size_t>(StorageBytes(d)), 0xee),
                     StorageBytes(d)));
    }
    const auto program = ParseOrDie(Text());
    if (testing::Test::HasFailure()) return;
    const Outcome expected = RunInterpreted(*program, views);
    for (const auto& [target, level] : targets) {
      const Outcome got = RunCompiled(*program, views, {}, target, level);
      ASSERT_EQ(got.status, 0);
      for (size_t k = 0; k < outputs.size(); ++k) {
        const auto &a = got.allocations[k + 3], &b = expected.allocations[k + 3];
        const size_t size = static_cast<size_t>(StorageBytes(outputs[k]));
        for (size_t i = 0; i < xs.size(); ++i) {
          const uint8_t *left = &a[i * size], *right = &b[i * size];
          if (std::memcmp(left, right, size) == 0) continue;
          if (IsNan(outputs[k], left) && IsNan(outputs[k], right)) continue;
          const auto hex = [](const ScalarValue& v) {
            char text[32];
            std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(v.bits));
            return std::string(text);
          };
          ADD_FAILURE() << names[k] << " of " << DTypeName(dtype) << "x" << lanes << " to "
                        << DTypeName(outputs[k]) << " on " << target << " level " << level
                        << ": x=" << hex(xs[i]) << " y=" << hex(ys[i]) << " z=" << hex(zs[i])
                        << " got " << hex(numerics::LoadScalar(outputs[k], left)) << " expected "
                        << hex(numerics::LoadScalar(outputs[k], right));
          break;
        }
      }
    }
  }
};

// Every target at the level that ships; the widest one also at the quick level, and alone with
// values wider than its registers.
std::vector<std::pair<std::string, int>> Targets(int lanes) {
  const std::vector<std::string> runnable = RunnableTargets();
  if (lanes > 16) return {{runnable.back(), 2}};
  std::vector<std::pair<std::string, int>> targets;
  for (const std::string& target : runnable) targets.emplace_back(target, 2);
  if (lanes == 8) targets.emplace_back(runnable.back(), 0);
  return targets;
}

// Every pair of the interesting values.
struct Pairs {
  Scalars xs, ys, zs;
  explicit Pairs(DType dtype) {
    std::mt19937_64 random(static_cast<uint64_t>(dtype) + 1);
    const Scalars values = Interesting(dtype, &random);
    for (const ScalarValue& x : values) {
      for (const ScalarValue& y : values) {
        xs.push_back(x);
        ys.push_back(y);
        zs.push_back(values[xs.size() * 7 % values.size()]);
      }
    }
  }
};

class PointwiseTest : public testing::TestWithParam<int> {};

TEST_P(PointwiseTest, BinaryOperations) {
  const int lanes = GetParam();
  for (DType dtype : kDTypes) {
    Sweep sweep{dtype, lanes, {}, {}, {}};
    const auto is = [&](BinaryKind kind) {
      return numerics::IsDefined(kind, dtype) && !(kind == BinaryKind::kPow && IsFloat(dtype));
    };
    for (BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv,
                            BinaryKind::kFloorDiv, BinaryKind::kMod, BinaryKind::kPow,
                            BinaryKind::kIpowTrunc, BinaryKind::kMaximum, BinaryKind::kMinimum,
                            BinaryKind::kMaximumNum, BinaryKind::kMinimumNum, BinaryKind::kAnd,
                            BinaryKind::kOr, BinaryKind::kXor, BinaryKind::kShl, BinaryKind::kShr,
                            BinaryKind::kFloatFloorDiv, BinaryKind::kFloatFloorMod}) {
      if (!is(kind)) continue;
      sweep.Add("binary." + std::string(NameOf(kind)) + "(%x, %y)", dtype);
    }
    for (CompareKind kind : {CompareKind::kEq, CompareKind::kNe, CompareKind::kLt, CompareKind::kLe,
                             CompareKind::kGt, CompareKind::kGe}) {
      if (!numerics::IsDefined(kind, dtype)) continue;
      sweep.Add("compare." + std::string(NameOf(kind)) + "(%x, %y)", DType::kBool);
    }
    if (dtype == DType::kF32) {
      sweep.Add("binary.div(%x, %y) {approximate}", dtype);
      sweep.Add("binary.div(%x, %y) {approximate flush_to_zero}", dtype);
    }
    if (dtype == DType::kF32 || dtype == DType::kF64) sweep.Add("fma(%x, %y, %z)", dtype);
    const Pairs pairs(dtype);
    sweep.Check(pairs.xs, pairs.ys, pairs.zs, Targets(lanes));
  }
}

TEST_P(PointwiseTest, UnaryOperationsAndConversions) {
  const int lanes = GetParam();
  for (DType dtype : kDTypes) {
    Sweep sweep{dtype, lanes, {}, {}, {}};
    for (UnaryKind kind : {UnaryKind::kNegate, UnaryKind::kNot, UnaryKind::kAbs, UnaryKind::kFloor,
                           UnaryKind::kSqrt}) {
      if (!numerics::IsDefined(kind, dtype)) continue;
      sweep.Add("unary." + std::string(NameOf(kind)) + "(%x)", dtype);
    }
    for (DType to : kDTypes) {
      sweep.Add("cast(%x)", to);
      sweep.Add("saturating_cast(%x)", to);
      if (BitWidth(to) == BitWidth(dtype)) sweep.Add("bitcast(%x)", to);
    }
    std::mt19937_64 random(7);
    Scalars xs = Interesting(dtype, &random);
    if (IsInteger(dtype)) AddHalfways(dtype, &xs);
    while (xs.size() % 32 != 0 ||
           xs.size() < 1024) {  // every code of a narrow dtype, many of the others
      const uint64_t bits = random();
      const int width = BitWidth(dtype);
      xs.push_back(
          {dtype, width == 64 ? bits >> (bits % 64) : bits & ((uint64_t{1} << width) - 1)});
    }
    sweep.Check(xs, xs, xs, Targets(lanes));
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, PointwiseTest, testing::Values(1, 8, 16, 32));

}  // namespace
}  // namespace intent::cpu
