// put_artifact: writes an artifact into a daemon's disk cache as the answer to a compile of a module,
// so that tests run what no compiler here has made:
//
//   put_artifact CACHE_DIR MODULE TARGET FINGERPRINT MANIFEST CUBIN
//
// MODULE, MANIFEST and CUBIN are files; the compile is one without bindings and options.

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "cache/alias.h"
#include "cache/disk_store.h"
#include "server/artifact.h"
#include "server/compile_request.h"

namespace intent {
namespace {

std::string Read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

absl::Status Put(char** arguments) {
  compile::v1::CompileRequest request;
  request.set_module(Read(arguments[1]));
  const std::string target = arguments[2], fingerprint = arguments[3];
  worker::v1::Compiled compiled;
  compiled.set_manifest(Read(arguments[4]));
  compile::v1::Payload& cubin = *compiled.add_payloads();
  cubin.set_name("cubin");
  cubin.set_data(Read(arguments[5]));
  // The manifest stands for the canonical module.
  const cache::Key canonical =
      CanonicalKey(compiled.manifest(), request.options(), target, fingerprint);
  absl::StatusOr<ArtifactEntry> entry = MakeArtifactEntry(canonical, compiled);
  if (!entry.ok()) return entry.status();
  cache::DiskStoreOptions options;
  options.folder = arguments[0];
  options.max_bytes = uint64_t{1} << 30;
  absl::StatusOr<std::unique_ptr<cache::DiskStore>> store = cache::DiskStore::Open(options);
  if (!store.ok()) return store.status();
  if (absl::Status status = (*store)->Put(*entry); !status.ok()) return status;
  return cache::PutAlias(**store, RequestKey(request, target, fingerprint), canonical);
}

}  // namespace
}  // namespace intent

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "put_artifact CACHE_DIR MODULE TARGET FINGERPRINT MANIFEST CUBIN\n");
    return 2;
  }
  const absl::Status status = intent::Put(argv + 1);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
