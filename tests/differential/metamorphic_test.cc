// What must hold where no way is the oracle of another: long sums of any floats keep the promised
// bound, the order of parallel points does not matter, and neither do the slices that regions are
// cut into.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/numerics/scalar.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"
#include "tests/differential/call_data.h"
#include "tests/differential/kernel_generator.h"
#include "tests/differential/random_source.h"

namespace intent::testing {
namespace {

// --- Sums.

// Sums a and b so that no digit is lost: long double with a compensation is far more precise than
// any accumulator here.
class ExactSum {
 public:
  void Add(long double x) {
    const long double next = sum_ + x;
    rest_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
    size_ += std::fabs(x);
  }
  long double value() const { return sum_ + rest_; }
  long double size() const { return size_; }  // the sum of magnitudes

 private:
  long double sum_ = 0, rest_ = 0, size_ = 0;
};

double UnitOf(DType dtype) { return dtype == DType::kF64 ? 0x1p-53 : 0x1p-24; }

// (32 + log2 n) * u * sum |x| (docs/kir.md).
long double BoundOf(DType dtype, int64_t members, const ExactSum& sum) {
  const double depth = 32 + std::log2(static_cast<double>(std::max<int64_t>(members, 1)));
  return depth * UnitOf(dtype) * sum.size();
}

// Any signs, exponents from -20 to 20.
std::vector<double> RandomFloats(DType dtype, int64_t count, RandomSource* random) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double mantissa = static_cast<double>(random->Between(-(1 << 23), 1 << 23)) * 0x1p-23;
    const double value = std::ldexp(mantissa, static_cast<int>(random->Between(-20, 20)));
    values.push_back(numerics::AsDouble(numerics::MakeFloat(dtype, value)));
  }
  return values;
}

Allocation Holding(DType dtype, const std::vector<double>& values) {
  return {.dtype = dtype, .bytes = Encode(dtype, values)};
}

ViewPlace Dense(size_t allocation, std::vector<int64_t> extents) {
  ViewPlace place = {.allocation = allocation, .extents = std::move(extents)};
  place.strides.assign(place.extents.size(), 1);
  for (size_t axis = place.extents.size(); axis-- > 1;) {
    place.strides[axis - 1] = place.strides[axis] * place.extents[axis];
  }
  return place;
}

std::string WithDType(std::string text, const std::string& dtype) {
  for (size_t at; (at = text.find('$')) != std::string::npos;) text.replace(at, 1, dtype);
  return text;
}

class Sums : public ::testing::TestWithParam<DType> {
 protected:
  // Runs the kernel every way; view 0 holds `input`, the last view gives the sums.
  void Check(const std::string& text, const std::vector<std::vector<double>>& inputs,
             const std::vector<std::vector<int64_t>>& shapes, const std::vector<ExactSum>& sums,
             int64_t members) {
    const DType dtype = GetParam();
    std::string error;
    const auto kernel = TestKernel::Parse(WithDType(text, std::string(DTypeName(dtype))), &error);
    ASSERT_NE(kernel, nullptr) << error;
    CallData data;
    for (const auto& values : inputs) data.allocations.push_back(Holding(dtype, values));
    data.allocations.push_back(Holding(dtype, std::vector<double>(sums.size(), 0)));
    for (size_t i = 0; i < shapes.size(); ++i) data.views.push_back(Dense(i, shapes[i]));
    const auto check = [&](const std::string& way, const Outcome& outcome) {
      ASSERT_FALSE(outcome.failed) << way << ": " << outcome.message;
      const uint8_t* bytes = outcome.allocations.back().bytes.data();
      for (size_t i = 0; i < sums.size(); ++i) {
        const double got = numerics::AsDouble(
            numerics::LoadScalar(dtype, bytes + i * static_cast<size_t>(StorageBytes(dtype))));
        const long double off = std::fabs(static_cast<long double>(got) - sums[i].value());
        EXPECT_LE(off, BoundOf(dtype, members, sums[i]))
            << way << ", element " << i << " of " << members << " members";
      }
    };
    check("interpreter", kernel->Interpret(data));
    for (const Way& way : AllWays()) check(way.name, kernel->Run(data, way));
  }
};

TEST_P(Sums, Reductions) {
  RandomSource random(7);
  for (const int64_t n : {1, 100, 4097, 70'001}) {
    const std::vector<double> x = RandomFloats(GetParam(), n, &random);
    ExactSum sum;
    for (const double value : x) sum.Add(value);
    Check(R"(
kernel (%x: view<in, $, [s0]>, %y: view<out, $, []>) {
  %v = view_load %x [:] : tensor<$, [s0]>
  %z = constant 0.0 : $
  %s = reduce %v, %z axes [0] combine add : $
  view_store %y [] = %s
  return
}
)",
          {x}, {{n}, {}}, {sum}, n);
  }
}

TEST_P(Sums, ColumnsAndRows) {
  RandomSource random(8);
  constexpr int64_t kRows = 1025, kColumns = 37;
  const std::vector<double> x = RandomFloats(GetParam(), kRows * kColumns, &random);
  std::vector<ExactSum> columns(kColumns), rows(kRows);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    columns[static_cast<size_t>(i % kColumns)].Add(x[static_cast<size_t>(i)]);
    rows[static_cast<size_t>(i / kColumns)].Add(x[static_cast<size_t>(i)]);
  }
  const std::string text = R"(
kernel (%x: view<in, $, [s0, s1]>, %y: view<out, $, [s#]>) {
  %v = view_load %x [:, :] : tensor<$, [s0, s1]>
  %z = constant 0.0 : $
  %s = reduce %v, %z axes [#] combine add : tensor<$, [s#]>
  view_store %y [:] = %s
  return
}
)";
  const auto along = [&](const std::string& axis, const std::string& kept) {
    std::string one = text;
    one.replace(one.find("axes [#"), 7, "axes [" + axis);
    for (size_t at; (at = one.find('#')) != std::string::npos;) one.replace(at, 1, kept);
    return one;
  };
  Check(along("0", "1"), {x}, {{kRows, kColumns}, {kColumns}}, columns, kRows);
  Check(along("1", "0"), {x}, {{kRows, kColumns}, {kRows}}, rows, kColumns);
}

TEST_P(Sums, Contractions) {
  RandomSource random(9);
  for (const int64_t depth : {3, 1000, 5003}) {
    constexpr int64_t kRows = 3, kColumns = 5;
    const std::vector<double> a = RandomFloats(GetParam(), kRows * depth, &random);
    const std::vector<double> b = RandomFloats(GetParam(), depth * kColumns, &random);
    std::vector<ExactSum> sums(kRows * kColumns);
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        for (int64_t k = 0; k < depth; ++k) {
          sums[static_cast<size_t>(i * kColumns + j)].Add(
              static_cast<long double>(a[static_cast<size_t>(i * depth + k)]) *
              b[static_cast<size_t>(k * kColumns + j)]);
        }
      }
    }
    Check(R"(
kernel (%a: view<in, $, [s0, s1]>, %b: view<in, $, [s1, s2]>, %y: view<out, $, [s0, s2]>) {
  %l = view_load %a [:, :] : tensor<$, [s0, s1]>
  %r = view_load %b [:, :] : tensor<$, [s1, s2]>
  %s = contract %l, %r reduce [(1, 0)] : tensor<$, [s0, s2]>
  view_store %y [:, :] = %s
  return
}
)",
          {a, b}, {{kRows, depth}, {depth, kColumns}, {kRows, kColumns}}, sums, depth);
  }
}

TEST_P(Sums, Prefixes) {
  RandomSource random(10);
  constexpr int64_t kCount = 9001;
  const std::vector<double> x = RandomFloats(GetParam(), kCount, &random);
  std::vector<ExactSum> sums;
  ExactSum sum;
  for (const double value : x) {
    sum.Add(value);
    sums.push_back(sum);
  }
  Check(R"(
kernel (%x: view<in, $, [s0]>, %y: view<out, $, [s0]>) {
  %v = view_load %x [:] : tensor<$, [s0]>
  %z = constant 0.0 : $
  %s = scan %v, %z axis 0 inclusive combine add : tensor<$, [s0]>
  view_store %y [:] = %s
  return
}
)",
        {x}, {{kCount}, {kCount}}, sums, kCount);
}

TEST_P(Sums, RegionFolds) {
  RandomSource random(11);
  for (const int64_t n : {10, 5000}) {
    const std::vector<double> x = RandomFloats(GetParam(), n, &random);
    ExactSum sum;
    for (const double value : x) sum.Add(value);
    Check(R"(
kernel (%x: view<in, $, [s0]>, %y: view<out, $, []>) {
  %v = view_load %x [:] : tensor<$, [s0]>
  %z = constant 0.0 : $
  %s = region_fold %v, %z axis 0 slice s1 summarize (%m: tensor<$, [s1]>) {
    %n = constant 0.0 : $
    %t = reduce %m, %n axes [0] combine add : $
    yield %t
  } combine (%a: $, %b: $) {
    %c = binary add %a, %b : $
    yield %c
  } : $
  view_store %y [] = %s
  return
}
)",
          {x}, {{n}, {}}, {sum}, n);
  }
}

INSTANTIATE_TEST_SUITE_P(Keep, Sums, ::testing::Values(DType::kF32, DType::kF64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// --- Orders.

void ForEachMutable(Block* block, const std::function<void(Op*)>& visit) {
  for (Op* op : block->ops) {
    for (auto& region : op->regions) ForEachMutable(region.get(), visit);
    visit(op);
  }
}

void ReplaceUses(Block* block, ValueId from, ValueId to) {
  for (Op* op : block->ops) {
    std::replace(op->operands.begin(), op->operands.end(), from, to);
    for (auto& region : op->regions) ReplaceUses(region.get(), from, to);
  }
}

// Every parallel loop over domains of step 1 runs from its last point to its first. False: there is
// none.
bool ReverseParallel(Function* function) {
  bool any = false;
  ForEachMutable(&function->body, [&](Op* op) {
    if (op->kind != OpKind::kParallel) return;
    const Op* domain = function->value(op->operands[0]).op;
    std::vector<const Op*> axes = {domain};
    if (domain->kind == OpKind::kDomainProduct) {
      axes.clear();
      for (const ValueId operand : domain->operands) axes.push_back(function->value(operand).op);
    }
    Block* body = op->regions[0].get();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == nullptr || axes[i]->kind != OpKind::kDomain) continue;
      const Op* step = function->value(axes[i]->operands[2]).op;
      if (step == nullptr || step->kind != OpKind::kConstant ||
          numerics::AsIndex(step->attr<ConstantAttr>().value) != 1) {
        continue;
      }
      // begin + end - 1 - point
      const Type index = Type::Scalar(DType::kIndex);
      const ValueId point = body->arguments[i];
      const auto emit = [&](BinaryKind kind, ValueId a, ValueId b) {
        return function->NewOp(OpKind::kBinary, index, {a, b}, BinaryAttr{.kind = kind});
      };
      Op* sum = emit(BinaryKind::kAdd, axes[i]->operands[0], axes[i]->operands[1]);
      Op* last = emit(BinaryKind::kSub, sum->result, axes[i]->operands[2]);
      Op* turned = emit(BinaryKind::kSub, last->result, point);
      ReplaceUses(body, point, turned->result);
      body->ops.insert(body->ops.begin(), {sum, last, turned});
      std::replace(turned->operands.begin(), turned->operands.end(), turned->result, point);
      any = true;
    }
  });
  return any;
}

TEST(Metamorphic, TheOrderOfParallelPointsDoesNotMatter) {
  int turned = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const GeneratedKernel kernel = GenerateKernel(seed);
    ASSERT_NE(kernel.module, nullptr);
    std::unique_ptr<Module> module = Clone(*kernel.module);
    if (!ReverseParallel(&module->kernel_function())) continue;
    // A point's index may be part of a type, which this does not rewrite.
    if (!Verify(*module).empty()) continue;
    std::string error;
    const auto forward = TestKernel::Make(*kernel.module, &error);
    const auto backward = TestKernel::Make(*module, &error);
    ASSERT_NE(forward, nullptr) << error;
    ASSERT_NE(backward, nullptr) << error;
    const Outcome expected = forward->Interpret(kernel.data);
    const Outcome got = backward->Interpret(kernel.data);
    if (expected.failed) continue;
    EXPECT_EQ(forward->Difference(expected, got, kernel.data), "") << "seed " << seed;
    ++turned;
  }
  EXPECT_GE(turned, 20);
}

TEST(Metamorphic, SlicesOfRegionsDoNotMatter) {
  int cut = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const GeneratedKernel kernel = GenerateKernel(seed);
    ASSERT_NE(kernel.module, nullptr);
    bool regions = false;
    ForEachOp(kernel.module->kernel_function().body, [&](const Op& op) {
      regions = regions || op.kind == OpKind::kRegionFold || op.kind == OpKind::kRegionScan;
    });
    if (!regions || kernel.may_fail) continue;
    std::string error;
    const auto runnable = TestKernel::Make(*kernel.module, &error);
    ASSERT_NE(runnable, nullptr) << error;
    for (const int64_t members : {1, 2, 5, 16, 1 << 20}) {
      Way way = AllWays()[0];
      way.name = "slices of " + std::to_string(members);
      way.lowering.region_slice = members;
      way.lowering.materialize_all = members % 2 == 0;
      EXPECT_EQ(runnable->Disagreement(kernel.data, {way}), "") << "seed " << seed;
    }
    ++cut;
  }
  EXPECT_GE(cut, 20);
}

}  // namespace
}  // namespace intent::testing
