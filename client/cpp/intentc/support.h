#pragma once

// What the subcommands that speak to a daemon share.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/intentc/commands.h"
#include "client/cpp/intentc/module_file.h"

namespace intent::client {

// Prints an error and gives the exit status.
int Fail(const absl::Status& status);
// The same for text that is already rendered.
int FailWith(const std::string& rendered);

// To the daemon that was named, or to the user's own, which is started when there is none.
absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const CommandOptions& options);

CallOptions CallOptionsOf(const CommandOptions& options);

// The daemon's artifact of a module; InvalidArgument with rendered diagnostics when there are any.
struct Compiled {
  compile::v1::Artifact artifact;
  compile::v1::Manifest manifest;
};
absl::StatusOr<Compiled> CompileBy(Client& client, const ModuleFile& file,
                                   const CommandOptions& options);

}  // namespace intent::client
