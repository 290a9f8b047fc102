#include "server/worker/executable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/loader.h"
#include "compiler/target/target.h"
#include "server/worker/cancel_flag.h"
#include "server/worker/interpreted.h"

namespace intent {
namespace {

class NativeExecutable final : public Executable {
 public:
  NativeExecutable(compile::v1::Manifest manifest, std::unique_ptr<cpu::LoadedKernel> kernel,
                   KernelRuntime& runtime)
      : Executable(std::move(manifest)), kernel_(std::move(kernel)), runtime_(runtime) {}

  absl::StatusOr<std::optional<execute::v1::RunError>> Run(const BoundCall& call,
                                                           int max_threads) override {
    intent_error error;
    const int32_t status = runtime_.Run(
        kernel_->entry(),
        {call.views.data(), call.scalars.data(), &TaskCancelFlag().requested_word, max_threads},
        &error);
    if (status == INTENT_OK) return std::nullopt;
    return ToRunError(error, manifest());
  }

 private:
  const std::unique_ptr<cpu::LoadedKernel> kernel_;
  KernelRuntime& runtime_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> MakeExecutable(const std::string& manifest,
                                                           const std::string& code,
                                                           KernelRuntime& runtime) {
  compile::v1::Manifest parsed;
  if (!parsed.ParseFromString(manifest)) return absl::DataLossError("the manifest does not parse");
  const absl::StatusOr<Target> target = ParseTarget(parsed.target());
  if (!target.ok()) return target.status();
  if (target->kind == TargetKind::kInterpreter) return MakeInterpreted(std::move(parsed), code);
  if (const std::string missing = MissingOnHost(*target); !missing.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("the artifact is for ", parsed.target(),
                                                      ", this host is ", HostTarget().ToString(),
                                                      ": it lacks ", missing));
  }
  absl::StatusOr<std::unique_ptr<cpu::LoadedKernel>> kernel =
      cpu::LoadSharedObject(code, parsed.entry_symbol());
  if (!kernel.ok()) return kernel.status();
  return std::make_unique<NativeExecutable>(std::move(parsed), *std::move(kernel), runtime);
}

}  // namespace intent
