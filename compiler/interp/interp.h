#pragma once

// The reference interpreter: KIR's meaning on host memory, slow and obvious. It shares nothing with
// plan, tile or emitters (decisions.md A.2).
//
// Input is a verified module without constexpr references. Parallel loops run forward, reductions
// as a balanced tree, scans in order. Every access is checked before memory is touched: an active
// access out of bounds ends the call with an error, whether or not an assumption covers it. Effects
// that happened before an error stay. The calling thread's floating-point mode does not matter and
// is left as it was.
//
// A checked run also finds what the language calls invalid or leaves to the author: errors.def
// lists it. It ends with the first error found. Without `check` nothing of this costs time or
// memory.

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
  bool check = false;                         // report invalid input, races, unwritten reads
  bool laws = false;  // sample identities, combines and region equations on the run's own data
  bool relaxed_normalization = false;       // with check: its preconditions too
  int64_t record_limit = int64_t{1} << 30;  // bytes of what a checked run remembers of memory
};

enum class ErrorKind : uint8_t {
#define INTENT_RUN_ERROR(name, code, text, summary) name,
#include "compiler/interp/errors.def"
#undef INTENT_RUN_ERROR
};
std::string_view NameOf(ErrorKind kind);  // "unwritten read"
std::string_view CodeOf(ErrorKind kind);  // "E1112"; empty where the author is not at fault

struct RuntimeError {
  ErrorKind kind = ErrorKind::kBadArguments;
  uint32_t ordinal = kNoOrdinal;  // the operation
  uint32_t other = kNoOrdinal;    // the operation on the other side of a conflict
  int32_t parameter = -1;         // of the kernel; -1: none
  int32_t axis = -1;
  int64_t value = 0, limit = 0;  // with an axis: the index and the extent; otherwise zero
  std::string message;           // lower case, without names of the author
};

// Runs the module's kernel. nullopt: it ran to its end. Thread-safe for one module; the caller owns
// the synchronisation of the memory behind the views.
std::optional<RuntimeError> Run(const Module& module, std::span<const Argument> arguments,
                                const Options& options = {});

}  // namespace intent::interp
