#include "server/artifact.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/compile_request.h"

namespace intent {
namespace {

constexpr std::string_view kManifest = "manifest";
constexpr std::string_view kTimes = "times";

bool IsReserved(std::string_view name) { return name == kManifest || name == kTimes; }

}  // namespace

absl::StatusOr<ArtifactEntry> MakeArtifactEntry(const cache::Key& canonical,
                                                const worker::v1::Compiled& compiled) {
  worker::v1::Compiled times;
  *times.mutable_times() = compiled.times();
  const std::string times_bytes = times.SerializeAsString();
  std::vector<cache::Payload> payloads = {{kManifest, compiled.manifest()}, {kTimes, times_bytes}};
  for (const compile::v1::Payload& payload : compiled.payloads()) {
    if (IsReserved(payload.name())) {
      return absl::InternalError(absl::StrCat("a worker sent a payload called ", payload.name()));
    }
    payloads.push_back({payload.name(), payload.data()});
  }
  return cache::Entry::Make(canonical, payloads);
}

void FillArtifact(const cache::Entry& entry,
                  const google::protobuf::RepeatedPtrField<std::string>& inlined,
                  compile::v1::Artifact* artifact) {
  artifact->set_id(std::string(entry.key_digest().bytes()));
  for (const cache::Payload& payload : entry.payloads()) {
    if (payload.name == kManifest) {
      artifact->set_manifest(payload.bytes.data(), payload.bytes.size());
    } else if (payload.name == kTimes) {
      worker::v1::Compiled times;
      if (times.ParseFromArray(payload.bytes.data(), static_cast<int>(payload.bytes.size()))) {
        artifact->mutable_times()->Swap(times.mutable_times());
      }
    } else {
      compile::v1::Payload& item = *artifact->add_payloads();
      item.set_name(payload.name.data(), payload.name.size());
      item.set_size(payload.bytes.size());
      if (payload.bytes.size() <= RequestLimits::kInlinePayloadBytes &&
          std::find(inlined.begin(), inlined.end(), payload.name) != inlined.end()) {
        item.set_data(payload.bytes.data(), payload.bytes.size());
      }
    }
  }
}

}  // namespace intent
