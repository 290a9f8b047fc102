#pragma once

// INTENT_FAILPOINT_AT("stage"): a place where a test makes this process fail. The place costs a
// look at a null pointer; what can fail is linked into test binaries only (target
// intent_failpoints, build/failpoints/bin), so that they differ from the product in nothing else.
//
// The environment variable INTENT_FAILPOINT holds a comma-separated list of
//   stage:crash | stage:hang | stage:slow:MILLISECONDS | stage:eat:MEGABYTES
// or "@FILE", a file with such a list that is read anew at each failpoint, so that a test can
// change its mind while a daemon runs. Hang ignores every signal but SIGKILL.

namespace intent {

using FailpointHook = void (*)(const char* stage);

// Set before main by intent_failpoints, never by anything else.
inline FailpointHook failpoint_hook = nullptr;

inline bool FailpointsLinked() { return failpoint_hook != nullptr; }

}  // namespace intent

#define INTENT_FAILPOINT_AT(stage)                        \
  do {                                                    \
    if (::intent::failpoint_hook != nullptr) [[unlikely]] \
      ::intent::failpoint_hook(stage);                    \
  } while (false)
