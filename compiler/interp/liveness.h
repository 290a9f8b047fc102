#pragma once

// Which values an operation is the last to use, so that large temporaries are dropped early.

#include <vector>

#include "compiler/ir/module.h"

namespace intent::interp {

// By an operation's result: the tensors, products and buffers defined in the same block that no
// later operation of the block uses, nested regions counted as part of their operation. Terminators
// release nothing.
std::vector<std::vector<ValueId>> LastUses(const Function& function);

}  // namespace intent::interp
