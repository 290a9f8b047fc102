#pragma once

// Modules of the command line: textual KIR (*.kir) or serialised bytes (anything else), and
// diagnostics shown at their place.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent::client {

struct ModuleFile {
  std::string path;
  std::string text;  // of a textual module; empty otherwise
  std::unique_ptr<Module> module;
  SourceMap source_map;
  std::string bytes;  // serialised
};

// NotFound when the file cannot be read; InvalidArgument, with the diagnostics as its message, when
// it holds no module.
absl::StatusOr<ModuleFile> ReadModule(const std::string& path);

// "kernel.kir:3:8: error E0301: ..." with the line and a caret where there is one, then notes.
std::string Render(const Diagnostic& diagnostic, const ModuleFile& file);

// The same for diagnostics that came over the wire.
std::string Render(const compile::v1::Diagnostics& diagnostics, const ModuleFile& file);

}  // namespace intent::client
