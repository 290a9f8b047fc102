#pragma once

// From a relocatable object of emit.h to an ELF shared object that any loader of its platform
// takes: lld as a library, in this process.
//
// The result exports the object's entry and a second name for it that no other artifact has, so
// that one program can link several. Nothing is needed by name: what the object imports (imports.h)
// is resolved by whoever loads it. Equal objects give equal bytes.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"

namespace intent::cpu {

// kInternal, with what the linker said: not an object of that target, or without `entry_symbol`.
// kResourceExhausted: no descriptors or memory. The object is EmitObject's, never a stranger's: lld
// ends the process over one that is cut short. Thread-safe; lld keeps its state in globals, so
// links of one process follow each other.
absl::StatusOr<std::string> LinkSharedObject(std::string_view object, const Target& target,
                                             const std::string& entry_symbol);

// The entry's second name: `entry_symbol` and a digest of the object.
std::string UniqueSymbol(std::string_view object, const std::string& entry_symbol);

}  // namespace intent::cpu
