#pragma once

// The daemon's configuration: flags, or the same keys in a TOML file; flags win. This is the only
// place that reads the environment.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace intent {

struct ServerOptions {
  std::vector<std::string> listen;  // "unix:/path"
  std::string cache_dir;            // empty: no disk cache
  uint64_t cache_size = uint64_t{4} << 30;
  uint64_t cache_memory = uint64_t{256} << 20;
  int workers = 0;           // compile workers; 0: one per processor
  int executors = 1;         // executor processes
  int executor_threads = 0;  // of each executor; 0: one per processor
  int cuda_executors = 2;    // executor processes of each CUDA device, beside that for suspects
  std::string worker_path;   // of intent-worker; empty: beside this program
  std::string log_level = "info";
  std::string nvrtc;       // of NVRTC or its folder; empty: the machine's
  int cuda_workers = 0;    // compile workers for CUDA; 0: one per processor
  std::string cuda_ready;  // a target for which they start at once; empty: with the first request

  uint64_t queue_jobs = 256;
  uint64_t queue_bytes = uint64_t{256} << 20;
  uint64_t compile_time_ms = 60'000;
  uint64_t compile_memory = uint64_t{2} << 30;
  uint64_t execute_time_ms = 600'000;
  uint64_t execute_memory = uint64_t{4} << 30;  // private memory of an executor
  uint64_t tensor_memory = uint64_t{4} << 30;   // shared memory of all calls together
  uint64_t scratch_memory = uint64_t{1} << 30;  // of one executor thread
  uint64_t sessions = 32;                       // that are open at once
  uint64_t session_idle = 600;                  // seconds, where a client names none
  uint64_t quarantine_crashes = 3;
  uint64_t quarantine_ms = 60'000;
  uint64_t idle_exit = 0;  // seconds; 0: never
  uint64_t drain_ms = 10'000;

  // Every key with its values, as the configuration file writes them.
  std::vector<std::pair<std::string, std::vector<std::string>>> Settings() const;
};

// What a command line asks for: to serve, or to print something and end.
struct PrintAndExit {
  std::string text;
  int status = 0;
};

std::variant<ServerOptions, PrintAndExit> ParseOptions(int argc, const char* const* argv);

// The path of a "unix:" address. InvalidArgument for every other address: this daemon has no
// authentication but the permissions of a socket's folder.
absl::StatusOr<std::string> SocketPath(const std::string& address);

}  // namespace intent
