#include "compiler/ir/parse.h"

#include <gtest/gtest.h>

#include "compiler/ir/print.h"

namespace intent {
namespace {

std::string Printed(const std::string& text) {
  const ParsedModule parsed = ParseModule(text);
  EXPECT_TRUE(parsed.ok()) << ToString(parsed.diagnostics[0]);
  return parsed.ok() ? PrintModule(*parsed.module) : "";
}

TEST(Parse, TakesNamesCommentsAndBlanksAsPeopleWriteThem) {
  EXPECT_EQ(Printed(R"(
// adds one
kernel(%x : view<in, f32, [s0]>,
       %y : view<out, f32, [s0]>  noalias) {   // two views
  %v = view_load %x[:] : tensor<f32, [s0]>
  %one = constant 1 : f32
  %ones = full %one : tensor<f32, [s0]>
  %sum = binary add %v,
      %ones : tensor<f32, [s0]>
  view_store %y[:] = %sum
  return
})"),
            R"(kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]> noalias) {
  %2 = view_load %0 [:] : tensor<f32, [s0]>
  %3 = constant 1.0 : f32
  %4 = full %3 : tensor<f32, [s0]>
  %5 = binary add %2, %4 : tensor<f32, [s0]>
  view_store %1 [:] = %5
  return
}
)");
}

TEST(Parse, AnOperationEndsWithItsLine) {
  const std::string text = R"(kernel (%0: f32) {
  yield
  %1 = buffer : buffer<f32, []>
  return
  %2 = make_tuple : tuple<>
}
)";
  EXPECT_EQ(Printed(text), text);
}

TEST(Parse, OperationsThatDoNotFitTheirFormAreGeneric) {
  const std::string text = R"(kernel (%0: f32) {
  generic if %0, %0 (%1: f32) {
  }
  %2 = generic reduce %0 axes [0] combine region : f32
  generic gather %0 index [value, 3, new] valid
  %3 = generic subregion %0 start stop : domain<[1]>
  %4 = constant 1.5 as f64 : f32
}
)";
  EXPECT_EQ(Printed(text), text);
  EXPECT_FALSE(ParseModule("kernel (%0: f32) {\n  %1 = view_load %0 [%0] valid : f32\n}").ok());
}

TEST(Parse, ConstexprsAreNamedOnceAndUsedEverywhere) {
  const std::string text = R"(enum e0 {1, 2}
constexpr c0: i64 = 3
constexpr c1: e0 = e0(2) fixed
expr x0: bool = eq c1, e0(1)
expr x1: i64 = select x0, c0, 4

kernel (%0: tensor<f32, [c0, 4*c0]>) {
  %1 = dim %0 axis x1 : index
  %2 = dim %0 axis c0 : index
  %3 = unary tanh %0 approximate=x0 : tensor<f32, [c0, 4*c0]>
  return
}
)";
  EXPECT_EQ(Printed(text), text);
}

TEST(Parse, GivesASourceMapIntoTheText) {
  const ParsedModule parsed = ParseModule(
      "kernel (%x: f32, %cond: bool) {\n"
      "  %y = if %cond {\n"
      "    yield %x\n"
      "  } else {\n"
      "    yield %x\n"
      "  } : tuple<f32>\n"
      "  return\n"
      "}\n",
      "k.kir");
  ASSERT_TRUE(parsed.ok());
  const SourceMap& map = parsed.source_map;
  EXPECT_EQ(map.files, std::vector<std::string>{"k.kir"});
  EXPECT_EQ(map.parameter_names, (std::vector<std::string>{"x", "cond"}));
  EXPECT_EQ(map.parameter_spans[1], (Span{0, 1, 18, 1, 29}));
  EXPECT_EQ(map.spans, (std::vector<Span>{
                           {0, 2, 3, 2, 16}, {0, 3, 5, 3, 13}, {0, 5, 5, 5, 13}, {0, 7, 3, 7, 9}}));
  ASSERT_EQ(parsed.module->kernel_function().body.ops.size(), 2u);
  EXPECT_EQ(parsed.module->kernel_function().body.ops[1]->ordinal, 3u);
}

struct Mistake {
  const char* text;
  uint32_t line, column;
  const char* code = "E0105";
};

TEST(Parse, PointsAtTheMistake) {
  const Mistake mistakes[] = {
      {"", 1, 1},
      {"kernel () {\n}\nkernel () {\n}", 3, 1},
      {"kernel () {\n  %1 = frobnicate\n}", 2, 8},
      {"kernel () {\n  %1 = unary exp %9 : f32\n}", 2, 18},
      {"kernel (%0: f32) {\n  %0 = unary exp %0 : f32\n}", 2, 3},
      {"kernel (%0: f33) {\n}", 1, 13},
      {"kernel (%0: tensor<f32, [s0, ]>) {\n}", 1, 30},
      {"kernel (%0: tensor<f32, [c0]>) {\n}", 1, 26},
      {"kernel (%0: tensor<f32, [floordiv(s0, 0)]>) {\n}", 1, 26, "E0306"},
      {"kernel (%0: view<at, f32, []>) {\n}", 1, 18},
      {"kernel (%0: record<\"\": f32>) {\n}", 1, 20},
      {"kernel () {\n  %1 = constant 300 : u8\n}", 2, 8},
      {"kernel () {\n  %1 = constant 300\n}", 2, 8},
      {"kernel () {\n  call f1\n}", 2, 8},
      {"kernel () {\n  %1 = binary plus %1, %1 : f32\n}", 2, 15},
      {"fn f1 () {\n}", 1, 4},
      {"constexpr c0: i64 = 1.5\nkernel () {\n}", 1, 21},
      {"constexpr c0: e0\nkernel () {\n}", 1, 15},
      {"expr x0: i64 = add c0, 1\nkernel () {\n}", 1, 20},
      {"kernel () {\n  dim axis x0\n}", 2, 12},
      {"kernel () {\n  \x01\n}", 2, 3},
      {"kernel () {\n  make_record : record<\"a : f32>\n}", 2, 24},
      {"kernel () {\n  return\n", 3, 1},
      {"kernel () symbols -1 {\n}", 1, 11},
  };
  for (const Mistake& mistake : mistakes) {
    const ParsedModule parsed = ParseModule(mistake.text);
    ASSERT_FALSE(parsed.ok()) << mistake.text;
    ASSERT_EQ(parsed.diagnostics.size(), 1u);
    const Diagnostic& diagnostic = parsed.diagnostics[0];
    EXPECT_EQ(CodeText(diagnostic.code), mistake.code) << mistake.text;
    EXPECT_EQ(diagnostic.span.line, mistake.line) << mistake.text << ToString(diagnostic);
    EXPECT_EQ(diagnostic.span.column, mistake.column) << mistake.text << ToString(diagnostic);
  }
}

TEST(Parse, BoundsWhatItReads) {
  const auto code = [](const std::string& text, const DecodeLimits& limits = {}) {
    const ParsedModule parsed = ParseModule(text, "", limits);
    return parsed.ok() ? "" : std::string(CodeText(parsed.diagnostics[0].code));
  };
  std::string blocks = "kernel (%0: bool) {\n", types, extents;
  for (int i = 0; i < 100'000; ++i) blocks += "if %0 {\n";
  EXPECT_EQ(code(blocks), "E0901");
  for (int i = 0; i < 100'000; ++i) types += "tuple<";
  EXPECT_EQ(code("kernel (%0: " + types), "E0901");
  for (int i = 0; i < 100'000; ++i) extents += "(";
  EXPECT_EQ(code("kernel (%0: tensor<f32, [" + extents), "E0901");
  EXPECT_EQ(code("kernel () {\n  return\n  return\n}", {.operations = 1}), "E0901");
  EXPECT_EQ(code("kernel (%0: f32, %1: f32) {\n}", {.values = 1}), "E0901");
  EXPECT_EQ(code("kernel (%0: f32, %1: f32) {\n}", {.parameters = 1}), "E0901");
  EXPECT_EQ(code("kernel () {\n}", {.bytes = 12}), "E0901");
  EXPECT_EQ(code("kernel () {\n}", {.bytes = 13}), "");
}

}  // namespace
}  // namespace intent
