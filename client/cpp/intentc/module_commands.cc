// verify, print, encode.

#include <cstdio>

#include "client/cpp/intentc/commands.h"
#include "client/cpp/intentc/files.h"
#include "client/cpp/intentc/module_file.h"
#include "client/cpp/intentc/support.h"
#include "compiler/ir/print.h"
#include "compiler/verify/verify.h"

namespace intent::client {

int VerifyCommand(const CommandOptions& options) {
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  const std::vector<Diagnostic> diagnostics = Verify(*file->module);
  if (!diagnostics.empty()) return FailWith(Render(diagnostics, file->sources));
  std::printf("%s verifies\n", options.file.c_str());
  return 0;
}

int PrintCommand(const CommandOptions& options) {
  if (!options.output.empty()) return EncodeCommand(options);
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  std::fputs(PrintModule(*file->module).c_str(), stdout);
  return 0;
}

int EncodeCommand(const CommandOptions& options) {
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  const absl::Status status = WriteFile(options.output, file->bytes);
  return status.ok() ? 0 : Fail(status);
}

}  // namespace intent::client
