// Hostile modules for the verifier and specialisation: whatever decodes, they answer, and what
// verifies after specialisation stays valid through canonicalisation. Seeds are fixed; a failure
// prints its iteration.

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <sstream>

#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"
#include "tests/support/module_mutator.h"
#include "tests/support/recorded_modules.h"

namespace intent {
namespace {

using testing::ModuleMutator;

constexpr int kMutations = 10'000;

// The bytes of every section of tests/kir and of the recorded modules.
std::vector<std::string> Corpus() {
  std::vector<std::string> corpus;
  for (const auto& module : testing::RecordedModules()) corpus.push_back(module.bytes);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/kir")) {
    if (entry.path().extension() == ".kir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::istringstream stream(testing::ReadFile(file));
    std::string line, section;
    while (std::getline(stream, line)) {
      if (line.starts_with("// --- ")) section.clear();
      section += line + "\n";
      if (line != "}") continue;
      const ParsedModule parsed = ParseModule(section);
      if (parsed.ok()) corpus.push_back(EncodeModule(*parsed.module));
    }
  }
  return corpus;
}

TEST(VerifyFuzz, MutatedModulesAreAnsweredAndWhatVerifiesStaysValid) {
  const std::vector<std::string> corpus = Corpus();
  ModuleMutator mutator(20260201);
  int verified = 0, specialized = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = corpus[mutator.Below(corpus.size())];
    for (size_t n = 1 + mutator.Below(3); n-- > 0;) bytes = mutator.MutateFields(bytes);
    const DecodedModule decoded = DecodeModule(bytes);
    if (!decoded.ok()) continue;
    Module& module = *decoded.module;
    for (const Diagnostic& diagnostic : Verify(module)) {
      ASSERT_FALSE(diagnostic.message.empty()) << i;
      ASSERT_LT(diagnostic.message.size(), 600u) << i;
    }
    if (!Verify(module).empty()) continue;
    ++verified;
    std::vector<Binding> bindings;
    for (uint32_t p = 0; p < module.constexprs.size(); ++p) {
      if (module.constexprs[p].fixed) continue;
      bindings.push_back({p,
                          {.kind = module.constexprs[p].kind,
                           .int_value = static_cast<int64_t>(mutator.Below(4)) - 1,
                           .float_value = 1.5}});
    }
    if (!Specialize(&module, bindings).empty()) continue;
    ++specialized;
    Canonicalize(&module);
    const std::vector<Diagnostic> after = Verify(module, {.specialized = true});
    ASSERT_TRUE(after.empty()) << i << ": " << ToString(after[0]);
    const std::string canonical = EncodeCanonical(module);
    const DecodedModule again = DecodeModule(canonical);
    ASSERT_TRUE(again.ok()) << i;
    ASSERT_EQ(EncodeCanonical(*again.module), canonical) << i;
  }
  EXPECT_GE(verified, kMutations / 20);
  EXPECT_GE(specialized, kMutations / 40);
}

std::string Repeat(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

// Processor time: other work on the machine does not count.
double SecondsOf(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(VerifyFuzz, ChainsAndDiamondsOfIndexArithmeticCostLinearTime) {
  // Every value is twice the one before and shapes a tensor: extents as polynomials must neither
  // recurse through the chain nor double with it.
  const std::string text = "kernel (%v0: index, %x: f32) {\n" +
                           Repeat(45'000,
                                  [](int i) {
                                    const std::string a = "%v" + std::to_string(i),
                                                      b = "%v" + std::to_string(i + 1);
                                    return "  " + b + " = binary add " + a + ", " + a +
                                           " : index\n  %t" + std::to_string(i) + " = domain " + a +
                                           ", " + a + ", " + b + " : domain<[0]>\n";
                                  }) +
                           "  return\n}\n";
  const ParsedModule parsed = ParseModule(text);
  ASSERT_TRUE(parsed.ok()) << ToString(parsed.diagnostics[0]);
  const double seconds = SecondsOf([&] { Verify(*parsed.module); });
  EXPECT_LT(seconds, 20);
}

TEST(VerifyFuzz, HelpersThatDoubleAtEachLevelAreRefusedByTheLimit) {
  std::string text = "fn f0 (%x: f32) -> f32 {\n  %y = unary exp %x : f32\n  return %y\n}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string callee = "f" + std::to_string(i - 1);
    text += "fn f" + std::to_string(i) + " (%x: f32) -> f32 {\n  %y = call " + callee +
            " %x : f32\n  %z = call " + callee + " %y : f32\n  return %z\n}\n";
  }
  text +=
      "kernel (%x: f32, %out: view<out, f32, []>) {\n  %y = call f39 %x : f32\n"
      "  view_store %out [] = %y\n  return\n}\n";
  const ParsedModule parsed = ParseModule(text);
  ASSERT_TRUE(parsed.ok()) << ToString(parsed.diagnostics[0]);
  ASSERT_TRUE(Verify(*parsed.module).empty());
  const std::vector<Diagnostic> diagnostics = Specialize(parsed.module.get(), {});
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, DiagnosticCode::kLimit);
}

TEST(VerifyFuzz, ManyErrorsAreBounded) {
  const std::string text =
      "kernel (%a: f32, %b: f64) {\n" +
      Repeat(50'000,
             [](int i) { return "  %v" + std::to_string(i) + " = binary add %a, %b : f32\n"; }) +
      "  return\n}\n";
  const ParsedModule parsed = ParseModule(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(Verify(*parsed.module).size(), 64u);
}

TEST(VerifyFuzz, BigKernelsSpecialiseInLinearTime) {
  const std::string text = "kernel (%v0: f32, %out: view<out, f32, []>) {\n" +
                           Repeat(95'000,
                                  [](int i) {
                                    return "  %v" + std::to_string(i + 1) + " = unary sin %v" +
                                           std::to_string(i) + " : f32\n";
                                  }) +
                           "  view_store %out [] = %v95000\n  return\n}\n";
  const ParsedModule parsed = ParseModule(text);
  ASSERT_TRUE(parsed.ok());
  const double seconds = SecondsOf([&] {
    ASSERT_TRUE(Verify(*parsed.module).empty());
    ASSERT_TRUE(Specialize(parsed.module.get(), {}).empty());
    Canonicalize(parsed.module.get());
  });
  EXPECT_LT(seconds, 10);
}

}  // namespace
}  // namespace intent
