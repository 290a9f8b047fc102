#include "compiler/driver/lowering.h"

#include "compiler/tile/print.h"
#include "compiler/tile/verify_tile.h"

namespace intent {

absl::Status LowerAndVerify(const Module& module, const lower::LowerOptions& options,
                            PassRunner& passes, lower::Lowered* lowered) {
  // Loops, lanes and memory; still no instruction of any machine.
  absl::Status status = passes.Run("lower", [&] {
    *lowered = lower::LowerToTiles(module, options);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  // A program that breaks its own rules must never become code: checked in every build.
  return passes.Run("verify_tile", [&] { return tile::VerifyTile(*lowered->program); },
                    {.print = [&] { return tile::Print(*lowered->program); }});
}

}  // namespace intent
