#include "compiler/driver/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent {
namespace {

using testing::HasSubstr;
using testing::Not;

// The report of a textual kernel as the daemon would give it.
std::string ReportOf(const std::string& text, const CompileOptions& options = {},
                     const std::string& target = "x86-64-v3") {
  const ParsedModule parsed = ParseModule(text);
  for (const Diagnostic& diagnostic : parsed.diagnostics) ADD_FAILURE() << ToString(diagnostic);
  if (!parsed.ok()) return "";
  const CompileInput input{EncodeModule(*parsed.module), {}, *ParseTarget(target), options};
  auto prepared = Prepare(input, nullptr);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  auto compiled = Compile(input, std::get<Prepared>(*std::move(prepared)), nullptr);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  const auto& artifact = std::get<CompiledArtifact>(*compiled);
  compile::v1::Manifest manifest;
  EXPECT_TRUE(manifest.ParseFromString(artifact.manifest));
  std::string report;
  for (const compile::v1::ReportLine& line : manifest.report()) {
    report += line.stage() + (line.has_ordinal() ? " " + std::to_string(line.ordinal()) : "") +
              ": " + line.text() + "\n";
  }
  return report;
}

CompileOptions With(const std::function<void(CompileOptions&)>& change) {
  CompileOptions options;
  change(options);
  return options;
}

// Ordinals count operations in their order, from 0.
constexpr char kDot[] =
    R"(kernel (%0: view<in, f32, [s0]>, %1: view<in, f32, [s0]>, %2: view<out, f32, []>) {
  %x = view_load %0 [:] : tensor<f32, [s0]>
  %y = view_load %1 [:] : tensor<f32, [s0]>
  %p = binary mul %x, %y : tensor<f32, [s0]>
  %zero = constant 0.0 : f32
  %sum = reduce %p, %zero axes [0] combine add : f32
  view_store %2 [] = %sum
  return
}
)";

TEST(CompileReport, AProductJoinsItsSum) {
  const std::string report = ReportOf(kDot);
  EXPECT_THAT(report,
              HasSubstr("options: target x86-64-v3, opt_level=2, numerics=source, bounds=guard\n"));
  EXPECT_THAT(report, HasSubstr("fusion 4: reduce: fused into its loops: mul (op 2)\n"));
  EXPECT_THAT(report, HasSubstr("loops 4: reduce: 8 lanes along the members, blocks folded as a "
                                "tree, split among tasks\n"));
  EXPECT_THAT(report, HasSubstr("numerics 4: reduce: multiply-reduction fusion: the products of op "
                                "2 join the sum with one rounding\n"));
  EXPECT_THAT(report, HasSubstr(" multiply-adds round once\n"));
  EXPECT_THAT(report, HasSubstr("code: vectors of 256 bits"));
}

TEST(CompileReport, AProductThatSomethingElseUsesStaysOut) {
  std::string text = kDot;
  const std::string use =
      "  %other = reduce %p, %zero axes [0] combine maximum : f32\n"
      "  %both = binary sub %sum, %other : f32\n";
  text.insert(text.find("  view_store"), use);
  text.replace(text.find("= %sum\n  return"), 6, "= %both");
  EXPECT_THAT(ReportOf(text),
              HasSubstr("the products of op 2 round before they are summed: something else uses "
                        "them"));
}

TEST(CompileReport, WhyAProductRoundsBeforeItIsSummed) {
  const std::string apart = "the products of op 2 round before they are summed: ";
  EXPECT_THAT(ReportOf(kDot, {}, "x86-64-v2"),
              HasSubstr(apart + "x86-64-v2 has no instruction that does both"));
  EXPECT_THAT(
      ReportOf(kDot, With([](CompileOptions& o) { o.disabled_passes = {"fuse_multiply_add"}; })),
      HasSubstr(apart + "fuse_multiply_add is disabled"));
  const std::string plain = ReportOf(kDot, With([](CompileOptions& o) { o.opt_level = 0; }));
  EXPECT_THAT(plain, HasSubstr("memory 2: mul: in memory: nothing is fused at this setting"));
  EXPECT_THAT(plain, HasSubstr("on one thread: parallel is off"));
  EXPECT_THAT(plain, HasSubstr("code: scalars, at most 1 lanes"));
}

TEST(CompileReport, NarrowProductsKeepTheirRounding) {
  std::string text = kDot;
  for (size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, "f16");
  EXPECT_THAT(ReportOf(text), HasSubstr("the products of op 2 keep their own rounding"));
}

constexpr char kGather[] =
    R"(kernel (%0: view<in, f32, [s0]>, %1: view<in, i32, [s1]>, %2: view<out, f32, [s1]>, %3: view<in, i32, []>, %4: view<out, f32, []>) {
  %i = view_load %1 [:] : tensor<i32, [s1]>
  %x = view_load %0 [%i] : tensor<f32, [s1]>
  view_store %2 [:] = %x
  %j = view_load %3 [] : i32
  assume_in_bounds %j, %0 axis 0
  %y = view_load %0 [%j] : f32
  view_store %4 [] = %y
  return
}
)";

TEST(CompileReport, GuardsAreCountedAndPlaced) {
  const std::string report = ReportOf(kGather);
  EXPECT_THAT(
      report,
      HasSubstr("bounds 1: view_load: axis 0 is guarded: its index is not proven to lie inside\n"));
  EXPECT_THAT(report, HasSubstr("bounds 5: view_load: axis 0 has no guard: assume_in_bounds\n"));
  EXPECT_THAT(report, HasSubstr("bounds: 2 indexed axes: 0 proven inside, 1 assumed, 1 guarded\n"));
  const std::string trusting =
      ReportOf(kGather, With([](CompileOptions& o) { o.bounds = Bounds::kTrust; }));
  EXPECT_THAT(trusting, HasSubstr("bounds=trust\n"));
  EXPECT_THAT(trusting, HasSubstr("bounds 1: view_load: axis 0 has no guard: bounds=trust\n"));
  EXPECT_THAT(trusting, HasSubstr("1 assumed, 1 trusted\n"));
  EXPECT_THAT(trusting, HasSubstr(" 0 guards\n"));
}

constexpr char kSoftmax[] = R"(kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0, s1]>) {
  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>
  %least = constant -inf : f32
  %m = reduce %x, %least axes [1] combine maximum : tensor<f32, [s0]>
  %c = reshape %m : tensor<f32, [s0, 1]>
  %b = broadcast %c : tensor<f32, [s0, s1]>
  %d = binary sub %x, %b : tensor<f32, [s0, s1]>
  %e = unary exp %d : tensor<f32, [s0, s1]>
  %zero = constant 0.0 : f32
  %s = reduce %e, %zero axes [1] combine add : tensor<f32, [s0]>
  %t = reshape %s : tensor<f32, [s0, 1]>
  %u = broadcast %t : tensor<f32, [s0, s1]>
  %y = binary div %e, %u : tensor<f32, [s0, s1]>
  view_store %1 [:, :] = %y
  return
}
)";

TEST(CompileReport, TheOnlineRewriteAndTheOptionsThatConcernIt) {
  EXPECT_THAT(ReportOf(kSoftmax),
              HasSubstr("options: the online rewrite is not licensed: numerics=source\n"));
  EXPECT_THAT(ReportOf(kDot), Not(HasSubstr("online")));
  CompileOptions relaxed;
  relaxed.numerics = Numerics::kRelaxedNormalization;
  EXPECT_THAT(ReportOf(kSoftmax, relaxed),
              HasSubstr("numerics 2: the online rewrite with op 8 is licensed, not adopted: "));
  EXPECT_THAT(ReportOf(kDot, relaxed), HasSubstr("options: the online rewrite finds no maximum"));
  relaxed.online_reduction = false;
  const std::string forbidden = ReportOf(kSoftmax, relaxed);
  EXPECT_THAT(forbidden,
              HasSubstr("options: the online rewrite is forbidden: online_reduction=False\n"));
  EXPECT_THAT(forbidden, Not(HasSubstr("licensed")));
}

TEST(CompileReport, RowsAndMemory) {
  const std::string report = ReportOf(kSoftmax);
  EXPECT_THAT(report, HasSubstr("fusion 2: reduce: shares its rows with op 6, op 8, op 12: "));
  EXPECT_THAT(report, HasSubstr("memory 6: exp: in memory: several stages need it"));
  EXPECT_THAT(
      ReportOf(kSoftmax, With([](CompileOptions& o) { o.disabled_passes = {"row_groups"}; })),
      Not(HasSubstr("shares its rows")));
}

TEST(CompileReport, SumsOfAContractionRoundBeforeTheyAreAddedTo) {
  EXPECT_THAT(
      ReportOf(
          R"(kernel (%0: view<in, f32, [s0, s1]>, %1: view<in, f32, [s1, s2]>, %2: view<inout, f32, [s0, s2]>) {
  %a = view_load %0 [:, :] : tensor<f32, [s0, s1]>
  %b = view_load %1 [:, :] : tensor<f32, [s1, s2]>
  %c = contract %a, %b reduce [(1, 0)] : tensor<f32, [s0, s2]>
  %d = view_load %2 [:, :] : tensor<f32, [s0, s2]>
  %e = binary add %c, %d : tensor<f32, [s0, s2]>
  view_store %2 [:, :] = %e
  return
}
)"),
      HasSubstr("numerics 2: contract: contraction-add fusion is not adopted: the sums round "
                "before op 4 adds to them\n"));
}

TEST(CompileReport, EqualInputsGiveEqualReports) {
  EXPECT_EQ(ReportOf(kSoftmax), ReportOf(kSoftmax));
  EXPECT_THAT(ReportOf(kSoftmax, {}, "interp"), HasSubstr("options: interpreted: "));
}

}  // namespace
}  // namespace intent
