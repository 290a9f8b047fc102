#pragma once

// For tests of checked runs: kernels in textual KIR whose lines say where an error belongs.

#include <sstream>

#include "compiler/interp/test_kernel.h"

namespace intent::interp::testing {

// The first line that ends with the mark; 0: none.
inline uint32_t LineOf(const std::string& text, const std::string& mark) {
  std::istringstream stream(text);
  uint32_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.ends_with(mark)) return number;
  }
  return 0;
}

// Runs a kernel checked. An error sits on the line marked `// <-`, the other side of a conflict on
// the one marked `// other`, or on the same.
inline std::optional<RuntimeError> RunChecked(const std::string& signature, const std::string& body,
                                              const std::vector<Argument>& arguments,
                                              Options options = {},
                                              const std::string& suffix = "") {
  const std::string text = "kernel (" + signature + ") " + suffix + " {\n" + body + "\nreturn\n}\n";
  ParsedModule parsed = ParseModule(text);
  for (const Diagnostic& diagnostic : parsed.diagnostics) ADD_FAILURE() << ToString(diagnostic);
  if (parsed.module == nullptr) return RuntimeError{};
  for (const Diagnostic& diagnostic : Verify(*parsed.module)) {
    ADD_FAILURE() << ToString(diagnostic);
    return RuntimeError{};
  }
  options.check = true;
  const auto error = Run(*parsed.module, arguments, options);
  if (error && error->ordinal != kNoOrdinal) {
    EXPECT_EQ(parsed.source_map.SpanOf(error->ordinal).line, LineOf(text, "// <-"))
        << error->message;
    if (error->other != kNoOrdinal) {
      const uint32_t other = LineOf(text, "// other");
      EXPECT_EQ(parsed.source_map.SpanOf(error->other).line,
                other != 0 ? other : LineOf(text, "// <-"))
          << error->message;
    }
  }
  return error;
}

inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Constants and domains that kernels with loops begin with.
inline constexpr char kLoops[] = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %2 = constant 2 : index
    %3 = constant 3 : index
    %4 = constant 4 : index
    %one = constant 1 : i32
    %d = domain %0, %4, %1 : domain<[4]>
    %e = domain %0, %3, %1 : domain<[3]>
)";

}  // namespace intent::interp::testing
