#pragma once

// Reads of the structures of compiler/driver/intent_call.h in generated code, by their C layout.

#include "compiler/cpu/lanes.h"

namespace llvm {
class Function;
}

namespace intent::cpu {

enum class RuntimeFunction { kParallelFor, kArenaAlloc, kArenaMark, kArenaRelease };

class CallAbi {
 public:
  CallAbi(const Lanes& lanes, V call) : l_(lanes), call_(call) {}

  V call() const { return call_; }
  V ViewData(int64_t view) const;
  V ViewLow(int64_t view) const;   // bytes relative to the data
  V ViewHigh(int64_t view) const;  // one past the last
  V ViewExtent(int64_t view, int axis) const;
  V ViewStride(int64_t view, int axis) const;
  V ScalarBits(int64_t scalar) const;  // i64
  V CancelFlag() const;                // pointer, may be null
  // Calls an entry of the runtime table.
  V Run(RuntimeFunction function, std::vector<V> arguments) const;

 private:
  V ViewField(int64_t view, size_t offset, llvm::Type* type) const;
  // Nothing of a call changes while it runs.
  V Invariant(V base, uint64_t offset, llvm::Type* type) const;

  const Lanes& l_;
  V call_;
};

// i32 fail(call, status, ordinal, parameter, axis, value, limit): records the first failure of the
// call and returns the status.
llvm::Function* FailFunction(const Lanes& lanes);

// Sets the default floating-point environment; returns what RestoreFloatEnvironment wants.
V EnterFloatEnvironment(const Lanes& lanes, bool aarch64);
void RestoreFloatEnvironment(const Lanes& lanes, bool aarch64, V saved);

}  // namespace intent::cpu
