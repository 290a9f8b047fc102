#pragma once

// INTENT_FAILPOINT_AT("stage"): a place where a test makes this process fail. Test builds only
// (-DINTENT_FAILPOINTS=ON); elsewhere the macro is empty.
//
// The environment variable INTENT_FAILPOINT holds a comma-separated list of
//   stage:crash | stage:hang | stage:slow:MILLISECONDS | stage:eat:MEGABYTES
// or "@FILE", a file with such a list that is read anew at each failpoint, so that a test can
// change its mind while a daemon runs. Hang ignores every signal but SIGKILL.

namespace intent {

void HitFailpoint(const char* stage);

}  // namespace intent

#ifdef INTENT_FAILPOINTS
#define INTENT_FAILPOINT_AT(stage) ::intent::HitFailpoint(stage)
#else
#define INTENT_FAILPOINT_AT(stage) \
  do {                             \
  } while (false)
#endif
