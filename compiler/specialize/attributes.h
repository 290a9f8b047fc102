#pragma once

#include <functional>

#include "compiler/ir/op_attributes.h"

namespace intent::specialize {

// Calls `visit` for every integer or flag in `attributes` that may be a constexpr reference.
void ForEachStatic(Attributes* attributes, const std::function<void(StaticInt*)>& visit);

}  // namespace intent::specialize
