#include "server/back_ends.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/target/target.h"

namespace intent {

BackEnds::Choice BackEnds::For(const std::string& target) const {
  const absl::StatusOr<Target> parsed = ParseTarget(target);
  if (!parsed.ok() || parsed->kind != TargetKind::kCuda) return &host_;
  const auto& known = cuda_.hello.targets();
  if (cuda_.pool != nullptr && std::find(known.begin(), known.end(), target) != known.end()) {
    return &cuda_;
  }
  compile::v1::Diagnostics diagnostics;
  compile::v1::Diagnostic& diagnostic = *diagnostics.add_diagnostics();
  diagnostic.set_code(std::string(CodeText(DiagnosticCode::kUnknownTarget)));
  diagnostic.set_message(
      cuda_.pool == nullptr
          ? absl::StrCat("this daemon does not compile for ", target, ": ", cuda_.hello.missing())
          : absl::StrCat("this daemon does not compile for ", target, ": its NVRTC ",
                         cuda_.hello.nvrtc_version(), " knows ", absl::StrJoin(known, ", ")));
  diagnostic.add_notes()->set_text(
      "start the daemon with --nvrtc PATH, or with INTENT_NVRTC=PATH in its environment, where "
      "PATH "
      "is a libnvrtc of CUDA 12 or 13 or its folder; `pip install nvidia-cuda-nvrtc` brings one");
  return diagnostics;
}

}  // namespace intent
