#pragma once

// Every pass of a compile runs through one PassRunner: it asks for cancellation, skips what was
// disabled, and times. A pass reports user mistakes as diagnostics and environment failures as a
// Status.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "compiler/driver/compile.h"

namespace intent {

class PassRunner {
 public:
  PassRunner(const CompileOptions& options, const std::atomic<bool>* cancel)
      : options_(options), cancel_(cancel) {}

  bool Enabled(std::string_view name) const;
  // kCancelled if nobody waits any more; otherwise what the pass returns.
  absl::Status Run(std::string_view name, const std::function<absl::Status()>& pass);
  void AddTime(std::string stage, int64_t nanoseconds) {
    times_.push_back({std::move(stage), nanoseconds});
  }
  std::vector<StageTime>& times() { return times_; }

 private:
  const CompileOptions& options_;
  const std::atomic<bool>* cancel_;
  std::vector<StageTime> times_;
};

}  // namespace intent
