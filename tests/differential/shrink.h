#pragma once

// Makes a failing kernel and its call smaller while they keep failing.

#include <functional>
#include <memory>

#include "compiler/ir/module.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {

struct Case {
  std::unique_ptr<Module> module;
  CallData data;
};

// Drops operations and parameters, puts ones and zeros in place of values, makes views dense,
// separate and small, as long as the module verifies, the interpreter runs it to its end, or not,
// as before, and `fails`. At most `candidates` are tried.
Case Shrink(const Case& original, const std::function<bool(const Case&)>& fails,
            int candidates = 4000);

}  // namespace intent::testing
