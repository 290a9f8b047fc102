#pragma once

// Reads the text form of print.h. Structure only: types and rules are VerifyTile's.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/tile/tile_ir.h"

namespace intent::tile {

// kInvalidArgument with the line of the first mistake.
absl::StatusOr<std::unique_ptr<Program>> Parse(std::string_view text);

}  // namespace intent::tile
