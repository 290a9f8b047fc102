// Runs the sections of tests/kir/*.kir (README.md).

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent {
namespace {

struct Section {
  std::string file;
  std::string title;
  std::string text;
};

std::vector<Section> Sections() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/kir")) {
    if (entry.path().extension() == ".kir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Section> sections;
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::string line;
    while (std::getline(stream, line)) {
      constexpr std::string_view kMark = "// --- ";
      if (line.starts_with(kMark)) {
        sections.push_back({file.stem(), line.substr(kMark.size()), ""});
      } else if (!sections.empty()) {
        sections.back().text += line + "\n";
      }
    }
  }
  return sections;
}

void PrintTo(const Section& section, std::ostream* stream) { *stream << section.title; }

// "3: E0201" for line 3 of the section; line 0 is the module as a whole.
using Errors = std::vector<std::string>;

void AddCodes(std::string_view list, size_t line, Errors* errors) {
  std::istringstream words{std::string(list)};
  std::string code;
  while (words >> code) errors->push_back(std::to_string(line) + ": " + code);
}

Errors Expected(const std::string& text) {
  Errors errors;
  std::istringstream stream(text);
  std::string line;
  for (size_t number = 1; std::getline(stream, line); ++number) {
    constexpr std::string_view kError = "// error: ", kModule = "// error-module: ";
    if (const size_t at = line.find(kError); at != std::string::npos) {
      AddCodes(line.substr(at + kError.size()), number, &errors);
    }
    if (const size_t at = line.find(kModule); at != std::string::npos) {
      AddCodes(line.substr(at + kModule.size()), 0, &errors);
    }
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

// The bindings of a `// specialize` line; nullopt: there is none.
std::optional<std::vector<Binding>> Bindings(const std::string& text, const Module& module) {
  constexpr std::string_view kMark = "// specialize";
  const size_t at = text.find(kMark);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream words(text.substr(at + kMark.size(), text.find('\n', at) - at - kMark.size()));
  std::vector<Binding> bindings;
  std::string word;
  while (words >> word) {
    const size_t equals = word.find('=');
    Binding binding{.parameter = static_cast<uint32_t>(std::stoul(word.substr(1, equals - 1)))};
    const std::string value = word.substr(equals + 1);
    if (binding.parameter < module.constexprs.size()) {
      binding.value.kind = module.constexprs[binding.parameter].kind;
    }
    if (binding.value.kind == ConstexprKind::kFloat) {
      binding.value.float_value = std::stod(value);
    } else {
      binding.value.int_value = value == "true" ? 1 : value == "false" ? 0 : std::stoll(value);
    }
    bindings.push_back(binding);
  }
  return bindings;
}

std::string Join(const Errors& errors) {
  std::string text;
  for (const std::string& error : errors) text += "  " + error + "\n";
  return text;
}

class KirTest : public testing::TestWithParam<Section> {};

TEST_P(KirTest, HasExactlyTheMarkedErrors) {
  const std::string& text = GetParam().text;
  ParsedModule parsed = ParseModule(text);
  std::vector<Diagnostic> diagnostics = std::move(parsed.diagnostics);
  if (parsed.ok()) {
    const auto bindings = Bindings(text, *parsed.module);
    diagnostics = Verify(*parsed.module);
    if (diagnostics.empty() && bindings) {
      diagnostics = Specialize(parsed.module.get(), *bindings);
      if (diagnostics.empty()) {
        Canonicalize(parsed.module.get());
        const std::vector<Diagnostic> after = Verify(*parsed.module, {.specialized = true});
        EXPECT_TRUE(after.empty()) << ToString(after[0]) << "\n" << PrintModule(*parsed.module);
      }
    }
  }
  Errors errors;
  std::string messages;
  for (const Diagnostic& diagnostic : diagnostics) {
    const Span span = diagnostic.ordinal == kNoOrdinal
                          ? diagnostic.span
                          : parsed.source_map.SpanOf(diagnostic.ordinal);
    errors.push_back(std::to_string(span.line) + ": " + std::string(CodeText(diagnostic.code)));
    messages += "  " + ToString(diagnostic) + "\n";
    EXPECT_LT(diagnostic.message.size(), 600u);
    EXPECT_FALSE(diagnostic.message.ends_with('.')) << diagnostic.message;
  }
  std::sort(errors.begin(), errors.end());
  const Errors expected = Expected(text);
  EXPECT_EQ(errors, expected) << "got\n"
                              << Join(errors) << "expected\n"
                              << Join(expected) << "messages\n"
                              << messages << text;
}

std::string NameOfSection(const testing::TestParamInfo<Section>& info) {
  std::string name = info.param.file + "_" + info.param.title;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Modules, KirTest, testing::ValuesIn(Sections()), NameOfSection);

}  // namespace
}  // namespace intent
