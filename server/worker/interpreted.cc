#include "server/worker/interpreted.h"

#include <utility>

#include "compiler/ir/codec.h"
#include "compiler/runtime/run_interpreted.h"
#include "server/worker/cancel_flag.h"

namespace intent {
namespace {

class Interpreted final : public Executable {
 public:
  Interpreted(compile::v1::Manifest manifest, std::unique_ptr<Module> module)
      : Executable(std::move(manifest)), module_(std::move(module)) {}

  absl::StatusOr<std::optional<execute::v1::RunError>> Run(const BoundCall& call, int) override {
    return RunInterpreted(*module_, manifest(), call, &TaskCancelFlag().requested);
  }

 private:
  const std::unique_ptr<Module> module_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> MakeInterpreted(compile::v1::Manifest manifest,
                                                            const std::string& kir) {
  DecodedModule decoded = DecodeModule(kir);
  if (!decoded.ok()) return absl::DataLossError("the artifact's KIR does not decode");
  return std::make_unique<Interpreted>(std::move(manifest), std::move(decoded.module));
}

}  // namespace intent
