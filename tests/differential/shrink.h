#pragma once

// Makes a failing kernel smaller while it keeps failing.

#include <functional>
#include <memory>

#include "compiler/ir/module.h"

namespace intent::testing {

// Drops operations, and puts zeros in place of values, as long as the module verifies and `fails`.
std::unique_ptr<Module> Shrink(const Module& module,
                               const std::function<bool(const Module&)>& fails);

}  // namespace intent::testing
