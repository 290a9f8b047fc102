// What enters the canonical key and what does not: the programs of tests/e2e/keys, each changed in
// one place at a time. README.md describes the files.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent {
namespace {

struct Case {
  std::string name;
  std::string text;
  std::string from, to;
  bool same = false;
};

void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

std::string Replaced(std::string text, const std::string& from, const std::string& to,
                     size_t* count) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
    ++*count;
  }
  return text;
}

std::string Unescaped(std::string text) {
  size_t count = 0;
  return Replaced(std::move(text), "\\n", "\n", &count);
}

// "// flip: FROM => TO" or "// same: FROM => TO", with \n for a new line; nothing behind the arrow:
// FROM is taken away.
bool ReadChange(const std::string& line, Case* c) {
  constexpr std::string_view kFlip = "// flip: ", kSame = "// same: ", kArrow = " =>";
  c->same = line.starts_with(kSame);
  if (!c->same && !line.starts_with(kFlip)) return false;
  const size_t arrow = line.find(kArrow);
  if (arrow == std::string::npos) return false;
  c->from = Unescaped(line.substr(kFlip.size(), arrow - kFlip.size()));
  const size_t to = arrow + kArrow.size() + 1;
  c->to = to < line.size() ? Unescaped(line.substr(to)) : "";
  return true;
}

std::vector<Case> Cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/e2e/keys")) {
    if (entry.path().extension() == ".kir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::string line, title, text;
    std::vector<Case> changes;
    const auto finish = [&] {
      for (Case& c : changes) {
        c.name = title + ": " + c.from + " => " + c.to;
        c.text = text;
        cases.push_back(std::move(c));
      }
      changes.clear();
      text.clear();
    };
    while (std::getline(stream, line)) {
      constexpr std::string_view kMark = "// --- ";
      Case c;
      if (line.starts_with(kMark)) {
        finish();
        title = line.substr(kMark.size());
      } else if (ReadChange(line, &c)) {
        changes.push_back(std::move(c));
      } else {
        text += line + "\n";
      }
    }
    finish();
  }
  return cases;
}

// What the canonical key hashes of a program.
std::string CanonicalBytes(const std::string& text) {
  const ParsedModule parsed = ParseModule(text);
  std::vector<Diagnostic> diagnostics = parsed.diagnostics;
  if (parsed.ok()) diagnostics = Verify(*parsed.module);
  if (diagnostics.empty()) diagnostics = Specialize(parsed.module.get(), {});
  if (!diagnostics.empty()) {
    ADD_FAILURE() << ToString(diagnostics[0]) << "\n" << text;
    return "";
  }
  Canonicalize(parsed.module.get());
  return EncodeCanonical(*parsed.module);
}

class CanonicalKey : public testing::TestWithParam<Case> {};

TEST_P(CanonicalKey, ChangesIfAndOnlyIfTheMeaningDoes) {
  const Case& c = GetParam();
  size_t count = 0;
  const std::string changed = Replaced(c.text, c.from, c.to, &count);
  ASSERT_GT(count, 0u) << "there is nothing to change";
  if (c.same) {
    EXPECT_EQ(CanonicalBytes(c.text), CanonicalBytes(changed)) << changed;
  } else {
    EXPECT_NE(CanonicalBytes(c.text), CanonicalBytes(changed)) << changed;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CanonicalKey, testing::ValuesIn(Cases()));

}  // namespace
}  // namespace intent
