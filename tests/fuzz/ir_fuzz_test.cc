// Hostile input to the decoder and the text parser: whatever comes, they answer with a module or
// with diagnostics, within bounded memory, and a module that they give is one that the encoder and
// the printer take. Seeds are fixed; a failure prints its iteration.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/source_map_codec.h"
#include "tests/support/module_mutator.h"
#include "tests/support/recorded_modules.h"

namespace intent {
namespace {

using testing::ModuleMutator;
using testing::RecordedModule;
using testing::RecordedModules;

constexpr int kMutations = 10'000;
constexpr int kRoundTripEvery =
    3;  // of the modules that decode: a round trip costs most of the time
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kMemoryGrowth = SIZE_MAX / 2;  // sanitizers keep what is freed
#else
constexpr size_t kMemoryGrowth = 64u << 20;
#endif

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Text and bytes of a module lead back to it.
void ExpectRoundTrips(const Module& module, int iteration) {
  const std::string bytes = EncodeModule(module);
  const DecodedModule again = DecodeModule(bytes);
  ASSERT_TRUE(again.ok()) << iteration << ": " << ToString(again.diagnostics[0]);
  ASSERT_EQ(EncodeModule(*again.module), bytes) << iteration;
  const std::string text = PrintModule(module);
  const ParsedModule parsed = ParseModule(text);
  ASSERT_TRUE(parsed.ok()) << iteration << ": " << ToString(parsed.diagnostics[0]) << "\n" << text;
  ASSERT_EQ(EncodeModule(*parsed.module), bytes) << iteration << "\n" << text;
  ASSERT_EQ(PrintModule(*parsed.module), text) << iteration;
}

TEST(IrFuzz, TenThousandMutatedModulesNeverHurtAndHalfDecode) {
  const std::vector<RecordedModule> corpus = RecordedModules();
  const size_t before = ResidentBytes();
  ModuleMutator mutator(20260101);
  int decoded = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string bytes = mutator.Mutate(corpus[mutator.Below(corpus.size())].bytes);
    const DecodedModule result = DecodeModule(bytes);
    ASSERT_NE(result.ok(), !result.diagnostics.empty()) << i;
    if (!result.ok()) continue;
    if (++decoded % kRoundTripEvery != 0) continue;
    ExpectRoundTrips(*result.module, i);
    if (HasFatalFailure()) return;
  }
  RecordProperty("decoded", decoded);
  EXPECT_GE(decoded, kMutations / 2);
  EXPECT_LT(ResidentBytes(), before + kMemoryGrowth);
}

TEST(IrFuzz, EveryTruncationOfAModuleIsAnswered) {
  for (const RecordedModule& module : RecordedModules()) {
    for (size_t size = 0; size < module.bytes.size(); ++size) {
      const DecodedModule result = DecodeModule(std::string_view(module.bytes).substr(0, size));
      ASSERT_NE(result.ok(), !result.diagnostics.empty()) << module.name << " " << size;
    }
  }
}

TEST(IrFuzz, TenThousandMutatedTextsNeverHurt) {
  const std::vector<RecordedModule> corpus = RecordedModules();
  const size_t before = ResidentBytes();
  ModuleMutator mutator(20260102);
  int parsed = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string& text = corpus[mutator.Below(corpus.size())].text;
    const ParsedModule result =
        ParseModule(mutator.OneIn(4) ? mutator.MutateBytes(text) : mutator.MutateText(text));
    if (!result.ok()) {
      ASSERT_EQ(result.diagnostics.size(), 1u) << i;
      ASSERT_NE(result.diagnostics[0].span.line, 0u) << i;
      continue;
    }
    ++parsed;
    ExpectRoundTrips(*result.module, i);
    if (HasFatalFailure()) return;
  }
  RecordProperty("parsed", parsed);
  EXPECT_GE(parsed, kMutations / 50);
  EXPECT_LT(ResidentBytes(), before + kMemoryGrowth);
}

TEST(IrFuzz, MutatedSourceMapsNeverHurt) {
  const std::vector<RecordedModule> corpus = RecordedModules();
  ModuleMutator mutator(20260103);
  std::vector<std::string> maps;
  for (const RecordedModule& module : corpus) {
    maps.push_back(EncodeSourceMap(ParseModule(module.text).source_map));
  }
  for (int i = 0; i < kMutations; ++i) {
    const DecodedSourceMap result =
        DecodeSourceMap(mutator.MutateBytes(maps[mutator.Below(maps.size())]));
    ASSERT_NE(result.ok(), !result.diagnostics.empty()) << i;
    if (result.ok()) EncodeSourceMap(*result.map);
  }
}

}  // namespace
}  // namespace intent
