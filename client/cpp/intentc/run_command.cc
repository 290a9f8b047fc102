// run: a kernel on arguments of the command line, by the interpreter or by a daemon.

#include <cstdio>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/intentc/bindings.h"
#include "client/cpp/intentc/commands.h"
#include "client/cpp/intentc/kernel_arguments.h"
#include "client/cpp/intentc/print_array.h"
#include "client/cpp/intentc/support.h"
#include "compiler/driver/manifest.h"
#include "compiler/runtime/run_interpreted.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent::client {
namespace {

using Outputs = std::map<size_t, std::string>;  // files by parameter

// The files of -o and --out, checked before anything runs.
absl::StatusOr<Outputs> OutputsOf(const KernelArguments& arguments, const CommandOptions& options) {
  std::vector<size_t> written;
  std::vector<std::string> names;
  for (size_t i = 0; i < arguments.parameters().size(); ++i) {
    if (!arguments.parameters()[i].written) continue;
    written.push_back(i);
    names.push_back(arguments.parameters()[i].name);
  }
  const std::string list = absl::StrJoin(names, ", ");
  Outputs outputs;
  if (!options.output.empty()) {
    if (written.size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the kernel writes ", written.size(), " arrays (", list, "): use --out NAME=file.npy"));
    }
    outputs[written[0]] = options.output;
  }
  for (const auto& [name, path] : options.outputs) {
    size_t position = 0;
    const bool is_number = absl::SimpleAtoi(name, &position);
    bool found = false;
    for (const size_t i : written) {
      if (arguments.parameters()[i].name != name && !(is_number && i == position)) continue;
      outputs[i] = path;
      found = true;
    }
    if (!found) {
      return absl::InvalidArgumentError(
          absl::StrCat("the kernel writes no ", name, "; it writes: ", list));
    }
  }
  return outputs;
}

absl::Status PrintResults(const KernelArguments& arguments, const Outputs& outputs,
                          const CommandOptions& options) {
  for (size_t i = 0; i < arguments.parameters().size(); ++i) {
    const KernelArguments::Parameter& parameter = arguments.parameters()[i];
    if (!parameter.written) continue;
    std::printf("%s %s\n", parameter.name.c_str(),
                Summarize(parameter.array, parameter.dtype).c_str());
    if (options.print_all) {
      std::printf("%s\n", FormatArray(parameter.array, parameter.dtype).c_str());
    }
    const auto output = outputs.find(i);
    if (output == outputs.end()) continue;
    absl::Status status = WriteNpy(output->second, parameter.array, parameter.dtype);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelArguments> MakeArguments(const compile::v1::Manifest& manifest,
                                              const ModuleFile& file,
                                              const CommandOptions& options) {
  const SourceMap& map = file.sources.map;
  return KernelArguments::Make(manifest, {map.parameter_names, map.symbol_names},
                               {options.arguments, options.sizes});
}

// Artifacts name operations by their ordinals in the canonical module.
execute::v1::RunError InTermsOfTheFile(execute::v1::RunError error, const ModuleFile& file,
                                       const CommandOptions& options) {
  const auto bindings = ParseBindings(*file.module, file.sources.map, options.bindings);
  if (!error.has_ordinal() || !bindings.ok()) return error;
  const std::vector<uint32_t> ordinals = OrdinalsInArtifacts(*file.module, *bindings);
  if (error.ordinal() < ordinals.size()) error.set_ordinal(ordinals[error.ordinal()]);
  if (error.has_other_ordinal() && error.other_ordinal() < ordinals.size()) {
    error.set_other_ordinal(ordinals[error.other_ordinal()]);
  }
  return error;
}

int RunByDaemon(const ModuleFile& file, const CommandOptions& options) {
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(options);
  if (!client.ok()) return Fail(client.status());
  const absl::StatusOr<Compiled> compiled = CompileBy(**client, file, options);
  if (!compiled.ok()) return Fail(compiled.status());
  absl::StatusOr<KernelArguments> arguments = MakeArguments(compiled->manifest, file, options);
  if (!arguments.ok()) return Fail(arguments.status());
  const absl::StatusOr<Outputs> outputs = OutputsOf(*arguments, options);
  if (!outputs.ok()) return Fail(outputs.status());
  const absl::StatusOr<ExecuteOutcome> outcome =
      (*client)->Execute(compiled->artifact.id(), arguments->Allocations(), arguments->arguments(),
                         CallOptionsOf(options));
  if (!outcome.ok()) return Fail(outcome.status());
  if (const auto* error = std::get_if<execute::v1::RunError>(&*outcome)) {
    return FailWith(Render(InTermsOfTheFile(*error, file, options), file.sources));
  }
  std::printf(
      "ran on %s in %.3f ms\n", compiled->manifest.target().c_str(),
      static_cast<double>(std::get<execute::v1::Completed>(*outcome).run_nanoseconds()) / 1e6);
  const absl::Status printed = PrintResults(*arguments, *outputs, options);
  return printed.ok() ? 0 : Fail(printed);
}

std::optional<execute::v1::RunError> Interpret(const Module& module,
                                               const compile::v1::Manifest& manifest,
                                               KernelArguments& arguments) {
  std::vector<BoundAllocation> allocations;
  for (const HostAllocation& allocation : arguments.Allocations()) {
    allocations.push_back(
        {static_cast<uint32_t>(allocations.size()), allocation.data, allocation.size});
  }
  const google::protobuf::RepeatedPtrField<execute::v1::Argument> wire(
      arguments.arguments().begin(), arguments.arguments().end());
  const auto bound = Bind(manifest, allocations, wire);
  if (const auto* refused = std::get_if<execute::v1::RunError>(&bound)) return *refused;
  return RunInterpreted(module, manifest, std::get<BoundCall>(bound), nullptr);
}

int RunHere(const ModuleFile& file, const Target& target, const CommandOptions& options) {
  Module* module = file.module.get();
  const absl::StatusOr<std::vector<Binding>> bindings =
      ParseBindings(*module, file.sources.map, options.bindings);
  if (!bindings.ok()) return Fail(bindings.status());
  std::vector<Diagnostic> diagnostics = Verify(*module);
  if (diagnostics.empty()) diagnostics = Specialize(module, *bindings);
  if (!diagnostics.empty()) return FailWith(Render(diagnostics, file.sources));
  Canonicalize(module);
  compile::v1::Manifest manifest;
  manifest.ParseFromString(MakeManifest(
      *module, target, Report(),
      {.numerics = options.numerics == "relaxed_normalization" ? Numerics::kRelaxedNormalization
                                                               : Numerics::kSource}));
  absl::StatusOr<KernelArguments> arguments = MakeArguments(manifest, file, options);
  if (!arguments.ok()) return Fail(arguments.status());
  const absl::StatusOr<Outputs> outputs = OutputsOf(*arguments, options);
  if (!outputs.ok()) return Fail(outputs.status());
  if (const auto error = Interpret(*module, manifest, *arguments)) {
    return FailWith(Render(*error, file.sources));
  }
  const absl::Status printed = PrintResults(*arguments, *outputs, options);
  return printed.ok() ? 0 : Fail(printed);
}

}  // namespace

int RunCommand(const CommandOptions& given) {
  CommandOptions options = given;
  const bool check = options.check || options.laws;
  if (options.target.empty()) {
    options.target = options.daemon.empty() || check ? "interp" : "native";
  }
  if (check) {
    if (options.target != "interp") {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat("--check and --laws are of the interpreter, not of ", options.target)));
    }
    options.target = options.laws ? "interp+check+laws" : "interp+check";
  }
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  const absl::StatusOr<Target> target = ParseTarget(options.target);
  const bool here = target.ok() && target->kind == TargetKind::kInterpreter;
  return here ? RunHere(*file, *target, options) : RunByDaemon(*file, options);
}

}  // namespace intent::client
