#pragma once

// A small interpreter of tile programs, by compiler/numerics: slow, obvious, to tell a wrong plan
// from a wrong emitter. Same entry as a compiled kernel: it honours masks, guards, polls and the
// arena's lifetimes; parallel bodies run serially in chunks of their grain.
//
// The program must have passed VerifyTile. Reads and writes the call's memory directly: as with
// compiled code, wrong offsets are undefined behaviour.

#include <cstdint>

#include "compiler/driver/intent_call.h"
#include "compiler/tile/interp_observer.h"
#include "compiler/tile/tile_ir.h"

namespace intent::tile {

// Returns an intent_status; details stand in *call->error. An observer, if any, looks on.
int32_t Interpret(const Program& program, const intent_call* call,
                  InterpObserver* observer = nullptr);

}  // namespace intent::tile
