#pragma once

// Daemon: all parts of the front process, wired. Start serves; Drain refuses new calls, waits for
// those in progress, within a bound, and ends the rest.

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "server/options.h"

namespace intent {

class Daemon {
 public:
  // Returns when every address is served. Unavailable when the workers do not start.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const ServerOptions& options);
  ~Daemon();

  // At most `bound`; calls that run longer are cancelled. Blocks.
  void Drain(std::chrono::milliseconds bound);

  // Since the last call ended; zero while one is in progress.
  std::chrono::steady_clock::duration IdleFor() const;

 private:
  struct Parts;

  explicit Daemon(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace intent
