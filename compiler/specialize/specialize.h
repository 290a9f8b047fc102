#pragma once

// From a verified module to the one kernel that is compiled: constexprs are bound and gone, one arm
// of every constexpr branch is left, helpers are inlined, shapes hold no constexpr. Operations keep
// the ordinals of the module that was sent, inlined ones those of their helper.

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/specialize/binding.h"

namespace intent {

// Inlining may not make a kernel larger than this (E0901).
inline constexpr size_t kMaxSpecializedOperations = 200'000;

// Specialises a module that verifies and verifies the result. Parameters without binding take their
// default; missing ones are E0702, bindings that do not fit or change a fixed parameter E0703. On
// any diagnostic the module is left in an unspecified but destructible state.
std::vector<Diagnostic> Specialize(Module* module, const std::vector<Binding>& bindings);

// Removes operations that compute nothing anybody uses, helpers that nobody calls and gaps in the
// numbering of symbols, so that programs that differ only in those have equal bytes. Loops that may
// not terminate stay. The module verifies before and after.
void Canonicalize(Module* module);

// Artifacts are shared by all requests of equal canonical modules, so they name an operation by its
// position in that module. This is, by position, the operation's ordinal in `module`, which
// verifies and stays as it is. Empty if the bindings do not fit.
std::vector<uint32_t> OrdinalsInArtifacts(const Module& module,
                                          const std::vector<Binding>& bindings);

}  // namespace intent
