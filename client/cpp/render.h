#pragma once

// Diagnostics and run errors as their author should see them: file, line, the line's text and a
// caret below it, then notes. The daemon names operations by ordinal; the places come from the
// caller's own source map.
//
// Author's text is shown with control characters replaced. Thread-safe: no state.

#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::client {

struct Sources {
  std::string name;  // of the module, shown where there is no place
  SourceMap map;
  std::vector<std::string> texts;  // of the map's files; a missing or empty one: no excerpts
};

// "kernel.kir:3:8: error E0301: ..." and so on; each ends with a newline.
std::string Render(const Diagnostic& diagnostic, const Sources& sources);
std::string Render(const std::vector<Diagnostic>& diagnostics, const Sources& sources);
std::string Render(const compile::v1::Diagnostics& diagnostics, const Sources& sources);

// "kernel.kir:4:8: error E1101: index 5 is out of bounds of x, axis 0, which has 4 elements", with
// the excerpt, and the other side of a conflict as a note.
std::string Render(const execute::v1::RunError& error, const Sources& sources);

}  // namespace intent::client
