#pragma once

// Where memory lies, as far as a program tells: what two accesses may have in common.

#include <cstdint>
#include <set>

#include "compiler/tile/tile_ir.h"

namespace intent::tile {

// Operations that allocate, by their result; kViews for all views, which may overlap; kAnywhere if
// it is not known.
using Places = std::set<int64_t>;
constexpr int64_t kViews = -1, kAnywhere = -2;

Places PlacesOf(const Program& program, Id mem);
// Whether some memory may be in both.
bool Meet(const Places& a, const Places& b);

}  // namespace intent::tile
