#pragma once

#include "compiler/ir/module.h"

namespace intent::plan {

// Whether the members that a reduction adds up are products that may be rounded together with their
// sums (seed 000 chapter 5.4): a multiplication that nothing else uses, but for projections on its
// way, and a sum that starts at zero.
bool ContractsProducts(const Function& function, const Op& reduce);

}  // namespace intent::plan
