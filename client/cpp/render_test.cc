// How mistakes are shown: place, line, caret, notes.

#include "client/cpp/render.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace intent::client {
namespace {

Sources SourcesOf(std::string text, const Span& first_operation = {}) {
  Sources sources;
  sources.name = "module.bin";
  sources.map.files = {"kernel.kir"};
  sources.map.spans = {first_operation};
  sources.map.parameter_names = {"x"};
  sources.texts = {std::move(text)};
  return sources;
}

Diagnostic At(const Span& span) {
  return {.code = DiagnosticCode::kDtypeMismatch, .message = "f32 and f64", .span = span};
}

TEST(Render, ShowsTheLineWithACaretAndATailToTheEnd) {
  EXPECT_EQ(Render(At({0, 2, 3, 2, 6}), SourcesOf("first\n  abc = d\n")),
            "kernel.kir:2:3: error E0201: f32 and f64\n"
            "    abc = d\n"
            "    ^~~\n");
}

TEST(Render, ASpanWithoutEndHasACaretAlone) {
  EXPECT_EQ(Render(At({0, 1, 2}), SourcesOf("abc")),
            "kernel.kir:1:2: error E0201: f32 and f64\n  abc\n   ^\n");
}

TEST(Render, ASpanOfSeveralLinesIsMarkedAtItsBegin) {
  EXPECT_EQ(Render(At({0, 1, 1, 2, 2}), SourcesOf("ab\ncd\n")),
            "kernel.kir:1:1: error E0201: f32 and f64\n  ab\n  ^\n");
}

TEST(Render, CaretsCountCharactersNotBytes) {
  EXPECT_EQ(Render(At({0, 1, 5, 1, 6}), SourcesOf("\u00e4\u00f6x")),
            "kernel.kir:1:5: error E0201: f32 and f64\n  \u00e4\u00f6x\n    ^\n");
}

TEST(Render, TabsStayTabsAndOtherControlCharactersAreNotShown) {
  EXPECT_EQ(Render(At({0, 1, 3}), SourcesOf("\t\x1bx")),
            "kernel.kir:1:3: error E0201: f32 and f64\n  \t?x\n  \t ^\n");
}

TEST(Render, LongLinesAreCutAroundTheCaret) {
  const std::string text = Render(At({0, 1, 5001, 1, 5002}),
                                  SourcesOf(std::string(5000, 'a') + "b" + std::string(5000, 'c')));
  EXPECT_LT(text.size(), 500u);
  const size_t line = text.find('\n') + 1, marks = text.find('\n', line) + 1;
  EXPECT_EQ(text[line + (text.find('^') - marks)], 'b');
}

TEST(Render, APlaceOutsideOfTheTextIsNamedWithoutExcerpt) {
  for (const Span& span : {Span{0, 9, 1}, Span{0, 1, 99}, Span{7, 1, 1}}) {
    const std::string text = Render(At(span), SourcesOf("abc"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST(Render, WithoutAPlaceTheModuleAndTheOrdinalAreNamed) {
  Diagnostic diagnostic = At({});
  EXPECT_EQ(Render(diagnostic, SourcesOf("")), "module.bin: error E0201: f32 and f64\n");
  diagnostic.ordinal = 17;
  EXPECT_EQ(Render(diagnostic, SourcesOf("")),
            "module.bin: operation 17: error E0201: f32 and f64\n");
}

TEST(Render, WireDiagnosticsFindTheirPlaceByOrdinal) {
  compile::v1::Diagnostics diagnostics;
  compile::v1::Diagnostic& error = *diagnostics.add_diagnostics();
  error.set_code("E0301");
  error.set_ordinal(0);
  error.set_message("shapes");
  error.add_notes()->set_text("made here");
  error.mutable_notes(0)->set_ordinal(0);
  EXPECT_EQ(Render(diagnostics, SourcesOf("abc", {0, 1, 1, 1, 4})),
            "kernel.kir:1:1: error E0301: shapes\n  abc\n  ^~~\n"
            "kernel.kir:1:1: note: made here\n  abc\n  ^~~\n");
}

TEST(Render, RunErrorsNameParameterAxisAndNumbers) {
  execute::v1::RunError error;
  error.set_kind(execute::v1::RunError::KIND_OUT_OF_BOUNDS);
  error.set_ordinal(0);
  error.set_parameter(0);
  error.set_axis(1);
  error.set_value(5);
  error.set_limit(4);
  error.set_message("an access leaves its view");
  EXPECT_EQ(Render(error, SourcesOf("abc", {0, 1, 1})),
            "kernel.kir:1:1: error: index 5 is out of bounds of x, axis 1, which has 4 elements\n"
            "  abc\n  ^\n");
}

TEST(Render, RunErrorsWithoutNumbersSayWhatTheirMakerSaid) {
  execute::v1::RunError error;
  error.set_kind(execute::v1::RunError::KIND_BAD_SHAPE);
  error.set_message("shapes that must agree do not");
  EXPECT_EQ(Render(error, SourcesOf("")), "module.bin: error: shapes that must agree do not\n");
}

}  // namespace
}  // namespace intent::client
