// intent-compiled: the daemon. Options, signals and the log; everything else is Daemon's.

#include <malloc.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <variant>

#include "server/daemon.h"
#include "server/ipc/harden.h"
#include "server/options.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

// Blocked in every thread; the main thread waits for them.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

// Messages of many MiB come and go on many threads. Large blocks go back to the system at once, and
// few arenas hold the rest: what one busy minute needed is not kept for ever.
void KeepMemorySmall() {
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
}

void StartLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("intent-compiled"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

// Returns when the daemon should end: by a signal, or because nobody has called for long.
void WaitForEnd(const sigset_t& signals, const Daemon& daemon, const ServerOptions& options) {
  const std::chrono::seconds idle_exit(options.idle_exit);
  while (true) {
    const timespec tick{0, 200'000'000};
    const int signal = idle_exit.count() > 0 ? sigtimedwait(&signals, nullptr, &tick)
                                             : sigwaitinfo(&signals, nullptr);
    if (signal > 0) {
      spdlog::info("draining: {}", signal == SIGTERM ? "SIGTERM" : "SIGINT");
      return;
    }
    if (idle_exit.count() > 0 && daemon.IdleFor() >= idle_exit) {
      spdlog::info("draining: idle for {} s", options.idle_exit);
      return;
    }
  }
}

int Main(int argc, char** argv) {
  KeepMemorySmall();
  const std::variant<ServerOptions, PrintAndExit> parsed = ParseOptions(argc, argv);
  if (const auto* print = std::get_if<PrintAndExit>(&parsed)) {
    std::fputs(print->text.c_str(), print->status == 0 ? stdout : stderr);
    return print->status;
  }
  const ServerOptions& options = std::get<ServerOptions>(parsed);
  const sigset_t signals = BlockSignals();
  StartLog(options.log_level);
  HardenProcess();
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(options);
  if (!daemon.ok()) {
    spdlog::critical("{}", std::string(daemon.status().message()));
    return 1;
  }
  WaitForEnd(signals, **daemon, options);
  (*daemon)->Drain(std::chrono::milliseconds(options.drain_ms));
  daemon->reset();
  spdlog::info("ended");
  return 0;
}

}  // namespace
}  // namespace intent

int main(int argc, char** argv) { return intent::Main(argc, argv); }
