#include "compiler/driver/pass_runner.h"

#include <algorithm>

#include "compiler/diag/check.h"
#include "compiler/diag/failpoint.h"

namespace intent {
namespace {

// Test binaries verify what every pass leaves; there a broken pass is named by its own run.
bool VerifyEachPass() {
#ifdef NDEBUG
  return FailpointsLinked();
#else
  return true;
#endif
}

}  // namespace

bool PassRunner::Enabled(std::string_view name) const {
  return std::find(options_.disabled_passes.begin(), options_.disabled_passes.end(), name) ==
         options_.disabled_passes.end();
}

absl::Status PassRunner::Run(std::string_view name, const std::function<absl::Status()>& pass,
                             const Result& result) {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
    return absl::CancelledError("the compile was cancelled before '" + std::string(name) + "'");
  }
  INTENT_FAILPOINT_AT(std::string(name).c_str());
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = pass();
  const auto end = std::chrono::steady_clock::now();
  AddTime(std::string(name),
          std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
  if (!status.ok()) return status;
  if (VerifyEachPass() && result.verify) {
    const std::string broken = result.verify();
    INTENT_CHECK(broken.empty()) << "after pass '" << name << "': " << broken;
  }
  if (options_.keep_source && result.print) {
    dump_ += "// ---- after " + std::string(name) + "\n" + result.print();
  }
  return status;
}

}  // namespace intent
