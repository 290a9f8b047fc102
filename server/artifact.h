#pragma once

// Artifacts as cache entries and as wire messages. An entry holds the manifest, the times of its
// compile, and the payloads; its id is the digest of its canonical key. Thread-safe; no state.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cache/entry.h"
#include "cache/key.h"
#include "google/protobuf/repeated_field.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/worker/v1/worker.pb.h"

namespace intent {

using ArtifactEntry = std::shared_ptr<const cache::Entry>;

// Internal when the worker sent what an artifact cannot hold.
absl::StatusOr<ArtifactEntry> MakeArtifactEntry(const cache::Key& canonical,
                                                const worker::v1::Compiled& compiled);

// Fills everything but `cache`; payloads named in `inlined` come with their bytes when small.
void FillArtifact(const cache::Entry& entry,
                  const google::protobuf::RepeatedPtrField<std::string>& inlined,
                  compile::v1::Artifact* artifact);

}  // namespace intent
