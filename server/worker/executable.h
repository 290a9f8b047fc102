#pragma once

// Executable: an artifact made ready to run by this process, whatever its target.

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/runtime/bind_arguments.h"
#include "compiler/runtime/kernel_runtime.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent {

class Executable {
 public:
  virtual ~Executable() = default;

  const compile::v1::Manifest& manifest() const { return manifest_; }

  // Runs with arguments that Bind made of this manifest, and waits; the process's TaskCancelFlag
  // ends it early. Aborted: it cost this process its device.
  virtual absl::StatusOr<std::optional<execute::v1::RunError>> Run(const BoundCall& call,
                                                                   int max_threads) = 0;

 protected:
  explicit Executable(compile::v1::Manifest manifest) : manifest_(std::move(manifest)) {}

 private:
  const compile::v1::Manifest manifest_;
};

// For this host's processor or the interpreter, with `runtime`, which outlives it.
// FailedPrecondition when this host lacks a feature of the artifact's target.
absl::StatusOr<std::unique_ptr<Executable>> MakeExecutable(const std::string& manifest,
                                                           const std::string& code,
                                                           KernelRuntime& runtime);

}  // namespace intent
