// Numbers of enums, once released, are fixed: tests/wire/v1/enums.txt holds them. New values may
// only be added. BLESS=1 rewrites the file.

#include <gtest/gtest.h>

#include <sstream>

#include "intent/kir/v1/kir.pb.h"
#include "tests/support/recorded_modules.h"

namespace intent {
namespace {

constexpr char kPath[] = "tests/wire/v1/enums.txt";

TEST(EnumNumbers, AreThoseThatWereReleased) {
  const auto* file = intent::kir::v1::Module::descriptor()->file();
  std::string all;
  for (int i = 0; i < file->enum_type_count(); ++i) {
    for (int j = 0; j < file->enum_type(i)->value_count(); ++j) {
      const auto* value = file->enum_type(i)->value(j);
      all += file->enum_type(i)->name() + " " + value->name() + " " +
             std::to_string(value->number()) + "\n";
    }
  }
  if (testing::Blessing()) testing::WriteFile(kPath, all);
  std::istringstream recorded(testing::ReadFile(kPath));
  int lines = 0;
  for (std::string line; std::getline(recorded, line); ++lines) {
    EXPECT_NE(all.find(line + "\n"), std::string::npos) << "changed or gone: " << line;
  }
  EXPECT_GT(lines, 100);
}

}  // namespace
}  // namespace intent
