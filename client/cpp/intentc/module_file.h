#pragma once

// Modules of the command line: textual KIR (*.kir) or serialised bytes (anything else).

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/render.h"
#include "compiler/ir/module.h"

namespace intent::client {

struct ModuleFile {
  std::unique_ptr<Module> module;
  std::string bytes;  // serialised
  Sources sources;
};

// NotFound when the file cannot be read; InvalidArgument, with rendered diagnostics as its message,
// when it holds no module.
absl::StatusOr<ModuleFile> ReadModule(const std::string& path);

}  // namespace intent::client
