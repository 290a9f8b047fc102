#pragma once

// The reference interpreter: KIR's meaning on host memory, slow and obvious. It shares nothing with
// plan, tile or emitters (decisions.md A.2).
//
// Input is a verified module without constexpr references. Parallel loops run forward, reductions
// as a balanced tree, scans in order. Every access is checked before memory is touched: an active
// access out of bounds ends the call with an error, whether or not an assumption covers it. Effects
// that happened before an error stay. The calling thread's floating-point mode does not matter and
// is left as it was.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/interp/arguments.h"
#include "compiler/ir/module.h"

namespace intent::interp {

struct Options {
  const std::atomic<bool>* cancel = nullptr;  // polled between operations and inside long ones
  uint64_t max_steps = 0;                     // operations executed; 0: no limit
  int64_t memory_limit = int64_t{1} << 30;    // bytes of live temporaries and buffers
};

enum class ErrorKind : uint8_t {
  kBadArguments,  // arguments do not fit the kernel's parameters
  kOutOfBounds,   // an active access outside its axis, or a subregion outside its domain
  kBadShape,      // shapes that must agree differ, or an extent or step is not possible
  kBadValue,      // data that breaks a format's contract (sparse metadata, histogram range)
  kMemoryLimit,
  kStepLimit,
  kDepthLimit,  // regions and calls nested beyond the interpreter's stack
  kCancelled,
  kUnsupported,  // an operation this interpreter does not know: E1001
};
std::string_view NameOf(ErrorKind kind);

struct RuntimeError {
  ErrorKind kind = ErrorKind::kBadArguments;
  uint32_t ordinal = kNoOrdinal;  // the operation
  int32_t parameter = -1;         // of the kernel; -1: none
  int32_t axis = -1;
  int64_t value = 0, limit = 0;  // with an axis: the index and the extent; otherwise zero
  std::string message;  // lower case, without names of the author
};

// Runs the module's kernel. nullopt: it ran to its end. Thread-safe for one module; the caller owns
// the synchronisation of the memory behind the views.
std::optional<RuntimeError> Run(const Module& module, std::span<const Argument> arguments,
                                const Options& options = {});

}  // namespace intent::interp
