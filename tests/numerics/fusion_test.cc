// Where a product and a sum may be rounded together, and where not (seed 000 chapters 5.3 to 5.5).
// Permissions show in the tile program; prohibitions show in every tile program and, where another
// use tells, in the results of every way to run the kernel.

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/lower/lower.h"
#include "compiler/tile/print.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {
namespace {

std::unique_ptr<TestKernel> Parsed(const std::string& text) {
  std::string error;
  auto kernel = TestKernel::Parse(text, &error);
  EXPECT_NE(kernel, nullptr) << error << "\n" << text;
  return kernel;
}

size_t FusedIn(const TestKernel& kernel, const lower::LowerOptions& options) {
  const std::string text = tile::Print(*lower::LowerToTiles(kernel.module(), options).program);
  size_t count = 0;
  for (size_t at = text.find("= fma("); at != std::string::npos; at = text.find("= fma(", at + 1)) {
    ++count;
  }
  return count;
}

bool Fuses(const std::string& text) {
  const auto kernel = Parsed(text);
  return kernel != nullptr && FusedIn(*kernel, {}) > 0;
}

// In no lowering, whatever is materialised and however wide the vectors are.
bool NeverFuses(const std::string& text) {
  const auto kernel = Parsed(text);
  if (kernel == nullptr) return false;
  for (int bits : {0, 128, 512}) {
    for (bool all : {false, true}) {
      for (bool groups : {false, true}) {
        lower::LowerOptions options;
        options.vector_bits = bits;
        options.materialize_all = all;
        options.row_groups = groups;
        if (FusedIn(*kernel, options) > 0) return false;
      }
    }
  }
  return true;
}

// Three inputs of one dtype, %a, %b and %c, and one output of another.
std::string Elementwise(const std::string& body, const std::string& dtype = "f32",
                        const std::string& out = "f32") {
  const auto load = [&](const std::string& name, int view) {
    return "  %" + name + " = view_load %" + std::to_string(view) + " [:] : tensor<" + dtype +
           ", [s0]>\n";
  };
  const std::string in = "view<in, " + dtype + ", [s0]>";
  return "kernel (%0: " + in + ", %1: " + in + ", %2: " + in + ", %3: view<out, " + out +
         ", [s0]>) {\n" + load("a", 0) + load("b", 1) + load("c", 2) + body +
         "  view_store %3 [:] = %r\n  return\n}\n";
}

const char* const kProduct = "  %p = binary mul %a, %b : tensor<f32, [s0]>\n";

TEST(Fusion, SumsAndDifferencesOfProductsMayFuse) {
  for (const std::string dtype : {"f32", "f64"}) {
    const std::string type = " : tensor<" + dtype + ", [s0]>\n";
    for (const char* sum : {"add %p, %c", "add %c, %p", "sub %p, %c", "sub %c, %p"}) {
      EXPECT_TRUE(Fuses(Elementwise(
          "  %p = binary mul %a, %b" + type + "  %r = binary " + sum + type, dtype, dtype)))
          << dtype << " " << sum;
    }
  }
}

TEST(Fusion, FormatsBelowF32RoundTheirProducts) {
  for (const std::string dtype : {"f16", "bf16", "f8e5m2", "f8e4m3fn"}) {
    const std::string type = " : tensor<" + dtype + ", [s0]>\n";
    EXPECT_TRUE(NeverFuses(Elementwise(
        "  %p = binary mul %a, %b" + type + "  %r = binary add %p, %c" + type, dtype, dtype)))
        << dtype;
  }
}

TEST(Fusion, ACastBetweenKeepsTheRounding) {
  EXPECT_TRUE(NeverFuses(Elementwise(
      "  %p = binary mul %a, %b : tensor<f16, [s0]>\n  %w = cast %p : tensor<f32, [s0]>\n"
      "  %v = cast %c : tensor<f32, [s0]>\n  %r = binary add %w, %v : tensor<f32, [s0]>\n",
      "f16")));
  EXPECT_TRUE(NeverFuses(
      Elementwise(std::string(kProduct) +
                      "  %w = cast %p : tensor<f64, [s0]>\n  %v = cast %c : tensor<f64, [s0]>\n"
                      "  %r = binary add %w, %v : tensor<f64, [s0]>\n",
                  "f32", "f64")));
  EXPECT_TRUE(NeverFuses(
      Elementwise(std::string(kProduct) +
                  "  %n = cast %p : tensor<f16, [s0]>\n  %w = cast %n : tensor<f32, [s0]>\n"
                  "  %r = binary add %w, %c : tensor<f32, [s0]>\n")));
}

TEST(Fusion, ASelectBetweenKeepsTheRounding) {
  EXPECT_TRUE(NeverFuses(Elementwise(std::string(kProduct) +
                                     "  %t = compare lt %a, %b : tensor<bool, [s0]>\n"
                                     "  %s = select %t, %p, %a : tensor<f32, [s0]>\n"
                                     "  %r = binary add %s, %c : tensor<f32, [s0]>\n")));
}

TEST(Fusion, AnApproximateQuotientIsNoProduct) {
  EXPECT_TRUE(
      NeverFuses(Elementwise("  %q = binary div %a, %b approximate : tensor<f32, [s0]>\n"
                             "  %r = binary add %q, %c : tensor<f32, [s0]>\n")));
  EXPECT_TRUE(
      NeverFuses(Elementwise(std::string(kProduct) +
                             "  %e = unary exp2 %p approximate flush_to_zero : tensor<f32, [s0]>\n"
                             "  %r = binary add %e, %c : tensor<f32, [s0]>\n")));
}

TEST(Fusion, AnOrdinarySumInALoopMayFuse) {
  EXPECT_TRUE(Fuses(Elementwise(
      "  %zero = constant 0 : index\n  %three = constant 3 : index\n  %one = constant 1 : index\n"
      "  %times = domain %zero, %three, %one : domain<[3]>\n"
      "  %l = for %i = %times carry(%x = %c : tensor<f32, [s0]>) {\n"
      "    %p = binary mul %a, %b : tensor<f32, [s0]>\n"
      "    %y = binary add %x, %p : tensor<f32, [s0]>\n    yield %y\n"
      "  } : tuple<tensor<f32, [s0]>>\n  %r = extract %l axis 0 : tensor<f32, [s0]>\n")));
}

// A reduction along `axis` of a matrix of products; `between` makes %m of %p.
std::string Summed(int axis, const std::string& between, const std::string& rest = "",
                   const std::string& kind = "add") {
  const std::string kept = axis == 0 ? "s1" : "s0";
  return "kernel (%0: view<in, f32, [s0, s1]>, %1: view<in, f32, [s0, s1]>, "
         "%2: view<out, f32, [" +
         kept +
         "]>, %3: view<out, f32, [s0, s1]>) {\n"
         "  %a = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
         "  %b = view_load %1 [:, :] : tensor<f32, [s0, s1]>\n"
         "  %p = binary mul %a, %b : tensor<f32, [s0, s1]>\n" +
         between +
         "  %zero = constant 0.0 : f32\n"
         "  %r = reduce %m, %zero axes [" +
         std::to_string(axis) + "] combine " + kind + " : tensor<f32, [" + kept +
         "]>\n"
         "  view_store %2 [:] = %r\n" +
         rest + "  return\n}\n";
}

std::string Renamed(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Fusion, SumsOfProductsThatNothingElseUsesMayFuse) {
  for (int axis : {0, 1}) {
    EXPECT_TRUE(Fuses(Renamed(Summed(axis, ""), "%m", "%p")));
  }
}

TEST(Fusion, ProjectionsMayAccompanyASumOfProducts) {
  EXPECT_TRUE(
      Fuses(Renamed(Renamed(Summed(1, "  %m = transpose %p axes [1, 0] : tensor<f32, [s1, s0]>\n"),
                            "view<out, f32, [s0]>", "view<out, f32, [s1]>"),
                    "combine add : tensor<f32, [s0]>", "combine add : tensor<f32, [s1]>")));
}

TEST(Fusion, ASecondUseOfTheProductKeepsASumApart) {
  for (int axis : {0, 1}) {
    EXPECT_TRUE(NeverFuses(Renamed(Summed(axis, "", "  view_store %3 [:, :] = %p\n"), "%m", "%p")));
    // Also where the second use is of the projection.
    EXPECT_TRUE(NeverFuses(Summed(axis, "  %m = broadcast %p : tensor<f32, [s0, s1]>\n",
                                  "  view_store %3 [:, :] = %m\n")));
  }
}

TEST(Fusion, AWideningSumTakesRoundedProducts) {
  const std::string text =
      "kernel (%0: view<in, T, [s0]>, %1: view<in, T, [s0]>, %2: view<out, U, []>) {\n"
      "  %a = view_load %0 [:] : tensor<T, [s0]>\n  %b = view_load %1 [:] : tensor<T, [s0]>\n"
      "  %p = binary mul %a, %b : tensor<T, [s0]>\n  %w = cast %p : tensor<U, [s0]>\n"
      "  %zero = constant 0.0 : U\n  %r = reduce %w, %zero axes [0] combine add : U\n"
      "  view_store %2 [] = %r\n  return\n}\n";
  EXPECT_TRUE(NeverFuses(Renamed(Renamed(text, "U", "f64"), "T", "f32")));
  EXPECT_TRUE(NeverFuses(Renamed(Renamed(text, "U", "f32"), "T", "bf16")));
}

TEST(Fusion, ASumThatStartsElsewhereTakesRoundedProducts) {
  EXPECT_TRUE(
      NeverFuses(Renamed(Renamed(Summed(1, ""), "%m", "%p"), "constant 0.0", "constant 1.0")));
}

TEST(Fusion, ExtremesOfProductsHaveNothingToFuse) {
  EXPECT_TRUE(NeverFuses(Renamed(Summed(1, "", "", "maximum"), "%m", "%p")));
}

TEST(Fusion, ScansTakeRoundedProducts) {
  for (int axis : {0, 1}) {
    EXPECT_TRUE(NeverFuses(
        "kernel (%0: view<in, f32, [s0, s1]>, %1: view<in, f32, [s0, s1]>, "
        "%2: view<out, f32, [s0, s1]>) {\n"
        "  %a = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
        "  %b = view_load %1 [:, :] : tensor<f32, [s0, s1]>\n"
        "  %p = binary mul %a, %b : tensor<f32, [s0, s1]>\n  %zero = constant 0.0 : f32\n"
        "  %r = scan %p, %zero axis " +
        std::to_string(axis) +
        " inclusive combine add : tensor<f32, [s0, s1]>\n"
        "  view_store %2 [:, :] = %r\n  return\n}\n"));
  }
}

TEST(Fusion, QuantisedRecordsRoundEveryStep) {
  EXPECT_TRUE(
      NeverFuses("kernel (%0: view<in, f32, [s0, 256]>, %1: view<out, u8, [s0, 292]>) {\n"
                 "  %x = view_load %0 [:, :] : tensor<f32, [s0, 256]>\n"
                 "  %q = quantize %x lhs q8_k rhs q8_k : tensor<u8, [s0, 292]>\n"
                 "  view_store %1 [:, :] = %q\n  return\n}\n"));
  EXPECT_TRUE(
      NeverFuses("kernel (%0: view<in, u8, [s0, 144]>, %1: view<in, u8, [s0, 292]>, %2: view<out, "
                 "f32, []>) {\n"
                 "  %w = view_load %0 [:, :] : tensor<u8, [s0, 144]>\n"
                 "  %q = view_load %1 [:, :] : tensor<u8, [s0, 292]>\n"
                 "  %r = quantized_dot %w, %q lhs q4_k rhs q8_k : tensor<f32, []>\n"
                 "  view_store %2 [] = %r\n  return\n}\n"));
}

TEST(Fusion, ContractionsMayFuseTheirProducts) {
  EXPECT_TRUE(Fuses(
      "kernel (%0: view<in, f32, [s0, s1]>, %1: view<in, f32, [s1]>, %2: view<out, f32, [s0]>) {\n"
      "  %a = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
      "  %b = view_load %1 [:] : tensor<f32, [s1]>\n"
      "  %r = contract %a, %b reduce [(1, 0)] : tensor<f32, [s0]>\n"
      "  view_store %2 [:] = %r\n  return\n}\n"));
}

CallData FloatCall(const std::vector<std::vector<float>>& inputs,
                   const std::vector<std::vector<int64_t>>& shapes) {
  CallData data;
  for (size_t i = 0; i < shapes.size(); ++i) {
    int64_t count = 1;
    for (int64_t extent : shapes[i]) count *= extent;
    std::vector<float> values = i < inputs.size() ? inputs[i] : std::vector<float>();
    values.resize(static_cast<size_t>(count));
    Allocation allocation{.dtype = DType::kF32};
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    allocation.bytes.assign(bytes, bytes + values.size() * sizeof(float));
    data.allocations.push_back(allocation);
    std::vector<int64_t> strides(shapes[i].size());
    int64_t stride = 1;
    for (size_t axis = strides.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= shapes[i][axis];
    }
    data.views.push_back({i, 0, shapes[i], strides});
  }
  return data;
}

std::vector<float> Floats(const Allocation& allocation) {
  std::vector<float> values(allocation.bytes.size() / sizeof(float));
  std::copy(allocation.bytes.begin(), allocation.bytes.end(),
            reinterpret_cast<uint8_t*>(values.data()));
  return values;
}

// x^2 is 1 + 2^-11 + 2^-24: its last bit is lost by rounding and kept by fusion.
constexpr float kRoot = 1 + 0x1p-12f;
constexpr float kSquare = 1 + 0x1p-11f;

TEST(Fusion, AnUnfusedUseKeepsItsProductBesideAFusedOne) {
  const auto kernel = Parsed(
      "kernel (%0: view<in, f32, [s0]>, %1: view<in, f32, [s0]>, %2: view<out, f32, [s0]>, "
      "%3: view<out, f32, [s0]>) {\n"
      "  %a = view_load %0 [:] : tensor<f32, [s0]>\n  %c = view_load %1 [:] : tensor<f32, [s0]>\n"
      "  %p = binary mul %a, %a : tensor<f32, [s0]>\n"
      "  %r = binary sub %p, %c : tensor<f32, [s0]>\n"
      "  view_store %2 [:] = %p\n  view_store %3 [:] = %r\n  return\n}\n");
  ASSERT_NE(kernel, nullptr);
  const std::vector<int64_t> shape = {37};
  const CallData data = FloatCall({std::vector<float>(37, kRoot), std::vector<float>(37, kSquare)},
                                  {shape, shape, shape, shape});
  for (const Way& way : AllWays()) {
    const Outcome outcome = kernel->Run(data, way);
    ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
    for (float product : Floats(outcome.allocations[2])) ASSERT_EQ(product, kSquare) << way.name;
    for (float rest : Floats(outcome.allocations[3])) {
      ASSERT_TRUE(rest == 0 || rest == 0x1p-24f) << way.name << " " << rest;
    }
  }
}

// The product has a second use, so its sum cancels exactly, wherever the two members stand.
TEST(Fusion, SharedProductsCancelAtEveryPairOfPlaces) {
  for (int axis : {0, 1}) {
    const auto kernel =
        Parsed(Renamed(Summed(axis, "", "  view_store %3 [:, :] = %p\n"), "%m", "%p"));
    ASSERT_NE(kernel, nullptr);
    constexpr int64_t kMembers = 150;
    const int64_t rows = axis == 0 ? kMembers : 20, columns = axis == 0 ? 20 : kMembers;
    std::vector<float> a(static_cast<size_t>(rows * columns)), b(a.size());
    for (int64_t kept = 0; kept < 20; ++kept) {
      const auto at = [&](int64_t member) {
        return static_cast<size_t>(axis == 0 ? member * columns + kept : kept * columns + member);
      };
      a[at(kept)] = -kSquare;
      b[at(kept)] = 1;
      a[at(20 + kept * 6)] = b[at(20 + kept * 6)] = kRoot;
    }
    const CallData data =
        FloatCall({a, b}, {{rows, columns}, {rows, columns}, {20}, {rows, columns}});
    for (const Way& way : AllWays()) {
      const Outcome outcome = kernel->Run(data, way);
      ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
      for (float sum : Floats(outcome.allocations[2])) ASSERT_EQ(sum, 0) << way.name << " " << axis;
    }
  }
}

// Contraction plus addend (5.3): the addend may be where the sums start, and nothing else changes.
TEST(Fusion, AnEmptyContractionPlusAnAddendIsTheAddend) {
  const auto kernel = Parsed(
      "kernel (%0: view<in, f32, [s0, s2]>, %1: view<in, f32, [s2, s1]>, "
      "%2: view<in, f32, [s0, s1]>, %3: view<out, f32, [s0, s1]>) {\n"
      "  %a = view_load %0 [:, :] : tensor<f32, [s0, s2]>\n"
      "  %b = view_load %1 [:, :] : tensor<f32, [s2, s1]>\n"
      "  %c = view_load %2 [:, :] : tensor<f32, [s0, s1]>\n"
      "  %p = contract %a, %b reduce [(1, 0)] : tensor<f32, [s0, s1]>\n"
      "  %r = binary add %p, %c : tensor<f32, [s0, s1]>\n"
      "  view_store %3 [:, :] = %r\n  return\n}\n");
  ASSERT_NE(kernel, nullptr);
  std::vector<float> addend;
  for (int i = 0; i < 35; ++i) addend.push_back(static_cast<float>(i) * 0x1p-140f);
  const CallData data = FloatCall({{}, {}, addend}, {{5, 0}, {0, 7}, {5, 7}, {5, 7}});
  for (const Way& way : AllWays()) {
    const Outcome outcome = kernel->Run(data, way);
    ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
    EXPECT_EQ(Floats(outcome.allocations[3]), addend) << way.name;
  }
}

// A contraction in f16 does not pass its unrounded sum to an addition in f32 beyond a cast.
TEST(Fusion, ACastAfterAContractionIsARounding) {
  const auto kernel = Parsed(
      "kernel (%0: view<in, f32, [s0, s1]>, %1: view<in, f32, [s0, s0]>, "
      "%2: view<out, f32, [s0, s0]>) {\n"
      "  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>\n"
      "  %c = view_load %1 [:, :] : tensor<f32, [s0, s0]>\n"
      "  %a = cast %x : tensor<f16, [s0, s1]>\n"
      "  %p = contract %a, %a reduce [(1, 1)] : tensor<f16, [s0, s0]>\n"
      "  %w = cast %p : tensor<f32, [s0, s0]>\n  %r = binary sub %w, %c : tensor<f32, [s0, s0]>\n"
      "  view_store %2 [:, :] = %r\n  return\n}\n");
  ASSERT_NE(kernel, nullptr);
  // (1 + 2^-6)^2 = 1 + 2^-5 + 2^-12: f16 keeps 1 + 2^-5.
  const CallData data = FloatCall({{1 + 0x1p-6f}, {1 + 0x1p-5f}}, {{1, 1}, {1, 1}, {1, 1}});
  for (const Way& way : AllWays()) {
    const Outcome outcome = kernel->Run(data, way);
    ASSERT_FALSE(outcome.failed) << way.name << outcome.message;
    EXPECT_EQ(Floats(outcome.allocations[2])[0], 0) << way.name;
  }
}

}  // namespace
}  // namespace intent::testing
