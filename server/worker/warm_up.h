#pragma once

#include "compiler/driver/compile.h"

namespace intent {

// Compiles a small kernel of our own for `target`, so that workers are forked from a process
// whose compiler has its tables built and its pages mapped. Costs tens of milliseconds; starts no
// thread. Whether it succeeds makes no difference to what workers answer.
void WarmUpCompiler(const Target& target, const CompileTools& tools = {});

}  // namespace intent
