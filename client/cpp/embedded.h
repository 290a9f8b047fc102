#pragma once

// The daemon of the user's own, shared with the Python package: its socket lies in
// $XDG_RUNTIME_DIR/intent/<build id>, or in /tmp/intent-<uid>/<build id>, in folders of the user
// alone; a lock file settles which process starts it; it is detached and ends by itself when idle.

#include <string>

#include "absl/status/statusor.h"

namespace intent::client {

// The address of a running daemon; starts `program` (an intent-compiled) when there is none. Blocks
// until it answers. PermissionDenied when a folder or a daemon belongs to somebody else.
absl::StatusOr<std::string> EmbeddedAddress(const std::string& program);

// The program of the daemon: $INTENT_BIN (it, or its folder), else the intent-compiled beside this
// program.
std::string DaemonProgram();

}  // namespace intent::client
