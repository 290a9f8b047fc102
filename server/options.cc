#include "server/options.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/target/target.h"

namespace intent {
namespace {

std::string DefaultCacheDir() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base != nullptr && base[0] == '/') {
    return absl::StrCat(base, "/intent-compiled");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return absl::StrCat(home, "/.cache/intent-compiled");
  }
  return "";
}

int Processors() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::string WorkerBeside() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (size <= 0) return "intent-worker";
  const std::string_view program(path, size);
  return std::string(program.substr(0, program.rfind('/') + 1)) + "intent-worker";
}

void Declare(CLI::App& app, ServerOptions& options) {
  app.add_option("--listen", options.listen, "address to serve: unix:/path; repeatable");
  app.option_defaults()->take_last();
  app.add_option("--cache-dir", options.cache_dir, "folder of the disk cache; empty: none");
  app.add_option("--cache-size", options.cache_size, "bound of the disk cache, bytes or 4GB")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--cache-memory", options.cache_memory, "bound of the memory cache")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--workers", options.workers, "compile workers; 0: one per processor")
      ->check(CLI::Range(0, 1024));
  app.add_option("--cuda-executors", options.cuda_executors, "executor processes of each GPU")
      ->check(CLI::PositiveNumber);
  app.add_option("--sessions", options.sessions, "sessions that are open at once");
  app.add_option("--session-idle", options.session_idle, "seconds after which an idle session ends")
      ->check(CLI::PositiveNumber);
  app.add_option("--executors", options.executors, "executor processes")
      ->check(CLI::Range(1, 1024));
  app.add_option("--executor-threads", options.executor_threads,
                 "threads of each executor; 0: one per processor")
      ->check(CLI::Range(0, 1024));
  app.add_option("--worker-path", options.worker_path, "the intent-worker program");
  app.add_option("--nvrtc", options.nvrtc,
                 "NVRTC, or the folder that holds it; empty: $INTENT_NVRTC, else the machine's");
  app.add_option("--cuda-workers", options.cuda_workers,
                 "compile workers for CUDA; 0: one per processor")
      ->check(CLI::Range(0, 1024));
  app.add_option("--cuda-ready", options.cuda_ready,
                 "start them at once, ready for this target, such as sm_90a");
  app.add_option("--log-level", options.log_level, "debug, info, warn, error or off")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  app.add_option("--queue-jobs", options.queue_jobs, "compiles that may wait for a worker");
  app.add_option("--queue-bytes", options.queue_bytes, "bytes of modules that may wait")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--compile-time-ms", options.compile_time_ms, "limit of one compile");
  app.add_option("--compile-memory", options.compile_memory, "resident memory of a worker")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--execute-time-ms", options.execute_time_ms, "limit of one call");
  app.add_option("--execute-memory", options.execute_memory, "private memory of an executor")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--tensor-memory", options.tensor_memory, "shared memory of all calls together")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--scratch-memory", options.scratch_memory, "scratch of one executor thread")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--quarantine-crashes", options.quarantine_crashes,
                 "crashes after which an input is refused for a while; 0: never");
  app.add_option("--quarantine-ms", options.quarantine_ms, "how long it is refused");
  app.add_option("--idle-exit", options.idle_exit,
                 "end after so many seconds without a call; 0: never");
  app.add_option("--drain-ms", options.drain_ms, "how long SIGTERM waits for calls to end");
}

std::string PrintSettings(const ServerOptions& options) {
  std::string text;
  for (const auto& [key, values] : options.Settings()) {
    absl::StrAppend(&text, key, " = ");
    if (key == "listen") {
      absl::StrAppend(&text, "[\"", absl::StrJoin(values, "\", \""), "\"]\n");
    } else {
      absl::StrAppend(&text, "\"", values.front(), "\"\n");
    }
  }
  return text;
}

// What flags alone cannot say.
absl::Status Check(const ServerOptions& options) {
  if (options.listen.empty()) {
    return absl::InvalidArgumentError("an address is needed: --listen unix:/path");
  }
  for (const std::string& address : options.listen) {
    if (absl::StatusOr<std::string> path = SocketPath(address); !path.ok()) return path.status();
  }
  if (!options.cuda_ready.empty()) {
    const std::vector<std::string> names = CudaTargets();
    if (std::find(names.begin(), names.end(), options.cuda_ready) == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat("cuda-ready is '", options.cuda_ready,
                                                     "', not one of ", absl::StrJoin(names, ", ")));
    }
  }
  if (access(options.worker_path.c_str(), X_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no program ", options.worker_path, ": see --worker-path"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> ServerOptions::Settings() const {
  const auto number = [](uint64_t value) { return std::vector<std::string>{absl::StrCat(value)}; };
  return {
      {"listen", listen},
      {"cache-dir", {cache_dir}},
      {"cache-size", number(cache_size)},
      {"cache-memory", number(cache_memory)},
      {"workers", number(workers)},
      {"executors", number(executors)},
      {"cuda-executors", number(cuda_executors)},
      {"sessions", number(sessions)},
      {"session-idle", number(session_idle)},
      {"executor-threads", number(executor_threads)},
      {"worker-path", {worker_path}},
      {"log-level", {log_level}},
      {"nvrtc", {nvrtc}},
      {"cuda-workers", number(cuda_workers)},
      {"cuda-ready", {cuda_ready}},
      {"queue-jobs", number(queue_jobs)},
      {"queue-bytes", number(queue_bytes)},
      {"compile-time-ms", number(compile_time_ms)},
      {"compile-memory", number(compile_memory)},
      {"execute-time-ms", number(execute_time_ms)},
      {"execute-memory", number(execute_memory)},
      {"tensor-memory", number(tensor_memory)},
      {"scratch-memory", number(scratch_memory)},
      {"quarantine-crashes", number(quarantine_crashes)},
      {"quarantine-ms", number(quarantine_ms)},
      {"idle-exit", number(idle_exit)},
      {"drain-ms", number(drain_ms)},
  };
}

std::variant<ServerOptions, PrintAndExit> ParseOptions(int argc, const char* const* argv) {
  ServerOptions options;
  options.cache_dir = DefaultCacheDir();
  if (const char* nvrtc = std::getenv("INTENT_NVRTC")) options.nvrtc = nvrtc;
  bool print_config = false;
  bool check_config = false;
  CLI::App app("compiles Intent kernels and runs them", "intent-compiled");
  Declare(app, options);
  app.set_config("--config", "", "TOML file with the same keys as the flags");
  app.allow_config_extras(false);
  app.add_flag("--print-config", print_config, "print the configuration in force and end")
      ->configurable(false);
  app.add_flag("--check-config", check_config, "say whether the configuration is good and end")
      ->configurable(false);
  app.set_version_flag("--version", "intent-compiled 0.1.0");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports by exceptions; they end here.
    std::ostringstream text;
    const int status = app.exit(error, text, text);
    text << (status == 0 ? "" : "\n");
    return PrintAndExit{text.str(), status == 0 ? 0 : 2};
  }
  if (options.workers == 0) options.workers = Processors();
  if (options.cuda_workers == 0) options.cuda_workers = Processors();
  if (options.executor_threads == 0) options.executor_threads = Processors();
  if (options.worker_path.empty()) options.worker_path = WorkerBeside();
  if (print_config) return PrintAndExit{PrintSettings(options), 0};
  const absl::Status status = Check(options);
  if (!status.ok()) return PrintAndExit{absl::StrCat("error: ", status.message(), "\n"), 2};
  if (check_config) return PrintAndExit{"the configuration is good\n", 0};
  return options;
}

absl::StatusOr<std::string> SocketPath(const std::string& address) {
  constexpr std::string_view kScheme = "unix:";
  if (!address.starts_with(kScheme)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is not served: only unix:/path is, because TCP needs the ",
                     "authentication that this daemon does not have"));
  }
  std::string path = address.substr(kScheme.size());
  // "unix:///path" is the same as "unix:/path".
  if (path.starts_with("//")) path.erase(0, 2);
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' needs an absolute path"));
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("'", path,
                                                   "' is longer than a socket's path may be (",
                                                   sizeof(sockaddr_un::sun_path) - 1, " bytes)"));
  }
  return path;
}

}  // namespace intent
