#pragma once

// Client: a connection to an intent-compiled daemon.
//
// Calls block and are thread-safe. Each is tried once more, after a short random wait, when the
// daemon says that this can help (a full queue, a lost connection); never an execution that may
// have run. Statuses are the daemon's, its request id in the message; UNAVAILABLE when there is no
// daemon.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "intent/admin/v1/admin.pb.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::client {

struct CompileParameters {
  std::string module;  // serialised KIR
  std::vector<compile::v1::Binding> bindings;
  std::string target = "native";
  compile::v1::CompileOptions options;
  bool bypass_cache = false;
  std::vector<std::string> inline_payloads;
};

using CompileOutcome = std::variant<compile::v1::Artifact, compile::v1::Diagnostics>;

// Host memory of one execution.
struct HostAllocation {
  char* data = nullptr;
  uint64_t size = 0;
  bool sent = true;       // its content goes to the kernel; otherwise the kernel sees zeros
  bool returned = false;  // the kernel's result comes back into it
};

using ExecuteOutcome = std::variant<execute::v1::Completed, execute::v1::RunError>;

class Client {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // "unix:/path". Returns at once; the first call connects.
  static std::unique_ptr<Client> Connect(const std::string& address);
  virtual ~Client() = default;

  virtual absl::StatusOr<CompileOutcome> Compile(
      const CompileParameters& parameters, std::optional<Milliseconds> timeout = std::nullopt) = 0;

  virtual absl::StatusOr<std::string> GetPayload(const std::string& artifact_id,
                                                 const std::string& name) = 0;

  // `arguments` name allocations by their position. Inline when small, in chunks when not.
  virtual absl::StatusOr<ExecuteOutcome> Execute(
      const std::string& artifact_id, const std::vector<HostAllocation>& allocations,
      const std::vector<execute::v1::Argument>& arguments,
      std::optional<Milliseconds> timeout = std::nullopt) = 0;

  virtual absl::StatusOr<admin::v1::Statistics> Statistics() = 0;
  virtual absl::StatusOr<admin::v1::Capabilities> Capabilities() = 0;
  virtual absl::StatusOr<admin::v1::Config> Config() = 0;
};

}  // namespace intent::client
