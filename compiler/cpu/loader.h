#pragma once

// Objects of the CPU back end become callable code in this process (ORC, JITLink). One LLJIT serves
// the process; each object has a JITDylib of its own, removed with its LoadedKernel. Undefined
// symbols resolve against the allowlist of imports.h and nothing else: never against the process.
//
// Thread-safe. The caller has checked that this host may run the object (MissingOnHost).

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/driver/intent_call.h"

namespace intent::cpu {

// Owns the mapped code. Must outlive every call of its entry.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual intent_entry entry() const = 0;
};

// kInvalidArgument: not an object for this host, or without that symbol, or with imports beyond the
// allowlist. kResourceExhausted: no memory for code.
absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadObject(std::string_view object,
                                                         const std::string& entry_symbol);

}  // namespace intent::cpu
