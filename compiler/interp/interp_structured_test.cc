// Reductions, scans, contractions and formats (language.md chapters 7 to 10 and 15).

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "compiler/interp/test_kernel.h"

namespace intent::interp::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Uniform(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(engine);
  return values;
}

TEST(Reduce, AxesInAnyPositionAndEmptyGivesTheIdentity) {
  const Kernel kernel(
      "%x: view<in, i32, [s0, s1, s2]>, %outer: view<out, i32, [s1]>, %last: view<out, i32, [s0, "
      "s1]>, %all: view<out, i32, []>",
      R"(
    %v = view_load %x [:, :, :] : tensor<i32, [s0, s1, s2]>
    %0 = constant 0 : i32
    %least = constant -2147483648 : i32
    %1 = reduce %v, %0 axes [0, 2] combine add : tensor<i32, [s1]>
    view_store %outer [:] = %1
    %2 = reduce %v, %least axes [2] combine maximum : tensor<i32, [s0, s1]>
    view_store %last [:, :] = %2
    %3 = reduce %v, %0 axes [0, 1, 2] combine add : i32
    view_store %all [] = %3)");
  std::vector<int32_t> x(2 * 3 * 5), outer(3), last(6), all(1);
  std::iota(x.begin(), x.end(), 0);
  kernel.Run({View(x, {2, 3, 5}), View(outer), View(last, {2, 3}), View(all, {})});
  EXPECT_THAT(outer, ElementsAre(95, 145, 195));
  EXPECT_THAT(last, ElementsAre(4, 9, 14, 19, 24, 29));
  EXPECT_THAT(all, ElementsAre(435));
  kernel.Run({View(x, {2, 3, 0}), View(outer), View(last, {2, 3}), View(all, {})});
  EXPECT_THAT(outer, Each(0));
  EXPECT_THAT(last, Each(INT32_MIN));
  kernel.Run({View(x, {0, 0, 5}), View(outer, {0}), View(last, {0, 0}), View(all, {})});
}

TEST(Reduce, ALongSumKeepsItsErrorBound) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %s: view<out, f32, []>, %p: view<out, f32, [s0]>",
                      R"(
    %v = view_load %x [:] : tensor<f32, [s0]>
    %0 = constant 0.0 : f32
    %1 = reduce %v, %0 axes [0] combine add : f32
    view_store %s [] = %1
    %2 = scan %v, %0 axis 0 inclusive combine add : tensor<f32, [s0]>
    view_store %p [:] = %2)");
  std::vector<float> x(1000003), s(1), p(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f + static_cast<float>(i % 7) * 0x1p-23f;
  kernel.Run({View(x), View(s, {}), View(p)});
  double exact = 0;
  const double unit = 0x1p-24, bound = (32 + std::log2(static_cast<double>(x.size()))) * unit;
  for (size_t i = 0; i < x.size(); ++i) {
    exact += x[i];
    ASSERT_LE(std::fabs(p[i] - exact), bound * exact) << i;
  }
  EXPECT_LE(std::fabs(s[0] - exact), bound * exact);
}

TEST(Reduce, ArgMaxTakesTheLowestIndexOfEqualsAndOfNans) {
  const Kernel kernel(
      "%x: view<in, f32, [s0, s1]>, %v: view<out, f32, [s0]>, %i: view<out, index, [s0]>", R"(
    %t = view_load %x [:, :] : tensor<f32, [s0, s1]>
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = dim %x axis 1 : index
    %d = domain %0, %n, %1 : domain<[s1]>
    %c = indices %d : tensor<index, [s1]>
    %cs = broadcast %c : tensor<index, [s0, s1]>
    %members = make_tuple %t, %cs : tuple<tensor<f32, [s0, s1]>, tensor<index, [s0, s1]>>
    %least = constant -inf : f32
    %far = constant 9223372036854775807 : index
    %start = make_tuple %least, %far : tuple<f32, index>
    %r = reduce %members, %start axes [1] combine arg_max : tuple<tensor<f32, [s0]>, tensor<index, [s0]>>
    %a = extract %r axis 0 : tensor<f32, [s0]>
    %b = extract %r axis 1 : tensor<index, [s0]>
    view_store %v [:] = %a
    view_store %i [:] = %b)");
  std::vector<float> x{1, 5, 5, 2, 3, kNan, 9, kNan, -kInf, -kInf, -kInf, -kInf}, v(3);
  std::vector<int64_t> i(3);
  kernel.Run({View(x, {3, 4}), View(v), View(i, {3}, {}, 0, DType::kIndex)});
  EXPECT_THAT(i, ElementsAre(1, 1, 0));
  EXPECT_EQ(v[0], 5);
  EXPECT_TRUE(std::isnan(v[1]));
  EXPECT_EQ(v[2], -kInf);
}

constexpr char kMoments[] = R"(
    %v = view_load %x [:] : tensor<f64, [s0]>
    %0 = constant 0.0 : f64
    %1 = constant 1.0 : f64
    %z = broadcast %0 : tensor<f64, [s0]>
    %o = broadcast %1 : tensor<f64, [s0]>
    %m = make_record %o, %v, %z : record<n: tensor<f64, [s0]>, mean: tensor<f64, [s0]>, m2: tensor<f64, [s0]>>
    %e = make_record %0, %0, %0 : record<n: f64, mean: f64, m2: f64>
    %r = reduce %m, %e axes [0] combine (%a: record<n: f64, mean: f64, m2: f64>, %b: record<n: f64, mean: f64, m2: f64>) {
      %s = call f0 %a, %b : record<n: f64, mean: f64, m2: f64>
      yield %s
    } : record<n: f64, mean: f64, m2: f64>
    %i0 = constant 0 : index
    %i1 = constant 1 : index
    %mean = extract %r axis 1 : f64
    %m2 = extract %r axis 2 : f64
    view_store %y [%i0] = %mean
    view_store %y [%i1] = %m2)";

// The helper once as pointwise operations, which run on arrays, and once with a branch.
constexpr char kPointwiseMerge[] = R"(
fn f0(%a: record<n: f64, mean: f64, m2: f64>, %b: record<n: f64, mean: f64, m2: f64>) -> record<n: f64, mean: f64, m2: f64> {
    %an = extract %a axis 0 : f64
    %bn = extract %b axis 0 : f64
    %am = extract %a axis 1 : f64
    %bm = extract %b axis 1 : f64
    %a2 = extract %a axis 2 : f64
    %b2 = extract %b axis 2 : f64
    %n = binary add %an, %bn : f64
    %one = constant 1.0 : f64
    %d = binary maximum %n, %one : f64
    %diff = binary sub %bm, %am : f64
    %w = binary div %bn, %d : f64
    %step = binary mul %diff, %w : f64
    %mean = binary add %am, %step : f64
    %sq = binary mul %diff, %step : f64
    %t = binary mul %sq, %an : f64
    %u = binary add %a2, %b2 : f64
    %m2 = binary add %u, %t : f64
    %r = make_record %n, %mean, %m2 : record<n: f64, mean: f64, m2: f64>
    return %r
}
)";

TEST(Reduce, RecordsOfStateOnArraysAndOneByOne) {
  std::string branched = kPointwiseMerge;
  const std::string plain = "%d = binary maximum %n, %one : f64";
  branched.replace(branched.find(plain), plain.size(), R"(
    %big = compare gt %n, %one : bool
    %p = if %big {
      yield %n
    } else {
      yield %one
    } : tuple<f64>
    %d = extract %p axis 0 : f64)");
  for (const std::string& merge : {std::string(kPointwiseMerge), branched}) {
    const Kernel kernel("%x: view<in, f64, [s0]>, %y: view<out, f64, [2]>", kMoments, merge);
    std::vector<double> x(1001), y(2);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
    kernel.Run({View(x), View(y)});
    EXPECT_NEAR(y[0], 500, 1e-9);
    EXPECT_NEAR(y[1], 1001.0 * (1001.0 * 1001.0 - 1) / 12, 1e-3);
    kernel.Run({View(x, {0}), View(y)});
    EXPECT_THAT(y, ElementsAre(0, 0));
  }
}

// The combine transposes twice: it needs whole slices.
TEST(Reduce, RetainedSlicesAsState) {
  const Kernel kernel("%x: view<in, i64, [s0, 2, 2]>, %y: view<out, i64, [2, 2]>", R"(
    %v = view_load %x [:, :, :] : tensor<i64, [s0, 2, 2]>
    %0 = constant 0 : i64
    %id = full %0 : tensor<i64, [2, 2]>
    %r = reduce %v, %id axes [0] combine (%a: tensor<i64, [2, 2]>, %b: tensor<i64, [2, 2]>) {
      %t = transpose %b axes [1, 0] : tensor<i64, [2, 2]>
      %u = transpose %t axes [1, 0] : tensor<i64, [2, 2]>
      %m = binary add %a, %u : tensor<i64, [2, 2]>
      yield %m
    } : tensor<i64, [2, 2]>
    view_store %y [:, :] = %r)");
  std::vector<int64_t> x(5 * 4), y(4);
  std::iota(x.begin(), x.end(), 0);
  kernel.Run({View(x, {5, 2, 2}), View(y, {2, 2})});
  EXPECT_THAT(y, ElementsAre(40, 45, 50, 55));
}

TEST(Scan, FourVariantsAlongAnInnerAxis) {
  const Kernel kernel(
      "%x: view<in, i32, [s0, s1]>, %a: view<out, i32, [s0, s1]>, %b: view<out, i32, [s0, s1]>,"
      "%c: view<out, i32, [s0, s1]>, %d: view<out, i32, [s0, s1]>",
      R"(
    %v = view_load %x [:, :] : tensor<i32, [s0, s1]>
    %0 = constant 0 : i32
    %1 = scan %v, %0 axis 1 inclusive combine add : tensor<i32, [s0, s1]>
    view_store %a [:, :] = %1
    %2 = scan %v, %0 axis 1 combine add : tensor<i32, [s0, s1]>
    view_store %b [:, :] = %2
    %3 = scan %v, %0 axis 1 inclusive reverse combine add : tensor<i32, [s0, s1]>
    view_store %c [:, :] = %3
    %4 = scan %v, %0 axis 1 reverse combine add : tensor<i32, [s0, s1]>
    view_store %d [:, :] = %4)");
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, a(10), b(10), c(10), d(10);
  kernel.Run({View(x, {2, 5}), View(a, {2, 5}), View(b, {2, 5}), View(c, {2, 5}), View(d, {2, 5})});
  EXPECT_THAT(a, ElementsAre(1, 3, 6, 10, 15, 6, 13, 21, 30, 40));
  EXPECT_THAT(b, ElementsAre(0, 1, 3, 6, 10, 0, 6, 13, 21, 30));
  EXPECT_THAT(c, ElementsAre(15, 14, 12, 9, 5, 40, 34, 27, 19, 10));
  EXPECT_THAT(d, ElementsAre(14, 12, 9, 5, 0, 34, 27, 19, 10, 0));
  kernel.Run({View(x, {2, 0}), View(a, {2, 0}), View(b, {2, 0}), View(c, {2, 0}), View(d, {2, 0})});
}

// Affine maps x -> a x + b modulo 2^32 do not commute: order and operand sides show.
TEST(Scan, ProductStateKeepsOrderAndReverseTakesLaterElementsLeft) {
  std::string body = R"(
    %va = view_load %a [:] : tensor<u32, [s0]>
    %vb = view_load %b [:] : tensor<u32, [s0]>
    %maps = make_tuple %va, %vb : tuple<tensor<u32, [s0]>, tensor<u32, [s0]>>
    %0 = constant 0 : u32
    %1 = constant 1 : u32
    %id = make_tuple %1, %0 : tuple<u32, u32>
    %r = scan %maps, %id axis 0 inclusive MODE combine (%f: tuple<u32, u32>, %g: tuple<u32, u32>) {
      %fa = extract %f axis 0 : u32
      %fb = extract %f axis 1 : u32
      %ga = extract %g axis 0 : u32
      %gb = extract %g axis 1 : u32
      %ha = binary mul %fa, %ga : u32
      %t = binary mul %ga, %fb : u32
      %hb = binary add %t, %gb : u32
      %h = make_tuple %ha, %hb : tuple<u32, u32>
      yield %h
    } : tuple<tensor<u32, [s0]>, tensor<u32, [s0]>>
    %p = extract %r axis 1 : tensor<u32, [s0]>
    view_store %y [:] = %p)";
  std::vector<uint32_t> a(37), b(37), y(37);
  for (uint32_t i = 0; i < 37; ++i) {
    a[i] = 3 + 2654435761u * i;
    b[i] = 40503u * i + 7;
  }
  for (const bool reverse : {false, true}) {
    std::string text = body;
    text.replace(text.find("MODE"), 4, reverse ? "reverse" : "");
    const Kernel kernel(
        "%a: view<in, u32, [s0]>, %b: view<in, u32, [s0]>, %y: view<out, u32, [s0]>", text);
    kernel.Run({View(a), View(b), View(y)});
    uint32_t fa = 1, fb = 0;
    for (size_t step = 0; step < 37; ++step) {
      const size_t i = reverse ? 36 - step : step;
      fb = a[i] * fb + b[i];
      fa = fa * a[i];
      ASSERT_EQ(y[i], fb) << reverse << " " << i;
    }
  }
}

TEST(Contract, BatchAndReducePairsInAnyPosition) {
  // lhs [k, b, m], rhs [n, b, k] -> [b, m, n]
  const Kernel kernel(
      "%x: view<in, f32, [4, 2, 3]>, %w: view<in, f32, [5, 2, 4]>,"
      "%y: view<out, f32, [2, 3, 5]>",
      R"(
    %a = view_load %x [:, :, :] : tensor<f32, [4, 2, 3]>
    %b = view_load %w [:, :, :] : tensor<f32, [5, 2, 4]>
    %c = contract %a, %b reduce [(0, 2)] batch [(1, 1)] : tensor<f32, [2, 3, 5]>
    view_store %y [:, :, :] = %c)");
  std::vector<float> x(24), w(40), y(30);
  std::iota(x.begin(), x.end(), 0.0f);
  std::iota(w.begin(), w.end(), 1.0f);
  kernel.Run({View(x, {4, 2, 3}), View(w, {5, 2, 4}), View(y, {2, 3, 5})});
  for (size_t b = 0; b < 2; ++b) {
    for (size_t m = 0; m < 3; ++m) {
      for (size_t n = 0; n < 5; ++n) {
        float expected = 0;
        for (size_t k = 0; k < 4; ++k) expected += x[k * 6 + b * 3 + m] * w[n * 8 + b * 4 + k];
        ASSERT_EQ(y[b * 15 + m * 5 + n], expected);
      }
    }
  }
}

TEST(Contract, ABatchAxisBehindAFreeOneStaysInPlace) {
  const Kernel kernel(
      "%x: view<in, i32, [3, 2, 4]>, %w: view<in, i32, [2, 4]>,"
      "%y: view<out, i32, [3, 2]>",
      R"(
    %a = view_load %x [:, :, :] : tensor<i32, [3, 2, 4]>
    %b = view_load %w [:, :] : tensor<i32, [2, 4]>
    %c = contract %a, %b reduce [(2, 1)] batch [(1, 0)] : tensor<i32, [3, 2]>
    view_store %y [:, :] = %c)");
  std::vector<int32_t> x(24), w{1, 0, 0, 0, 0, 0, 0, 1}, y(6);
  std::iota(x.begin(), x.end(), 0);
  kernel.Run({View(x, {3, 2, 4}), View(w, {2, 4}), View(y, {3, 2})});
  EXPECT_THAT(y, ElementsAre(0, 7, 8, 15, 16, 23));
}

TEST(Contract, NarrowIntegersWidenAndWrap) {
  const Kernel kernel(
      "%x: view<in, i8, [s0]>, %w: view<in, i8, [s0]>, %y: view<out, i32, []>,"
      "%z: view<out, i8, []>",
      R"(
    %a = view_load %x [:] : tensor<i8, [s0]>
    %b = view_load %w [:] : tensor<i8, [s0]>
    %c = contract %a, %b reduce [(0, 0)] : tensor<i32, []>
    view_store %y [] = %c
    %d = contract %a, %b reduce [(0, 0)] : tensor<i8, []>
    view_store %z [] = %d)");
  std::vector<int8_t> x(1000, -128), w(1000, 127), z(1);
  std::vector<int32_t> y(1);
  kernel.Run({View(x), View(w), View(y, {}), View(z, {})});
  EXPECT_EQ(y[0], 1000 * -128 * 127);
  EXPECT_EQ(z[0], static_cast<int8_t>(1000 * -128 * 127));
  kernel.Run({View(x, {0}), View(w, {0}), View(y, {}), View(z, {})});
  EXPECT_EQ(y[0], 0);
}

TEST(Contract, RaggedFloatProductWithinItsBound) {
  const Kernel kernel(
      "%x: view<in, f32, [s0, s1]>, %w: view<in, f32, [s1, s2]>,"
      "%y: view<out, f32, [s0, s2]>",
      R"(
    %a = view_load %x [:, :] : tensor<f32, [s0, s1]>
    %b = view_load %w [:, :] : tensor<f32, [s1, s2]>
    %c = contract %a, %b reduce [(1, 0)] : tensor<f32, [s0, s2]>
    view_store %y [:, :] = %c)");
  constexpr size_t kM = 257, kK = 513, kN = 129;
  std::vector<float> x = Uniform(kM * kK, 1), w = Uniform(kK * kN, 2), y(kM * kN);
  kernel.Run({View(x, {kM, kK}), View(w, {kK, kN}), View(y, {kM, kN})});
  for (size_t m = 0; m < kM; m += 16) {
    for (size_t n = 0; n < kN; ++n) {
      double exact = 0, size = 0;
      for (size_t k = 0; k < kK; ++k) {
        const double term = static_cast<double>(x[m * kK + k]) * w[k * kN + n];
        exact += term;
        size += std::fabs(term);
      }
      ASSERT_LE(std::fabs(y[m * kN + n] - exact), (32 + 9) * 0x1p-24 * size);
    }
  }
}

TEST(Regions, FoldUsesTheLawsAndCoordinatesStayAbsolute) {
  const Kernel kernel("%x: view<in, i64, [s0]>, %y: view<out, i64, []>", R"(
    %v = view_load %x [:] : tensor<i64, [s0]>
    %i0 = constant 0 : index
    %i1 = constant 1 : index
    %n = dim %x axis 0 : index
    %d = domain %i0, %n, %i1 : domain<[s0]>
    %at = indices %d : tensor<index, [s0]>
    %both = make_tuple %v, %at : tuple<tensor<i64, [s0]>, tensor<index, [s0]>>
    %0 = constant 0 : i64
    %r = region_fold %both, %0 axis 0 slice s1 summarize (%a: tensor<i64, [s1]>, %b: tensor<index, [s1]>) {
      %c = cast %b : tensor<i64, [s1]>
      %m = binary mul %a, %c : tensor<i64, [s1]>
      %z = constant 0 : i64
      %s = reduce %m, %z axes [0] combine add : i64
      yield %s
    } combine (%p: i64, %q: i64) {
      %t = binary add %p, %q : i64
      yield %t
    } : i64
    view_store %y [] = %r)");
  for (int64_t n : {0, 1, 2, 3, 10}) {
    std::vector<int64_t> x(10, 3), y{-1};
    kernel.Run({View(x, {n}), View(y, {})});
    EXPECT_EQ(y[0], 3 * n * (n - 1) / 2) << n;
  }
}

TEST(Regions, ScanPropagatesStateIntoEachSlice) {  // a running sum that starts at 100
  const Kernel kernel("%x: view<in, i64, [s0]>, %y: view<out, i64, [s0]>, %z: view<out, i64, []>",
                      R"(
    %v = view_load %x [:] : tensor<i64, [s0]>
    %0 = constant 0 : i64
    %start = constant 100 : i64
    %r = region_scan %v, %0, %start axis 0 slice s1 summarize (%a: tensor<i64, [s1]>) {
      %z0 = constant 0 : i64
      %s = reduce %a, %z0 axes [0] combine add : i64
      yield %s
    } combine (%p: i64, %q: i64) {
      %t = binary add %p, %q : i64
      yield %t
    } apply (%u: i64, %w: i64) {
      %k = binary add %u, %w : i64
      yield %k
    } emit (%b: tensor<i64, [s1]>, %state: i64) {
      %z1 = constant 0 : i64
      %c = scan %b, %z1 axis 0 inclusive combine add : tensor<i64, [s1]>
      %e = broadcast %state : tensor<i64, [s1]>
      %f = binary add %c, %e : tensor<i64, [s1]>
      yield %f
    } : tuple<tensor<i64, [s0]>, i64>
    %out = extract %r axis 0 : tensor<i64, [s0]>
    view_store %y [:] = %out
    %last = extract %r axis 1 : i64
    view_store %z [] = %last)");
  std::vector<int64_t> x{1, 2, 3, 4, 5, 6, 7}, y(7), z(1);
  kernel.Run({View(x), View(y), View(z, {})});
  EXPECT_THAT(y, ElementsAre(101, 103, 106, 110, 115, 121, 128));
  EXPECT_EQ(z[0], 128);
  kernel.Run({View(x, {0}), View(y, {0}), View(z, {})});
  EXPECT_EQ(z[0], 100);
}

TEST(Formats, HistogramCountsActiveMembers) {
  const Kernel kernel("%x: view<in, i16, [s0]>, %ok: view<in, bool, [s0]>, %y: view<out, u8, [4]>",
                      R"(
    %v = view_load %x [:] : tensor<i16, [s0]>
    %m = view_load %ok [:] : tensor<bool, [s0]>
    %b = constant 4 : index
    %h = histogram %v, %b, %m : tensor<u8, [4]>
    view_store %y [:] = %h)");
  std::vector<int16_t> x(300, 2);
  std::vector<uint8_t> ok(300, 1), y(4);
  x[0] = -5;
  ok[0] = 0;
  x[1] = 3;
  const std::vector<Argument> arguments{View(x), Bools(ok, {300}), View(y)};
  kernel.Run(arguments);
  EXPECT_THAT(y, ElementsAre(0, 0, 298 - 256, 1));
  ok[0] = 1;
  EXPECT_EQ(kernel.TryRun(arguments)->kind, ErrorKind::kHistogramValue);
}

TEST(Formats, SparseTwoOfFour) {
  const Kernel kernel(
      "%x: view<in, f32, [1, 4]>, %a: view<in, index, [1, 2]>,"
      "%b: view<in, index, [1, 2]>, %w: view<in, f32, [8, 1]>, %y: view<out, f32, "
      "[1, 1]>",
      R"(
    %v = view_load %x [:, :] : tensor<f32, [1, 4]>
    %first = view_load %a [:, :] : tensor<index, [1, 2]>
    %second = view_load %b [:, :] : tensor<index, [1, 2]>
    %m = make_record %first, %second : record<first: tensor<index, [1, 2]>, second: tensor<index, [1, 2]>>
    %d = view_load %w [:, :] : tensor<f32, [8, 1]>
    %r = sparse_contract %v, %m, %d format two_of_four axis 1 reduce [(1, 0)] : tensor<f32, [1, 1]>
    view_store %y [:, :] = %r)");
  std::vector<float> x{1, 2, 3, 4}, w{1, 10, 100, 1000, 1e4f, 1e5f, 1e6f, 1e7f}, y(1);
  std::vector<int64_t> a{0, 1}, b{2, 3};
  const std::vector<Argument> arguments{View(x, {1, 4}), View(a, {1, 2}, {}, 0, DType::kIndex),
                                        View(b, {1, 2}, {}, 0, DType::kIndex), View(w, {8, 1}),
                                        View(y, {1, 1})};
  kernel.Run(arguments);
  EXPECT_EQ(y[0], 1 * 1 + 2 * 100 + 3 * 1e5f + 4 * 1e7f);
  b[1] = 1;
  EXPECT_EQ(kernel.TryRun(arguments)->kind, ErrorKind::kSparseMetadata);
}

TEST(Formats, ScaledE2M1AgainstE4M3) {
  const Kernel kernel(
      "%x: view<in, u8, [1, 2, 1]>, %xs: view<in, u8, [1, 2]>,"
      "%w: view<in, f8e4m3fn, [2, 2, 1]>, %ws: view<in, u8, [1, 2]>,"
      "%y: view<out, f32, [1, 1]>",
      R"(
    %a = view_load %x [:, :, :] : tensor<u8, [1, 2, 1]>
    %as = view_load %xs [:, :] : tensor<u8, [1, 2]>
    %b = view_load %w [:, :, :] : tensor<f8e4m3fn, [2, 2, 1]>
    %bs = view_load %ws [:, :] : tensor<u8, [1, 2]>
    %r = scaled_contract %a, %as, %b, %bs lhs e2m1_e8m0 rhs e4m3_e8m0 group 2 : tensor<f32, [1, 1]>
    view_store %y [:, :] = %r)");
  // lhs: 0.5, -1 scaled by 2, then 6, 0 scaled by 0.5; rhs: 1, 2, 1, 1 scaled by 1 and 4.
  std::vector<uint8_t> x{0xA1, 0x07}, xs{128, 126}, ws{127, 129}, w{0x38, 0x40, 0x38, 0x38};
  std::vector<float> y(1);
  kernel.Run({View(x, {1, 2, 1}), View(xs, {1, 2}), View(w, {2, 2, 1}, {}, 0, DType::kF8E4M3FN),
              View(ws, {1, 2}), View(y, {1, 1})});
  EXPECT_EQ(y[0], 0.5f * 2 * 1 - 1.0f * 2 * 2 + 6 * 0.5f * 1 * 4);
}

TEST(Formats, QuantisedDotOfAQuantisedActivation) {
  const Kernel kernel(
      "%w: view<in, u8, [1, 144]>, %x: view<in, f32, [1, 256]>,"
      "%y: view<out, f32, []>, %q: view<out, u8, [1, 292]>",
      R"(
    %a = view_load %w [:, :] : tensor<u8, [1, 144]>
    %v = view_load %x [:, :] : tensor<f32, [1, 256]>
    %b = quantize %v lhs q8_k rhs q8_k : tensor<u8, [1, 292]>
    view_store %q [:, :] = %b
    %r = quantized_dot %a, %b lhs q4_k rhs q8_k : tensor<f32, []>
    view_store %y [] = %r)");
  std::vector<uint8_t> w(144, 0), q(292);
  w[1] = 0x3c;                                   // d = 1
  w[3] = 0x38;                                   // dmin = 0.5
  w[4] = 2;                                      // sc[0] = 2
  w[8] = 3;                                      // m[0] = 3
  for (size_t i = 16; i < 48; ++i) w[i] = 0x05;  // q = 5 in the first 32 elements
  std::vector<float> x(256, 0.0f), y(1);
  x[0] = -127;  // the extreme maps to -127 by a scale of 1
  x[1] = 2.5f;  // a tie, to the even 2
  x[2] = 100;
  kernel.Run({View(w, {1, 144}), View(x, {1, 256}), View(y, {}), View(q, {1, 292})});
  EXPECT_EQ(static_cast<int8_t>(q[4]), -127);
  EXPECT_EQ(static_cast<int8_t>(q[5]), 2);
  EXPECT_EQ(static_cast<int16_t>(q[260] | q[261] << 8), -25);
  EXPECT_EQ(y[0], 2 * 5 * -25 - 0.5f * 3 * -25);
}

}  // namespace
}  // namespace intent::interp::testing
