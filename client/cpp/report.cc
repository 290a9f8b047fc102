#include "client/cpp/report.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace intent::client {
namespace {

class Places {
 public:
  Places(const std::vector<uint32_t>& ordinals, const Sources& sources)
      : ordinals_(ordinals), sources_(sources) {}

  // Line 0 if the place of an operation is not known.
  Span SpanOf(uint32_t position) const {
    return position < ordinals_.size() ? sources_.map.SpanOf(ordinals_[position]) : Span();
  }

  std::string Text(const Span& span) const {
    const std::vector<std::string>& files = sources_.map.files;
    return absl::StrCat(span.file < files.size() ? files[span.file] : sources_.name, ":",
                        span.line);
  }

 private:
  const std::vector<uint32_t>& ordinals_;
  const Sources& sources_;
};

// Each "op 12" of a text by its place, or by "line 4" in the file of `here`.
std::string WithPlaces(const std::string& text, const Span& here, const Places& places) {
  constexpr std::string_view kMark = "op ";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + kMark.size();
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    uint32_t position = 0;
    const bool word = at == 0 || !absl::ascii_isalnum(text[at - 1]);
    if (word && text.compare(at, kMark.size(), kMark) == 0 &&
        absl::SimpleAtoi(text.substr(at + kMark.size(), end - at - kMark.size()), &position)) {
      const Span span = places.SpanOf(position);
      if (span.line != 0) {
        const bool same = here.line != 0 && span.file == here.file;
        absl::StrAppend(&out, same ? absl::StrCat("line ", span.line) : places.Text(span));
        at = end;
        continue;
      }
    }
    out.push_back(absl::ascii_iscntrl(text[at]) ? '?' : text[at]);
    ++at;
  }
  return out;
}

}  // namespace

std::string RenderReport(const compile::v1::Manifest& manifest,
                         const std::vector<uint32_t>& ordinals, const Sources& sources) {
  const Places places(ordinals, sources);
  std::string out;
  for (const compile::v1::ReportLine& line : manifest.report()) {
    const Span here = line.has_ordinal() ? places.SpanOf(line.ordinal()) : Span();
    if (here.line != 0) absl::StrAppend(&out, places.Text(here), ": ");
    absl::StrAppend(&out, WithPlaces(line.stage(), here, places), ": ",
                    WithPlaces(line.text(), here, places), "\n");
  }
  return out;
}

}  // namespace intent::client
