#pragma once

// What compiles for every machine begin with: a specialised module becomes a tile program.

#include "absl/status/status.h"
#include "compiler/driver/pass_runner.h"
#include "compiler/ir/module.h"
#include "compiler/lower/lower.h"

namespace intent {

// `lowered` then holds a program that keeps its own rules. The status is PassRunner's, or names a
// broken rule.
absl::Status LowerAndVerify(const Module& module, const lower::LowerOptions& options,
                            PassRunner& passes, lower::Lowered* lowered);

}  // namespace intent
