#include "client/cpp/intentc/support.h"

#include <cmath>
#include <cstdio>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/embedded.h"
#include "client/cpp/intentc/bindings.h"
#include "compiler/ir/source_map_codec.h"

namespace intent::client {

int Fail(const absl::Status& status) {
  std::string message(status.message());
  // Rendered diagnostics have their place and severity already.
  if (absl::StrContains(message, ": error")) return FailWith(message);
  if (!absl::IsInvalidArgument(status) && !absl::IsNotFound(status)) {
    message = absl::StrCat(absl::StatusCodeToString(status.code()), ": ", message);
  }
  return FailWith(absl::StrCat("error: ", message));
}

int FailWith(const std::string& rendered) {
  std::fprintf(stderr, "%s%s", rendered.c_str(), absl::EndsWith(rendered, "\n") ? "" : "\n");
  return 1;
}

absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const CommandOptions& options) {
  if (!options.daemon.empty()) return Client::Connect(options.daemon);
  const absl::StatusOr<std::string> address = EmbeddedAddress(DaemonProgram());
  if (address.ok()) return Client::Connect(*address);
  return absl::Status(
      address.status().code(),
      absl::StrCat(address.status().message(),
                   "; name a running daemon with --daemon unix:/path or INTENT_COMPILER"));
}

CallOptions CallOptionsOf(const CommandOptions& options) {
  CallOptions call;
  if (options.timeout > 0) {
    call.timeout = std::chrono::milliseconds(std::llround(options.timeout * 1000));
  }
  return call;
}

absl::StatusOr<Compiled> CompileBy(Client& client, const ModuleFile& file,
                                   const CommandOptions& options) {
  const absl::StatusOr<std::vector<Binding>> bindings =
      ParseBindings(*file.module, file.sources.map, options.bindings);
  if (!bindings.ok()) return bindings.status();
  CompileParameters parameters;
  parameters.module = file.bytes;
  parameters.source_map = EncodeSourceMap(file.sources.map);
  parameters.bindings = ToWire(*bindings);
  parameters.target = options.target;
  parameters.options.set_opt_level(options.opt_level);
  parameters.options.set_keep_source(options.keep_source);
  parameters.options.set_keep_ptx(options.keep_ptx);
  if (options.numerics == "relaxed_normalization") {
    parameters.options.set_numerics(compile::v1::NUMERICS_RELAXED_NORMALIZATION);
  }
  if (options.bypass_cache) parameters.cache = compile::v1::CACHE_POLICY_BYPASS;
  absl::StatusOr<CompileOutcome> outcome = client.Compile(parameters, CallOptionsOf(options));
  if (!outcome.ok()) return outcome.status();
  if (const auto* diagnostics = std::get_if<compile::v1::Diagnostics>(&*outcome)) {
    return absl::InvalidArgumentError(Render(*diagnostics, file.sources));
  }
  Compiled compiled;
  compiled.artifact = std::get<compile::v1::Artifact>(*std::move(outcome));
  if (!compiled.manifest.ParseFromString(compiled.artifact.manifest())) {
    return absl::DataLossError("the artifact's manifest does not parse");
  }
  return compiled;
}

}  // namespace intent::client
