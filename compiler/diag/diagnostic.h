#pragma once

// One type for every mistake of a user. A diagnostic names a code, the operation (by its ordinal in
// the module; the client joins file and line from its own source map), and both sides of the
// disagreement. Messages are lower case, without a full stop, and carry no author's names from the
// module.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace intent {

// A place in an author's file. Lines and columns count from 1; columns count UTF-8 bytes.
struct Span {
  uint32_t file = 0;  // index into SourceMap::files
  uint32_t line = 0;  // 0: unknown
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  bool operator==(const Span&) const = default;
};

enum class DiagnosticCode : uint16_t {
#define INTENT_DIAGNOSTIC(name, code, summary) name,
#include "compiler/diag/codes.def"
#undef INTENT_DIAGNOSTIC
};

std::string_view CodeText(DiagnosticCode code);     // "E0201"
std::string_view CodeSummary(DiagnosticCode code);  // "operands of different dtypes; ..."

enum class Severity : uint8_t { kError, kWarning };

inline constexpr uint32_t kNoOrdinal = 0xffffffffu;

struct DiagnosticNote {
  uint32_t ordinal = kNoOrdinal;
  std::string text;
  Span span = {};
};

struct Diagnostic {
  Severity severity = Severity::kError;
  DiagnosticCode code;
  uint32_t ordinal = kNoOrdinal;  // the operation, or kNoOrdinal for the module as a whole
  std::string message;
  std::vector<DiagnosticNote> notes;
  Span span = {};  // filled by whoever has the source map (builder, client); line 0 elsewhere
};

// Collects diagnostics; beyond `limit` errors it only counts, so that hostile input cannot grow it.
class DiagnosticSink {
 public:
  explicit DiagnosticSink(size_t limit = 64) : limit_(limit) {}

  Diagnostic& Error(DiagnosticCode code, uint32_t ordinal, std::string message);
  bool ok() const { return errors_ == 0; }
  size_t errors() const { return errors_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  std::vector<Diagnostic> Take() { return std::move(diagnostics_); }

 private:
  size_t limit_;
  size_t errors_ = 0;
  std::vector<Diagnostic> diagnostics_;
  Diagnostic dropped_;
};

// "error E0201 at op 17: f32 and f64 ..." with notes on lines of their own.
std::string ToString(const Diagnostic& diagnostic);

}  // namespace intent
