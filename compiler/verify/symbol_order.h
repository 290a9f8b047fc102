#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace intent {

// Renumbers the shape symbols of a function: by first occurrence in its parameters, then slice
// symbols in program order; symbols that neither has are dropped. Gives the old number of each new
// one. The function verifies.
std::vector<uint32_t> OrderSymbols(Function* function);

}  // namespace intent
