#include "client/cpp/intentc/module_file.h"

#include <utility>
#include <vector>

#include "client/cpp/intentc/files.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"

namespace intent::client {

absl::StatusOr<ModuleFile> ReadModule(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  ModuleFile file;
  file.sources.name = path;
  std::vector<Diagnostic> diagnostics;
  if (path.ends_with(".kir")) {
    ParsedModule parsed = ParseModule(*bytes, path);
    file.module = std::move(parsed.module);
    file.sources.map = std::move(parsed.source_map);
    file.sources.texts = {*std::move(bytes)};
    diagnostics = std::move(parsed.diagnostics);
    if (file.module != nullptr) file.bytes = EncodeModule(*file.module);
  } else {
    DecodedModule decoded = DecodeModule(*bytes);
    file.module = std::move(decoded.module);
    file.bytes = *std::move(bytes);
    diagnostics = std::move(decoded.diagnostics);
  }
  if (file.module != nullptr) return file;
  return absl::InvalidArgumentError(Render(diagnostics, file.sources));
}

}  // namespace intent::client
