#include "client/cpp/commands.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "client/cpp/embedded.h"
#include "client/cpp/kernel_arguments.h"
#include "client/cpp/module_file.h"
#include "compiler/driver/manifest.h"
#include "compiler/ir/print.h"
#include "compiler/runtime/run_interpreted.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent::client {
namespace {

int Fail(const absl::Status& status) {
  std::string message(status.message());
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::fprintf(stderr, "%s%s\n", message.find(": error ") == std::string::npos ? "error: " : "",
               message.c_str());
  return 1;
}

int Fail(const std::string& diagnostics) {
  std::fputs(diagnostics.c_str(), stderr);
  return 1;
}

std::string RenderAll(const std::vector<Diagnostic>& diagnostics, const ModuleFile& file) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    absl::StrAppend(&text, Render(diagnostic, file));
  }
  return text;
}

absl::StatusOr<ConstexprValue> ParseConstexpr(const std::string& text,
                                              const ConstexprParameter& parameter) {
  ConstexprValue value;
  value.kind = parameter.kind;
  value.enum_type = parameter.enum_type;
  bool ok = false;
  switch (parameter.kind) {
    case ConstexprKind::kInt:
    case ConstexprKind::kEnum:
      ok = absl::SimpleAtoi(text, &value.int_value);
      break;
    case ConstexprKind::kFloat:
      ok = absl::SimpleAtod(text, &value.float_value);
      break;
    case ConstexprKind::kBool:
      ok = text == "true" || text == "false";
      value.int_value = text == "true";
      break;
  }
  if (ok) return value;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no value of that constexpr"));
}

absl::StatusOr<std::vector<Binding>> Bindings(const ModuleFile& file,
                                              const CommandOptions& options) {
  std::vector<Binding> bindings;
  for (const auto& [name, text] : options.bindings) {
    const std::vector<std::string>& names = file.source_map.constexpr_names;
    uint32_t position = std::find(names.begin(), names.end(), name) - names.begin();
    if (position == names.size() && !absl::SimpleAtoi(name, &position)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no constexpr ", name));
    }
    if (position >= file.module->constexprs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no constexpr ", name));
    }
    absl::StatusOr<ConstexprValue> value = ParseConstexpr(text, file.module->constexprs[position]);
    if (!value.ok()) return value.status();
    bindings.push_back({position, *value});
  }
  std::sort(bindings.begin(), bindings.end(),
            [](const Binding& a, const Binding& b) { return a.parameter < b.parameter; });
  return bindings;
}

compile::v1::Binding ToWire(const Binding& binding) {
  compile::v1::Binding wire;
  wire.set_parameter(binding.parameter);
  switch (binding.value.kind) {
    case ConstexprKind::kInt:
      wire.set_int_value(binding.value.int_value);
      break;
    case ConstexprKind::kFloat:
      wire.set_float_value(binding.value.float_value);
      break;
    case ConstexprKind::kBool:
      wire.set_bool_value(binding.value.int_value != 0);
      break;
    case ConstexprKind::kEnum:
      wire.mutable_enum_value()->set_enum_type(binding.value.enum_type);
      wire.mutable_enum_value()->set_value(binding.value.int_value);
      break;
  }
  return wire;
}

// The daemon's artifact; an error that has diagnostics has them as its message.
absl::StatusOr<compile::v1::Artifact> Remote(Client& client, const ModuleFile& file,
                                             const CommandOptions& options) {
  const absl::StatusOr<std::vector<Binding>> bindings = Bindings(file, options);
  if (!bindings.ok()) return bindings.status();
  CompileParameters parameters;
  parameters.module = file.bytes;
  for (const Binding& binding : *bindings) parameters.bindings.push_back(ToWire(binding));
  parameters.target = options.target;
  parameters.options.set_opt_level(options.opt_level);
  parameters.options.set_keep_source(options.keep_source);
  absl::StatusOr<CompileOutcome> outcome = client.Compile(parameters);
  if (!outcome.ok()) return outcome.status();
  if (const auto* diagnostics = std::get_if<compile::v1::Diagnostics>(&*outcome)) {
    return absl::InvalidArgumentError(Render(*diagnostics, file));
  }
  return std::get<compile::v1::Artifact>(*std::move(outcome));
}

// To the server that was named, or to the user's own daemon.
absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const std::string& server) {
  if (!server.empty()) return Client::Connect(server);
  const absl::StatusOr<std::string> address = EmbeddedAddress(DaemonBeside());
  if (!address.ok()) return address.status();
  return Client::Connect(*address);
}

absl::Status WriteFile(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.flush();
  if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path.string()));
  return absl::OkStatus();
}

void PrintArtifact(const compile::v1::Artifact& artifact, const compile::v1::Manifest& manifest) {
  std::printf(
      "artifact %s\ntarget %s\ncache %s%s\n", absl::BytesToHexString(artifact.id()).c_str(),
      manifest.target().c_str(),
      compile::v1::CacheInfo::Where_Name(artifact.cache().where()).c_str() + sizeof("WHERE_") - 1,
      artifact.cache().canonical() ? " (an equivalent module's)" : "");
  for (const compile::v1::StageTime& time : artifact.times()) {
    std::printf("time %s %.3f ms\n", time.stage().c_str(), time.nanoseconds() / 1e6);
  }
}

std::string Describe(const execute::v1::RunError& error, const ModuleFile& file) {
  const Span span = error.has_ordinal() ? file.source_map.SpanOf(error.ordinal()) : Span{};
  return absl::StrCat(
      file.path, span.line != 0 ? absl::StrCat(":", span.line) : "", ": ",
      execute::v1::RunError::Kind_Name(error.kind()),
      error.has_parameter() ? absl::StrCat(" at parameter ", error.parameter()) : "",
      error.has_axis() ? absl::StrCat(", axis ", error.axis()) : "", ": ", error.message(), "\n");
}

// One line per array that the kernel wrote, and the files that were asked for.
absl::Status PrintResults(KernelArguments& arguments, const CommandOptions& options) {
  for (KernelArguments::Parameter& parameter : arguments.parameters()) {
    if (!parameter.written) continue;
    std::string shape;
    for (const int64_t extent : parameter.array.shape) absl::StrAppend(&shape, " ", extent);
    std::printf("%s %s [%s ]", parameter.name.c_str(),
                std::string(DTypeName(parameter.dtype)).c_str(), shape.c_str());
    const size_t bytes = StorageBytes(parameter.dtype);
    for (size_t i = 0; i < 8 && (i + 1) * bytes <= parameter.array.data.size(); ++i) {
      const char* element = parameter.array.data.data() + i * bytes;
      if (parameter.dtype == DType::kF32) {
        std::printf(" %.9g", *reinterpret_cast<const float*>(element));
      } else if (parameter.dtype == DType::kF64) {
        std::printf(" %.17g", *reinterpret_cast<const double*>(element));
      } else {
        uint64_t bits = 0;
        for (size_t b = bytes; b-- > 0;) bits = bits << 8 | static_cast<uint8_t>(element[b]);
        std::printf(" 0x%llx", static_cast<unsigned long long>(bits));
      }
    }
    std::printf("\n");
    const auto output = options.outputs.find(parameter.name);
    if (output == options.outputs.end()) continue;
    absl::Status status = WriteNpy(output->second, parameter.dtype, parameter.array);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelArguments> MakeArguments(const compile::v1::Manifest& manifest,
                                              const ModuleFile& file,
                                              const CommandOptions& options) {
  return KernelArguments::Make(manifest,
                               {file.source_map.parameter_names, file.source_map.symbol_names},
                               {options.arguments, options.sizes});
}

int RunRemotely(const ModuleFile& file, const CommandOptions& options) {
  const std::unique_ptr<Client> client = Client::Connect(options.server);
  const absl::StatusOr<compile::v1::Artifact> artifact = Remote(*client, file, options);
  if (!artifact.ok()) return Fail(artifact.status());
  compile::v1::Manifest manifest;
  if (!manifest.ParseFromString(artifact->manifest())) {
    return Fail(absl::DataLossError("the manifest does not parse"));
  }
  absl::StatusOr<KernelArguments> arguments = MakeArguments(manifest, file, options);
  if (!arguments.ok()) return Fail(arguments.status());
  const absl::StatusOr<ExecuteOutcome> outcome =
      client->Execute(artifact->id(), arguments->Allocations(), arguments->arguments());
  if (!outcome.ok()) return Fail(outcome.status());
  if (const auto* error = std::get_if<execute::v1::RunError>(&*outcome)) {
    return Fail(Describe(*error, file));
  }
  const absl::Status printed = PrintResults(*arguments, options);
  return printed.ok() ? 0 : Fail(printed);
}

int RunHere(ModuleFile file, const CommandOptions& options) {
  const absl::StatusOr<std::vector<Binding>> bindings = Bindings(file, options);
  if (!bindings.ok()) return Fail(bindings.status());
  std::vector<Diagnostic> diagnostics = Verify(*file.module);
  if (diagnostics.empty()) diagnostics = Specialize(file.module.get(), *bindings);
  if (!diagnostics.empty()) return Fail(RenderAll(diagnostics, file));
  Canonicalize(file.module.get());
  compile::v1::Manifest manifest;
  manifest.ParseFromString(
      MakeManifest(*file.module, Target{TargetKind::kInterpreter, "interp", {}}, "", {}));
  absl::StatusOr<KernelArguments> arguments = MakeArguments(manifest, file, options);
  if (!arguments.ok()) return Fail(arguments.status());
  std::vector<BoundAllocation> allocations;
  for (const HostAllocation& allocation : arguments->Allocations()) {
    allocations.push_back(
        {static_cast<uint32_t>(allocations.size()), allocation.data, allocation.size});
  }
  const google::protobuf::RepeatedPtrField<execute::v1::Argument> wire(
      arguments->arguments().begin(), arguments->arguments().end());
  const auto bound = Bind(manifest, allocations, wire);
  std::optional<execute::v1::RunError> error;
  if (const auto* refused = std::get_if<execute::v1::RunError>(&bound)) {
    error = *refused;
  } else {
    error = RunInterpreted(*file.module, manifest, std::get<BoundCall>(bound), nullptr);
  }
  if (error.has_value()) return Fail(Describe(*error, file));
  const absl::Status printed = PrintResults(*arguments, options);
  return printed.ok() ? 0 : Fail(printed);
}

}  // namespace

int VerifyCommand(const CommandOptions& options) {
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  const std::vector<Diagnostic> diagnostics = Verify(*file->module);
  if (!diagnostics.empty()) return Fail(RenderAll(diagnostics, *file));
  std::printf("%s verifies\n", options.file.c_str());
  return 0;
}

int PrintCommand(const CommandOptions& options) {
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

int CompileCommand(const CommandOptions& options) {
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(options.server);
  if (!client.ok()) return Fail(client.status());
  const absl::StatusOr<compile::v1::Artifact> artifact = Remote(**client, *file, options);
  if (!artifact.ok()) return Fail(artifact.status());
  compile::v1::Manifest manifest;
  if (!manifest.ParseFromString(artifact->manifest())) {
    return Fail(absl::DataLossError("the manifest does not parse"));
  }
  PrintArtifact(*artifact, manifest);
  if (options.output.empty()) return 0;
  const std::filesystem::path folder = options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  absl::Status status = WriteFile(folder / "manifest.pb", artifact->manifest());
  for (const compile::v1::Payload& payload : artifact->payloads()) {
    if (!status.ok()) break;
    // Names come from a daemon: none of them may leave the folder.
    if (payload.name().empty() || payload.name().find_first_of("/.") != std::string::npos) continue;
    const absl::StatusOr<std::string> bytes = (*client)->GetPayload(artifact->id(), payload.name());
    if (!bytes.ok()) return Fail(bytes.status());
    const std::string name = payload.name() == "object" ? "kernel.o" : payload.name();
    status = WriteFile(folder / name, *bytes);
    std::printf("wrote %s (%zu bytes)\n", (folder / name).c_str(), bytes->size());
  }
  return status.ok() ? 0 : Fail(status);
}

int RunCommand(const CommandOptions& options) {
  absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  if (options.server.empty()) return RunHere(*std::move(file), options);
  return RunRemotely(*file, options);
}

int StatsCommand(const CommandOptions& options) {
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(options.server);
  if (!client.ok()) return Fail(client.status());
  const absl::StatusOr<admin::v1::Statistics> statistics = (*client)->Statistics();
  if (!statistics.ok()) return Fail(statistics.status());
  std::string text;
  if (options.json) {
    google::protobuf::util::JsonPrintOptions json;
    json.add_whitespace = true;
    json.always_print_primitive_fields = true;
    json.preserve_proto_field_names = true;
    (void)google::protobuf::util::MessageToJsonString(*statistics, &text, json);
  } else {
    const google::protobuf::Descriptor& descriptor = *statistics->GetDescriptor();
    const google::protobuf::Reflection& reflection = *statistics->GetReflection();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const google::protobuf::FieldDescriptor* field = descriptor.field(i);
      absl::StrAppend(&text, field->name(), " ",
                      field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT64
                          ? absl::StrCat(reflection.GetUInt64(*statistics, field))
                          : reflection.GetString(*statistics, field),
                      "\n");
    }
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace intent::client
