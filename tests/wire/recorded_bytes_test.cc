// Recorded bytes of the current format: what a client of that version sent must mean the same for
// ever. A failure after a change of the codec means that released bytes read differently.
// `BLESS=1 wire_test` rewrites the recordings; do so only for modules that are new.

#include <gtest/gtest.h>

#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "tests/support/recorded_modules.h"

namespace intent {
namespace {

using testing::RecordedModule;

class RecordedBytes : public ::testing::TestWithParam<RecordedModule> {};

TEST_P(RecordedBytes, DecodeToTheRecordedText) {
  const RecordedModule& recorded = GetParam();
  const DecodedModule decoded = DecodeModule(recorded.bytes);
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.diagnostics[0]);
  EXPECT_EQ(PrintModule(*decoded.module), recorded.text);
}

TEST_P(RecordedBytes, AreWhatTheTextEncodesTo) {
  const RecordedModule& recorded = GetParam();
  const ParsedModule parsed = ParseModule(recorded.text, recorded.path);
  ASSERT_TRUE(parsed.ok()) << ToString(parsed.diagnostics[0]);
  EXPECT_EQ(testing::ToHex(EncodeModule(*parsed.module)), testing::ToHex(recorded.bytes));
}

std::vector<RecordedModule> Modules() {
  std::vector<RecordedModule> modules = testing::RecordedModules();
  if (!testing::Blessing()) return modules;
  for (RecordedModule& module : modules) {
    const ParsedModule parsed = ParseModule(module.text, module.path);
    if (!parsed.ok()) continue;
    module.text = PrintModule(*parsed.module);
    module.bytes = EncodeModule(*parsed.module);
    testing::WriteFile(module.path, module.text);
    testing::WriteFile(module.path.substr(0, module.path.size() - 4) + ".hex",
                       testing::ToHex(module.bytes));
  }
  return modules;
}

INSTANTIATE_TEST_SUITE_P(V1, RecordedBytes, ::testing::ValuesIn(Modules()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace intent
