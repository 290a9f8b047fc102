// What only the program shows, since no run of it is sure to: updates that tasks may race for are
// atomic, reads stand before what releases them, and products that round stay out of multiply-adds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/lower/lower.h"
#include "compiler/specialize/specialize.h"
#include "compiler/tile/print.h"
#include "compiler/verify/verify.h"

namespace intent::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Result {
  std::string program;
  std::string report;
};

Result Lower(const std::string& signature, const std::string& body) {
  const ParsedModule parsed =
      ParseModule("kernel (" + signature + ") {\n" + body + "\n  return\n}\n");
  EXPECT_TRUE(parsed.ok()) << body;
  if (!parsed.ok()) return {};
  EXPECT_TRUE(Verify(*parsed.module).empty()) << body;
  EXPECT_TRUE(Specialize(parsed.module.get(), {}).empty());
  Lowered result = LowerToTiles(*parsed.module, {});
  return {tile::Print(*result.program), ToString(result.report)};
}

// A loop over the first axis of %0, in parallel or in order, around `body` with %i.
std::string Loop(const std::string& kind, const std::string& body) {
  return R"(
  %zero = constant 0 : index
  %one = constant 1 : index
  %n = dim %0 axis 0 : index
  %all = domain %zero, %n, %one : domain<[s0]>
  )" + kind +
         " %i = %all {\n" + body + "\n    yield\n  }";
}

std::string ScatterIn(const std::string& kind, const std::string& dtype,
                      const std::string& combine) {
  const std::string tensor = "tensor<" + dtype + ", [s1]>";
  return Lower("%0: view<in, " + dtype + ", [s0, s1]>, %1: view<in, i64, [s1]>, %2: view<inout, " +
                   dtype + ", [s2]>",
               Loop(kind, "    %x = view_load %0 [%i, :] : " + tensor +
                              "\n    %at = view_load %1 [:] : tensor<i64, [s1]>\n"
                              "    scatter_reduce %2 [%at] = %x combine " +
                              combine))
      .program;
}

TEST(EffectsTest, UpdatesOfTasksAreAtomic) {
  EXPECT_THAT(ScatterIn("parallel", "i32", "add"), HasSubstr("atomic_rmw.add"));
  EXPECT_THAT(ScatterIn("parallel", "u8", "maximum"), HasSubstr("atomic_rmw.max"));
  EXPECT_THAT(ScatterIn("parallel", "f32", "add"), HasSubstr("atomic_cas"));
  EXPECT_THAT(ScatterIn("parallel", "bf16", "minimum"), HasSubstr("atomic_cas"));
  EXPECT_THAT(ScatterIn("parallel", "bool", "or"), HasSubstr("atomic_cas"));
  EXPECT_THAT(ScatterIn("parallel", "i64",
                        "(%a: i64, %b: i64) { %c = binary mul %a, %b : i64\n"
                        "yield %c\n}"),
              HasSubstr("atomic_cas"));
}

TEST(EffectsTest, UpdatesInOrderAreNot) {
  for (const char* dtype : {"i32", "f32"}) {
    EXPECT_THAT(ScatterIn("for", dtype, "add"), Not(HasSubstr("atomic"))) << dtype;
  }
}

TEST(EffectsTest, OrdersOfAtomicsReachTheProgram) {
  for (const char* order : {"relaxed", "acquire", "release", "acq_rel"}) {
    for (const char* dtype : {"i32", "f64"}) {
      const std::string d = dtype;
      const Result result =
          Lower("%0: view<inout, " + d + ", []>, %1: " + d,
                "  %a = atomic_rmw add %0 [] = %1 order " + std::string(order) + " : " + d);
      EXPECT_THAT(result.program, HasSubstr("order=" + std::string(order)));
    }
  }
}

// What is read before a release is in memory of one's own by then, although it is used later.
TEST(EffectsTest, ReadsStandBeforeTheReleaseThatFollowsThem) {
  const auto program = [](const char* order) {
    return Lower(
               "%0: view<in, f32, [s0, s1]>, %1: view<inout, i32, [s0]>, %2: view<out, f32, [s0, "
               "s1]>",
               Loop("parallel",
                    "    %x = view_load %0 [%i, :] : tensor<f32, [s1]>\n"
                    "    %unit = constant 1 : i32\n"
                    "    atomic_store %1 [%i] = %unit order " +
                        std::string(order) + "\n    view_store %2 [%i, :] = %x"))
        .program;
  };
  const std::string released = program("release"), relaxed = program("relaxed");
  EXPECT_LT(released.find("load("), released.find("atomic_store("));
  EXPECT_THAT(released, Not(HasSubstr(" if(")));
  // Otherwise only what may overlap the atomic's own view is copied.
  EXPECT_THAT(relaxed, HasSubstr(" if("));
}

TEST(EffectsTest, RecordsHoldNoMultiplyAdd) {
  const Result dot =
      Lower("%0: view<in, u8, [s0, 144]>, %1: view<in, u8, [s0, 292]>, %2: view<out, f32, []>",
            "  %w = view_load %0 [:, :] : tensor<u8, [s0, 144]>\n"
            "  %q = view_load %1 [:, :] : tensor<u8, [s0, 292]>\n"
            "  %r = quantized_dot %w, %q lhs q4_k rhs q8_k : tensor<f32, []>\n"
            "  view_store %2 [] = %r");
  EXPECT_THAT(dot.program, Not(HasSubstr("fma(")));
  const Result records = Lower("%0: view<in, f32, [s0, 256]>, %1: view<out, u8, [s0, 292]>",
                               "  %x = view_load %0 [:, :] : tensor<f32, [s0, 256]>\n"
                               "  %q = quantize %x lhs q8_k rhs q8_k : tensor<u8, [s0, 292]>\n"
                               "  view_store %1 [:, :] = %q");
  EXPECT_THAT(records.program, Not(HasSubstr("fma(")));
}

TEST(EffectsTest, TheReportSaysHowUpdatesAreDone) {
  const std::string signature =
      "%0: view<in, f32, [s0]>, %1: view<in, i64, [s0]>, %2: view<inout, f32, [s1]>";
  const Result scatter = Lower(signature,
                               "  %x = view_load %0 [:] : tensor<f32, [s0]>\n"
                               "  %at = view_load %1 [:] : tensor<i64, [s0]>\n"
                               "  scatter_reduce %2 [%at] = %x combine add");
  EXPECT_THAT(scatter.report, HasSubstr("scatter_reduce: one update after another"));
}

}  // namespace
}  // namespace intent::lower
