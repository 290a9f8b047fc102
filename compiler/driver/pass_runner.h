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
  // kCancelled if nobody waits any more; otherwise what the pass returns. `result`, if given,
  // describes what the pass left: `verify` gives the broken rule or nothing, `print` its text for
  // the dump.
  struct Result {
    std::function<std::string()> verify;
    std::function<std::string()> print;
  };
  absl::Status Run(std::string_view name, const std::function<absl::Status()>& pass,
                   const Result& result = {});
  void AddTime(std::string stage, int64_t nanoseconds) {
    times_.push_back({std::move(stage), nanoseconds});
  }
  std::vector<StageTime>& times() { return times_; }
  // What every pass left, under headings; only with CompileOptions::keep_source.
  const std::string& dump() const { return dump_; }

 private:
  const CompileOptions& options_;
  const std::atomic<bool>* cancel_;
  std::vector<StageTime> times_;
  std::string dump_;
};

}  // namespace intent
