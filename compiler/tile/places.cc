#include "compiler/tile/places.h"

#include <algorithm>

namespace intent::tile {

Places PlacesOf(const Program& program, Id mem) {
  const Op* op = program.definition(mem);
  if (op == nullptr) return {kAnywhere};
  switch (op->kind) {
    case OpKind::kViewBase:
      return {kViews};
    case OpKind::kAlloc:
    case OpKind::kStackAlloc:
      return {static_cast<int64_t>(op->results[0])};
    case OpKind::kMemOffset:
    case OpKind::kMemCast:
      return PlacesOf(program, op->operands[0]);
    case OpKind::kSelect: {
      Places places = PlacesOf(program, op->operands[1]);
      places.merge(PlacesOf(program, op->operands[2]));
      return places;
    }
    default:
      return {kAnywhere};
  }
}

bool Meet(const Places& a, const Places& b) {
  if (a.empty() || b.empty()) return false;
  if (a.contains(kAnywhere) || b.contains(kAnywhere)) return true;
  return std::any_of(a.begin(), a.end(), [&](int64_t place) { return b.contains(place); });
}

}  // namespace intent::tile
