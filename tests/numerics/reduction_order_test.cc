// NaN, ties, signed zeros, infinities and subnormals in reductions (seed 000 chapters 5.2 and 6),
// with the special member at every place and at lengths around every block, lane and tree that the
// lowering may choose: along rows, along columns, over both, in row groups and among threads.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/kernel_runner.h"

namespace intent::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The same matrix reduced along its last axis, its first, and both.
std::unique_ptr<TestKernel> Reductions(const std::string& kind, const std::string& identity) {
  std::string error;
  auto kernel = TestKernel::Parse(
      "kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0]>, %2: view<out, f32, [s1]>, "
      "%3: view<out, f32, [1]>) {\n"
      "  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
      "  %e = constant " +
          identity +
          " : f32\n"
          "  %a = reduce %x, %e axes [1] combine " +
          kind +
          " : tensor<f32, [s0]>\n"
          "  %b = reduce %x, %e axes [0] combine " +
          kind +
          " : tensor<f32, [s1]>\n"
          "  %c = reduce %x, %e axes [0, 1] combine " +
          kind +
          " : f32\n"
          "  %d = full %c : tensor<f32, [1]>\n"
          "  view_store %1 [:] = %a\n  view_store %2 [:] = %b\n  view_store %3 [:] = %d\n"
          "  return\n}\n",
      &error);
  EXPECT_NE(kernel, nullptr) << error;
  return kernel;
}

CallData Call(const std::vector<float>& x, int64_t rows, int64_t columns) {
  CallData data;
  const auto add = [&](std::vector<float> values, std::vector<int64_t> extents,
                       std::vector<int64_t> strides) {
    Allocation allocation{.dtype = DType::kF32};
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    allocation.bytes.assign(bytes, bytes + values.size() * sizeof(float));
    data.views.push_back({data.allocations.size(), 0, std::move(extents), std::move(strides)});
    data.allocations.push_back(std::move(allocation));
  };
  add(x, {rows, columns}, {columns, 1});
  add(std::vector<float>(static_cast<size_t>(rows)), {rows}, {1});
  add(std::vector<float>(static_cast<size_t>(columns)), {columns}, {1});
  add({0.0f}, {1}, {1});
  return data;
}

std::vector<float> Floats(const Allocation& allocation) {
  std::vector<float> values(allocation.bytes.size() / sizeof(float));
  std::copy(allocation.bytes.begin(), allocation.bytes.end(),
            reinterpret_cast<uint8_t*>(values.data()));
  return values;
}

// Shapes around vectors of 4 to 16 lanes, blocks of 8 and 64 steps on 4 accumulators, and long
// enough for several tasks.
const std::pair<int64_t, int64_t> kShapes[] = {{1, 1},   {3, 5},    {4, 16},  {7, 33},
                                               {2, 257}, {130, 19}, {9, 1025}};

// The ways that differ in order: all of them on small matrices, fewer on large ones.
bool Skips(const Way& way, size_t elements) { return elements > 3000 && way.target.empty(); }

// `special` stands at one place of a matrix of `rest`; its row, its column and the whole are
// expected to give `expected`, everything else `rest`.
void ExpectDominates(const std::string& kind, const std::string& identity, float rest,
                     float special, float expected) {
  const auto kernel = Reductions(kind, identity);
  ASSERT_NE(kernel, nullptr);
  const auto same = [](float a, float b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  };
  for (const auto& [rows, columns] : kShapes) {
    const size_t elements = static_cast<size_t>(rows * columns);
    const size_t step = std::max<size_t>(1, elements / 7);
    for (size_t place = 0; place < elements; place += step) {
      std::vector<float> x(elements, rest);
      x[place] = special;
      const CallData data = Call(x, rows, columns);
      for (const Way& way : AllWays()) {
        if (Skips(way, elements)) continue;
        const Outcome outcome = kernel->Run(data, way);
        ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
        const auto row = Floats(outcome.allocations[1]), column = Floats(outcome.allocations[2]);
        const auto where = [&] {
          return kind + " of " + std::to_string(rows) + "x" + std::to_string(columns) + " at " +
                 std::to_string(place) + ", " + way.name;
        };
        for (size_t i = 0; i < row.size(); ++i) {
          const bool hit = i == place / static_cast<size_t>(columns);
          ASSERT_TRUE(same(row[i], hit ? expected : rest)) << where() << ": " << row[i];
        }
        for (size_t i = 0; i < column.size(); ++i) {
          const bool hit = i == place % static_cast<size_t>(columns);
          ASSERT_TRUE(same(column[i], hit ? expected : rest)) << where() << ": " << column[i];
        }
        ASSERT_TRUE(same(Floats(outcome.allocations[3])[0], expected)) << where();
      }
    }
  }
}

TEST(ReductionOrder, NanWinsEveryMaximum) { ExpectDominates("maximum", "-inf", kInf, kNan, kNan); }
TEST(ReductionOrder, NanWinsEveryMinimum) { ExpectDominates("minimum", "inf", -kInf, kNan, kNan); }
TEST(ReductionOrder, NanSpoilsItsSumsAndNoOthers) { ExpectDominates("add", "0.0", 0, kNan, kNan); }
TEST(ReductionOrder, PlusZeroIsTheGreaterZero) {
  ExpectDominates("maximum", "-inf", -0.0f, 0.0f, 0.0f);
}
TEST(ReductionOrder, MinusZeroIsTheLesserZero) {
  ExpectDominates("minimum", "inf", 0.0f, -0.0f, -0.0f);
}
TEST(ReductionOrder, SubnormalsAreAddedNotFlushed) {
  ExpectDominates("add", "0.0", 0, 0x1p-149f, 0x1p-149f);
  ExpectDominates("maximum", "-inf", 0, 0x1p-149f, 0x1p-149f);
}

TEST(ReductionOrder, OppositeInfinitiesGiveNanWhereverTheyStand) {
  const auto kernel = Reductions("add", "0.0");
  ASSERT_NE(kernel, nullptr);
  for (const auto& [rows, columns] : kShapes) {
    const size_t elements = static_cast<size_t>(rows * columns);
    if (columns < 2) continue;
    for (size_t place = 1; place < elements; place += std::max<size_t>(1, elements / 5)) {
      std::vector<float> x(elements, 1);
      x[0] = kInf;
      x[place] = -kInf;
      const CallData data = Call(x, rows, columns);
      for (const Way& way : AllWays()) {
        if (Skips(way, elements)) continue;
        const Outcome outcome = kernel->Run(data, way);
        ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
        ASSERT_TRUE(std::isnan(Floats(outcome.allocations[3])[0])) << way.name << " " << place;
      }
    }
  }
}

// The lowest index among equals, and of the first NaN.
TEST(ReductionOrder, TiesOfArgMaxGoToTheLowestIndex) {
  std::string error;
  const auto kernel = TestKernel::Parse(
      "kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0]>, %2: view<out, f32, [s1]>, "
      "%3: view<out, f32, [1]>) {\n"
      "  %zero = constant 0 : index\n  %one = constant 1 : index\n"
      "  %n = dim %0 axis 1 : index\n  %all = domain %zero, %n, %one : domain<[s1]>\n"
      "  %i = indices %all : tensor<index, [s1]>\n"
      "  %ii = broadcast %i : tensor<index, [s0, s1]>\n"
      "  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
      "  %least = constant -inf : f32\n  %last = constant 9223372036854775807 : index\n"
      "  %identity = make_tuple %least, %last : tuple<f32, index>\n"
      "  %members = make_tuple %x, %ii : tuple<tensor<f32, [s0, s1]>, tensor<index, [s0, s1]>>\n"
      "  %r = reduce %members, %identity axes [1] combine arg_max : "
      "tuple<tensor<f32, [s0]>, tensor<index, [s0]>>\n"
      "  %k = extract %r axis 1 : tensor<index, [s0]>\n  %f = cast %k : tensor<f32, [s0]>\n"
      "  view_store %1 [:] = %f\n"
      "  %z = constant 0.0 : f32\n  %zs = full %z : tensor<f32, [s1]>\n"
      "  view_store %2 [:] = %zs\n  %z1 = full %z : tensor<f32, [1]>\n"
      "  view_store %3 [:] = %z1\n  return\n}\n",
      &error);
  ASSERT_NE(kernel, nullptr) << error;
  for (const auto& [rows, columns] : kShapes) {
    const size_t elements = static_cast<size_t>(rows * columns);
    for (float special : {2.0f, kNan}) {
      std::vector<float> x(elements, 1), expected;
      for (int64_t row = 0; row < rows; ++row) {
        // Two equal members far apart, the first at a place that walks along.
        const int64_t first = row * 5 % columns;
        expected.push_back(static_cast<float>(first));
        x[static_cast<size_t>(row * columns + first)] = special;
        x[static_cast<size_t>((row + 1) * columns - 1)] = special;
      }
      const CallData data = Call(x, rows, columns);
      for (const Way& way : AllWays()) {
        if (Skips(way, elements)) continue;
        const Outcome outcome = kernel->Run(data, way);
        ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
        ASSERT_EQ(Floats(outcome.allocations[1]), expected) << way.name << " " << columns;
      }
    }
  }
}

// Two reductions of one row and what they normalise: a group that runs row by row.
TEST(ReductionOrder, RowGroupsKeepNanInItsRow) {
  std::string error;
  const auto kernel = TestKernel::Parse(
      "kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0, s1]>) {\n"
      "  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
      "  %least = constant -inf : f32\n  %zero = constant 0.0 : f32\n"
      "  %m = reduce %x, %least axes [1] combine maximum : tensor<f32, [s0]>\n"
      "  %m1 = reshape %m : tensor<f32, [s0, 1]>\n"
      "  %mm = broadcast %m1 : tensor<f32, [s0, s1]>\n"
      "  %d = binary sub %x, %mm : tensor<f32, [s0, s1]>\n"
      "  %s = reduce %d, %zero axes [1] combine add : tensor<f32, [s0]>\n"
      "  %s1 = reshape %s : tensor<f32, [s0, 1]>\n"
      "  %ss = broadcast %s1 : tensor<f32, [s0, s1]>\n"
      "  %r = binary add %d, %ss : tensor<f32, [s0, s1]>\n"
      "  view_store %1 [:, :] = %r\n  return\n}\n",
      &error);
  ASSERT_NE(kernel, nullptr) << error;
  constexpr int64_t kRows = 23, kColumns = 41;
  for (int64_t place = 0; place < kRows * kColumns; place += 97) {
    std::vector<float> x(kRows * kColumns, 3);
    x[static_cast<size_t>(place)] = kNan;
    CallData data = Call(x, kRows, kColumns);
    data.allocations.resize(2);
    data.views.resize(2);
    data.allocations[1].bytes = data.allocations[0].bytes;
    data.views[1].extents = {kRows, kColumns};
    data.views[1].strides = {kColumns, 1};
    for (const Way& way : AllWays()) {
      const Outcome outcome = kernel->Run(data, way);
      ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
      const auto got = Floats(outcome.allocations[1]);
      for (size_t i = 0; i < got.size(); ++i) {
        const bool spoiled = static_cast<int64_t>(i) / kColumns == place / kColumns;
        ASSERT_EQ(std::isnan(got[i]), spoiled) << way.name << " " << place << " " << i;
        if (!spoiled) {
          ASSERT_EQ(got[i], 0) << way.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace intent::testing
