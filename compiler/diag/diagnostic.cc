#include "compiler/diag/diagnostic.h"

#include <array>

namespace intent {
namespace {

struct CodeInfo {
  std::string_view code;
  std::string_view summary;
};

constexpr CodeInfo kCodes[] = {
#define INTENT_DIAGNOSTIC(name, code, summary) {code, summary},
#include "compiler/diag/codes.def"
#undef INTENT_DIAGNOSTIC
};

std::string Place(uint32_t ordinal, const Span& span) {
  if (span.line != 0) return " at " + std::to_string(span.line) + ":" + std::to_string(span.column);
  if (ordinal != kNoOrdinal) return " at op " + std::to_string(ordinal);
  return "";
}

}  // namespace

std::string_view CodeText(DiagnosticCode code) { return kCodes[static_cast<size_t>(code)].code; }

std::string_view CodeSummary(DiagnosticCode code) {
  return kCodes[static_cast<size_t>(code)].summary;
}

Diagnostic& DiagnosticSink::Error(DiagnosticCode code, uint32_t ordinal, std::string message) {
  ++errors_;
  Diagnostic diagnostic{.code = code, .ordinal = ordinal, .message = std::move(message)};
  if (diagnostics_.size() >= limit_) {
    dropped_ = std::move(diagnostic);
    return dropped_;
  }
  diagnostics_.push_back(std::move(diagnostic));
  return diagnostics_.back();
}

std::string ToString(const Diagnostic& diagnostic) {
  std::string text = diagnostic.severity == Severity::kError ? "error " : "warning ";
  text += std::string(CodeText(diagnostic.code)) + Place(diagnostic.ordinal, diagnostic.span) +
          ": " + diagnostic.message;
  for (const DiagnosticNote& note : diagnostic.notes) {
    text += "\n  note" + Place(note.ordinal, note.span) + ": " + note.text;
  }
  return text;
}

}  // namespace intent
