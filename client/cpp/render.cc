#include "client/cpp/render.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace intent::client {
namespace {

constexpr size_t kMaxColumns = 160;  // of an excerpt; longer lines are cut around the caret

std::string Place(const Span& span, uint32_t ordinal, const Sources& sources) {
  if (span.line != 0) {
    const std::vector<std::string>& files = sources.map.files;
    return absl::StrCat(span.file < files.size() ? files[span.file] : sources.name, ":", span.line,
                        ":", span.column);
  }
  if (ordinal != kNoOrdinal) return absl::StrCat(sources.name, ": operation ", ordinal);
  return sources.name;
}

std::string_view LineOf(std::string_view text, uint32_t line) {
  for (uint32_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool ContinuesCharacter(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

// The span's line, and below it a caret with a tail to the span's end. Columns count bytes, the
// caret line one column for each character.
std::string Excerpt(const Span& span, const Sources& sources) {
  if (span.line == 0 || span.column == 0 || span.file >= sources.texts.size()) return "";
  std::string_view line = LineOf(sources.texts[span.file], span.line);
  size_t begin = span.column - 1;
  if (line.empty() || begin > line.size()) return "";
  size_t end = span.end_line == span.line ? size_t{span.end_column} : size_t{span.column};
  end = std::clamp<size_t>(end == 0 ? 0 : end - 1, begin, line.size());
  if (line.size() > kMaxColumns) {
    size_t cut = begin > kMaxColumns / 2 ? begin - kMaxColumns / 2 : 0;
    while (cut > 0 && ContinuesCharacter(line[cut])) --cut;
    line = line.substr(cut, kMaxColumns);
    begin -= cut;
    end = std::min(end - cut, line.size());
  }
  std::string shown, marks;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool control = line[i] != '\t' && absl::ascii_iscntrl(line[i]);
    shown.push_back(control ? '?' : line[i]);
    if (ContinuesCharacter(line[i]) || (i >= end && i != begin)) continue;
    marks.push_back(i == begin ? '^' : i > begin ? '~' : line[i] == '\t' ? '\t' : ' ');
  }
  if (begin >= line.size()) marks.push_back('^');
  return absl::StrCat("  ", shown, "\n  ", marks, "\n");
}

struct Remark {
  std::string label;  // "error E0301"
  uint32_t ordinal = kNoOrdinal;
  Span span;
  std::string text;
};

void Append(const Remark& remark, const Sources& sources, std::string* out) {
  const Span span = remark.span.line != 0 ? remark.span : sources.map.SpanOf(remark.ordinal);
  absl::StrAppend(out, Place(span, remark.ordinal, sources), ": ", remark.label, ": ", remark.text,
                  "\n", Excerpt(span, sources));
}

// "x, axis 1"; empty when the error is not about a parameter.
std::string Subject(const execute::v1::RunError& error, const Sources& sources) {
  if (!error.has_parameter()) return "";
  const std::vector<std::string>& names = sources.map.parameter_names;
  std::string text = error.parameter() < names.size() ? names[error.parameter()] : "";
  if (text.empty()) text = absl::StrCat("parameter ", error.parameter());
  if (error.has_axis()) absl::StrAppend(&text, ", axis ", error.axis());
  return text;
}

// In the author's names where the error has its numbers; otherwise what its maker said.
std::string Describe(const execute::v1::RunError& error, const Sources& sources) {
  using execute::v1::RunError;
  const std::string subject = Subject(error, sources);
  const bool has_numbers = error.value() != 0 || error.limit() != 0;
  if (error.kind() == RunError::KIND_OUT_OF_BOUNDS && has_numbers) {
    return absl::StrCat("index ", error.value(), " is out of bounds of ",
                        subject.empty() ? "a tensor, buffer or histogram" : subject, ", which has ",
                        error.limit(), " elements");
  }
  if (error.kind() == RunError::KIND_BAD_SHAPE && has_numbers && !subject.empty()) {
    return absl::StrCat("shapes do not agree: ", subject, " has ", error.value(), ", but ",
                        error.limit(), " is needed");
  }
  return subject.empty() ? error.message() : absl::StrCat(subject, ": ", error.message());
}

}  // namespace

std::string Render(const Diagnostic& diagnostic, const Sources& sources) {
  std::string out;
  const std::string label =
      absl::StrCat(diagnostic.severity == Severity::kWarning ? "warning " : "error ",
                   std::string(CodeText(diagnostic.code)));
  Append({label, diagnostic.ordinal, diagnostic.span, diagnostic.message}, sources, &out);
  for (const DiagnosticNote& note : diagnostic.notes) {
    Append({"note", note.ordinal, note.span, note.text}, sources, &out);
  }
  return out;
}

std::string Render(const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    absl::StrAppend(&out, Render(diagnostic, sources));
  }
  return out;
}

std::string Render(const compile::v1::Diagnostics& diagnostics, const Sources& sources) {
  std::string out;
  for (const compile::v1::Diagnostic& diagnostic : diagnostics.diagnostics()) {
    const std::string label =
        absl::StrCat(diagnostic.severity() == compile::v1::SEVERITY_WARNING ? "warning " : "error ",
                     diagnostic.code());
    const uint32_t ordinal = diagnostic.has_ordinal() ? diagnostic.ordinal() : kNoOrdinal;
    Append({label, ordinal, {}, diagnostic.message()}, sources, &out);
    for (const compile::v1::DiagnosticNote& note : diagnostic.notes()) {
      Append({"note", note.has_ordinal() ? note.ordinal() : kNoOrdinal, {}, note.text()}, sources,
             &out);
    }
  }
  return out;
}

std::string Render(const execute::v1::RunError& error, const Sources& sources) {
  std::string out;
  const std::string label =
      error.code().empty() ? "error" : absl::StrCat("error ", error.code());
  // A promise about a parameter itself is shown at the parameter.
  const std::vector<Span>& spans = sources.map.parameter_spans;
  const bool at_parameter = !error.has_ordinal() && error.has_parameter() &&
                            !error.code().empty() && error.parameter() < spans.size();
  Append({label, error.has_ordinal() ? error.ordinal() : kNoOrdinal,
          at_parameter ? spans[error.parameter()] : Span{}, Describe(error, sources)},
         sources, &out);
  if (error.has_other_ordinal()) {
    Append({"note", error.other_ordinal(), {}, "the other access"}, sources, &out);
  }
  return out;
}

}  // namespace intent::client
