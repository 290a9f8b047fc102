#include "client/cpp/module_file.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"

namespace intent::client {
namespace {

std::string Place(uint32_t ordinal, const Span& span, const ModuleFile& file) {
  if (span.line != 0) return absl::StrCat(file.path, ":", span.line, ":", span.column);
  if (ordinal != kNoOrdinal) return absl::StrCat(file.path, ": operation ", ordinal);
  return file.path;
}

Span SpanOf(uint32_t ordinal, const Span& own, const ModuleFile& file) {
  return own.line != 0 ? own : file.source_map.SpanOf(ordinal);
}

// The span's line and a caret below it.
std::string Excerpt(const Span& span, const ModuleFile& file) {
  if (span.line == 0 || file.text.empty()) return "";
  std::istringstream lines(file.text);
  std::string line;
  for (uint32_t i = 0; i < span.line; ++i) {
    if (!std::getline(lines, line)) return "";
  }
  std::string caret;
  for (uint32_t i = 1; i < span.column && i <= line.size(); ++i) {
    caret.push_back(line[i - 1] == '\t' ? '\t' : ' ');
  }
  return absl::StrCat("  ", line, "\n  ", caret, "^\n");
}

}  // namespace

absl::StatusOr<ModuleFile> ReadModule(const std::string& path) {
  std::ifstream input(path, std::ios::binary);
  if (!input) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::string bytes{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  ModuleFile file;
  file.path = path;
  std::vector<Diagnostic> diagnostics;
  if (path.ends_with(".kir")) {
    file.text = std::move(bytes);
    ParsedModule parsed = ParseModule(file.text, path);
    file.module = std::move(parsed.module);
    file.source_map = std::move(parsed.source_map);
    diagnostics = std::move(parsed.diagnostics);
    if (file.module != nullptr) file.bytes = EncodeModule(*file.module);
  } else {
    DecodedModule decoded = DecodeModule(bytes);
    file.module = std::move(decoded.module);
    diagnostics = std::move(decoded.diagnostics);
    file.bytes = std::move(bytes);
  }
  if (file.module != nullptr) return file;
  std::string message;
  for (const Diagnostic& diagnostic : diagnostics) {
    absl::StrAppend(&message, Render(diagnostic, file));
  }
  return absl::InvalidArgumentError(message);
}

std::string Render(const Diagnostic& diagnostic, const ModuleFile& file) {
  const Span span = SpanOf(diagnostic.ordinal, diagnostic.span, file);
  std::string text = absl::StrCat(
      Place(diagnostic.ordinal, span, file),
      diagnostic.severity == Severity::kWarning ? ": warning " : ": error ",
      std::string(CodeText(diagnostic.code)), ": ", diagnostic.message, "\n", Excerpt(span, file));
  for (const DiagnosticNote& note : diagnostic.notes) {
    const Span place = SpanOf(note.ordinal, note.span, file);
    absl::StrAppend(&text, Place(note.ordinal, place, file), ": note: ", note.text, "\n",
                    Excerpt(place, file));
  }
  return text;
}

std::string Render(const compile::v1::Diagnostics& diagnostics, const ModuleFile& file) {
  std::string text;
  for (const compile::v1::Diagnostic& diagnostic : diagnostics.diagnostics()) {
    const uint32_t ordinal = diagnostic.has_ordinal() ? diagnostic.ordinal() : kNoOrdinal;
    const Span span = file.source_map.SpanOf(ordinal);
    absl::StrAppend(
        &text, Place(ordinal, span, file),
        diagnostic.severity() == compile::v1::SEVERITY_WARNING ? ": warning " : ": error ",
        diagnostic.code(), ": ", diagnostic.message(), "\n", Excerpt(span, file));
    for (const compile::v1::DiagnosticNote& note : diagnostic.notes()) {
      const uint32_t at = note.has_ordinal() ? note.ordinal() : kNoOrdinal;
      const Span place = file.source_map.SpanOf(at);
      absl::StrAppend(&text, Place(at, place, file), ": note: ", note.text(), "\n",
                      Excerpt(place, file));
    }
  }
  return text;
}

}  // namespace intent::client
