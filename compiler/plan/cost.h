#pragma once

#include "compiler/ir/module.h"

namespace intent::plan {

// Operations whose recomputation costs more than a read from the cache.
bool IsExpensive(const Op& op);

}  // namespace intent::plan
