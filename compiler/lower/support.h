#pragma once

// What the lowering serves. Everything else that verifies is refused by name before any code is
// made, once for each operation.

#include "compiler/diag/diagnostic.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/module.h"

namespace intent::lower {

// Empty if every operation of the kernel can be lowered.
Diagnostics UnsupportedOperations(const Function& kernel);

// The combine region is a straight line of elementwise operations: it may run on lanes, and on the
// elements of retained slices one by one.
bool IsElementwiseCombine(const Function& function, const Block& block);

}  // namespace intent::lower
