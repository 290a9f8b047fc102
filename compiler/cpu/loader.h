#pragma once

// Shared objects of link_shared_object.h become callable code in this process, without a linker,
// without LLVM and without the system's dynamic loader: nothing of the object runs before its entry
// is called, and its imports resolve against the allowlist of imports.h and nothing else. What the
// system's loader would do beyond that (libraries needed by name, initialisers, thread-local
// storage) makes an object invalid here.
//
// Any bytes give a kernel or a status; the code itself is trusted by the caller, who has checked
// that this host may run it (MissingOnHost) and who made it. Thread-safe. Code stays mapped after a
// fork.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/driver/intent_call.h"

namespace intent::cpu {

// Owns the mapped code, no page of which is writable. Must outlive every call of its entry.
class LoadedKernel {
 public:
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  intent_entry entry() const { return entry_; }

 private:
  friend absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadSharedObject(std::string_view,
                                                                        const std::string&);
  LoadedKernel() = default;

  char* image_ = nullptr;
  size_t size_ = 0;
  intent_entry entry_ = nullptr;
};

// kInvalidArgument: not a shared object for this host, without that symbol, or with imports beyond
// the allowlist. kResourceExhausted: no memory for code.
absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadSharedObject(std::string_view object,
                                                               const std::string& entry_symbol);

}  // namespace intent::cpu
