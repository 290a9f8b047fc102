#pragma once

// The compile report (docs/report.md) as its author should see it: the daemon names operations by
// position, the places come from the caller's own source map. Thread-safe: no state.

#include <cstdint>
#include <string>
#include <vector>

#include "client/cpp/render.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent::client {

// "kernel.kir:4: loops: reduce: 16 lanes along the members" and so on, one line each; lines about
// the kernel as a whole have no place. Operations that a text names become lines. `ordinals` are
// the sources' own, by position in the artifact (OrdinalsInArtifacts of
// compiler/specialize/specialize.h).
std::string RenderReport(const compile::v1::Manifest& manifest,
                         const std::vector<uint32_t>& ordinals, const Sources& sources);

}  // namespace intent::client
