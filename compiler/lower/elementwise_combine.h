#pragma once

#include "compiler/ir/module.h"

namespace intent::lower {

// The combine region is a straight line of elementwise operations: it may run on lanes, and on the
// elements of retained slices one by one.
bool IsElementwiseCombine(const Function& function, const Block& block);

}  // namespace intent::lower
