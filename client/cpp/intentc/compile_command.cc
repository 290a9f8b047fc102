// compile: an artifact by a daemon, its parts in a folder.

#include <google/protobuf/text_format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/intentc/bindings.h"
#include "client/cpp/intentc/commands.h"
#include "client/cpp/intentc/files.h"
#include "client/cpp/intentc/support.h"
#include "client/cpp/report.h"
#include "compiler/driver/c_header.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/print.h"
#include "compiler/specialize/specialize.h"

namespace intent::client {
namespace {

std::string FileNameOf(const std::string& payload) {
  static const std::map<std::string_view, std::string_view> kNames = {
      {"object", "kernel.o"},   {"shared_object", "kernel.so"}, {"kir", "kernel.kir"},
      {"report", "report.txt"}, {"tile", "kernel.tile"},        {"llvm", "kernel.ll"},
      {"passes", "passes.txt"}, {"cubin", "kernel.cubin"},      {"ptx", "kernel.ptx"},
      {"cuda", "kernel.cu"},
  };
  const auto known = kNames.find(payload);
  return known != kNames.end() ? std::string(known->second) : payload;
}

// Names come from a daemon: none of them may leave the folder.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::string TimesText(const compile::v1::Artifact& artifact) {
  std::string text;
  for (const compile::v1::StageTime& time : artifact.times()) {
    absl::StrAppend(&text, time.stage(), " ",
                    absl::StrFormat("%.3f ms\n", static_cast<double>(time.nanoseconds()) / 1e6));
  }
  return text;
}

void PrintArtifact(const Compiled& compiled) {
  const compile::v1::CacheInfo& cache = compiled.artifact.cache();
  std::string where = compile::v1::CacheInfo::Where_Name(cache.where());
  where = where.substr(where.find('_') + 1);
  std::printf("artifact %s\ntarget %s\ncache %s%s\n",
              absl::BytesToHexString(compiled.artifact.id()).c_str(),
              compiled.manifest.target().c_str(), where.c_str(),
              cache.canonical() ? " (an equivalent module's)" : "");
  for (const compile::v1::StageTime& time : compiled.artifact.times()) {
    std::printf("time %s %.3f ms\n", time.stage().c_str(),
                static_cast<double>(time.nanoseconds()) / 1e6);
  }
}

absl::Status WritePart(const std::filesystem::path& path, std::string_view bytes) {
  absl::Status status = WriteFile(path.string(), bytes);
  if (status.ok()) std::printf("wrote %s (%zu bytes)\n", path.c_str(), bytes.size());
  return status;
}

// The kernel's canonical KIR, readable.
std::string KirText(const std::string& bytes) {
  const DecodedModule decoded = DecodeModule(bytes);
  return decoded.ok() ? PrintModule(*decoded.module) : bytes;
}

// The report, at the lines of the file.
std::string ReportText(const Compiled& compiled, const ModuleFile& file,
                       const CommandOptions& options) {
  const auto bindings = ParseBindings(*file.module, file.sources.map, options.bindings);
  const std::vector<uint32_t> ordinals =
      bindings.ok() ? OrdinalsInArtifacts(*file.module, *bindings) : std::vector<uint32_t>();
  return RenderReport(compiled.manifest, ordinals, file.sources);
}

absl::Status WriteParts(Client& client, const Compiled& compiled, const ModuleFile& file,
                        const CommandOptions& options) {
  const std::filesystem::path folder = options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", folder.string(), ": ", error.message()));
  }
  std::string manifest_text;
  google::protobuf::TextFormat::PrintToString(compiled.manifest, &manifest_text);
  absl::Status status = WritePart(folder / "manifest.pb", compiled.artifact.manifest());
  if (status.ok()) status = WritePart(folder / "manifest.txt", manifest_text);
  if (status.ok()) status = WritePart(folder / "times.txt", TimesText(compiled.artifact));
  for (const compile::v1::Payload& payload : compiled.artifact.payloads()) {
    if (!status.ok()) return status;
    if (!IsPlainName(payload.name())) {
      return absl::DataLossError("the daemon names a payload that is no file name");
    }
    absl::StatusOr<std::string> bytes =
        client.GetPayload(compiled.artifact.id(), payload.name(), CallOptionsOf(options));
    if (!bytes.ok()) return bytes.status();
    if (payload.name() == "kir") *bytes = KirText(*bytes);
    if (payload.name() == "report") *bytes = ReportText(compiled, file, options);
    if (payload.name() == "shared_object") {
      const SourceMap& map = file.sources.map;
      const absl::StatusOr<std::string> header = CHeader(
          compiled.manifest, *bytes, {map.kernel_name, map.parameter_names, map.symbol_names});
      if (!header.ok()) return header.status();
      status = WritePart(folder / "kernel.h", *header);
      if (!status.ok()) return status;
    }
    status = WritePart(folder / FileNameOf(payload.name()), *bytes);
  }
  return status;
}

}  // namespace

int CompileCommand(const CommandOptions& given) {
  CommandOptions options = given;
  if (options.target.empty()) options.target = "native";
  const absl::StatusOr<ModuleFile> file = ReadModule(options.file);
  if (!file.ok()) return Fail(file.status());
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(options);
  if (!client.ok()) return Fail(client.status());
  const absl::StatusOr<Compiled> compiled = CompileBy(**client, *file, options);
  if (!compiled.ok()) return Fail(compiled.status());
  PrintArtifact(*compiled);
  if (options.output.empty()) return 0;
  const absl::Status status = WriteParts(**client, *compiled, *file, options);
  return status.ok() ? 0 : Fail(status);
}

}  // namespace intent::client
