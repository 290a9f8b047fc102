#pragma once

// Client: a connection to an intent-compiled daemon.
//
//   auto client = Client::Connect("unix:/run/user/1000/i.sock");
//   auto outcome = (*client)->Compile({.module = EncodeModule(module), .target = "native"});
//   const auto& artifact = std::get<compile::v1::Artifact>(*outcome);
//   auto result = (*client)->Execute(artifact.id(), allocations, arguments);
//
// Calls block and are thread-safe; any number may be in flight. Each is tried once more, after a
// short random wait, when the daemon was lost or says that waiting helps (a full queue); never an
// execution that may have run.
//
// A mistake in a module or in arguments is an outcome (Diagnostics, RunError). Statuses are about
// everything else, as docs/protocol.md lists them: UNAVAILABLE when there is no daemon,
// PERMISSION_DENIED when its socket belongs neither to this user nor to root (checked before each
// call), DEADLINE_EXCEEDED, CANCELLED.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cancellation.h"
#include "intent/admin/v1/admin.pb.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::client {

struct CallOptions {
  std::optional<std::chrono::milliseconds> timeout;  // of the whole call; absent: the daemon's
  Cancellation* cancellation = nullptr;
};

struct CompileParameters {
  std::string module;      // serialised KIR (EncodeModule)
  std::string source_map;  // serialised (EncodeSourceMap), or empty
  std::vector<compile::v1::Binding> bindings = {};
  std::string target = "native";
  compile::v1::CompileOptions options = {};
  compile::v1::CachePolicy cache = compile::v1::CACHE_POLICY_USE;
  std::vector<std::string> inline_payloads = {};  // come with the artifact when at most 1 MiB each
};

using CompileOutcome = std::variant<compile::v1::Artifact, compile::v1::Diagnostics>;

// Host memory of one execution; views of it are the arguments (arguments.h), so views that overlap
// here overlap in the kernel.
struct HostAllocation {
  char* data = nullptr;
  uint64_t size = 0;
  bool sent = true;       // its content goes to the kernel; otherwise the kernel sees zeros
  bool returned = false;  // the kernel's content comes back; undefined after a status
};

using ExecuteOutcome = std::variant<execute::v1::Completed, execute::v1::RunError>;

class Client {
 public:
  // "unix:/path". InvalidArgument for other addresses. Returns at once; the first call connects.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address);
  virtual ~Client() = default;

  virtual absl::StatusOr<CompileOutcome> Compile(const CompileParameters& parameters,
                                                 const CallOptions& options = {}) = 0;

  // What the daemon's caches have under that id, or for an equal Compile; nothing when that would
  // have to compile.
  virtual absl::StatusOr<std::optional<compile::v1::Artifact>> Lookup(
      const std::string& artifact_id, const CallOptions& options = {}) = 0;
  virtual absl::StatusOr<std::optional<compile::v1::Artifact>> Lookup(
      const CompileParameters& parameters, const CallOptions& options = {}) = 0;

  // A payload of any size. NOT_FOUND when the artifact was evicted: compile again.
  virtual absl::StatusOr<std::string> GetPayload(const std::string& artifact_id,
                                                 const std::string& name,
                                                 const CallOptions& options = {}) = 0;

  // `arguments` name allocations by their position. Data of up to 1 MiB in all go inline, more in
  // chunks of a stream.
  virtual absl::StatusOr<ExecuteOutcome> Execute(
      const std::string& artifact_id, const std::vector<HostAllocation>& allocations,
      const std::vector<execute::v1::Argument>& arguments, const CallOptions& options = {}) = 0;

  virtual absl::StatusOr<admin::v1::Statistics> Statistics(const CallOptions& options = {}) = 0;
  virtual absl::StatusOr<admin::v1::Capabilities> Capabilities(const CallOptions& options = {}) = 0;
  virtual absl::StatusOr<admin::v1::Config> Config(const CallOptions& options = {}) = 0;
};

// What the daemon's log calls the call that ended with this status; empty: the daemon never saw it.
std::string RequestIdOf(const absl::Status& status);

}  // namespace intent::client
