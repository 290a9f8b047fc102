#pragma once

// Tile programs of one lane as CUDA C++: proof that the tile program serves a second back end. A
// parallel body becomes tasks of one coordinate, spread over the grid by a grid-stride loop;
// without one a single thread works. Meant for NVRTC with --fmad=false (the program
// says where multiply and add fuse) and no include path.
//
// The generated kernel takes its arguments by value as `struct Arguments`, in the order of the
// text.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/tile/tile_ir.h"

namespace intent::cuda {

struct CudaSource {
  std::string text;
  std::string entry = "intent_kernel";
  bool parallel = false;  // false: one thread does everything, others leave
};

// kUnimplemented names what this emitter does not serve: lanes, scratch of dynamic size, several
// parallel bodies, effects beside a parallel body, dtypes narrower than f16. The program has passed
// VerifyTile.
absl::StatusOr<CudaSource> EmitCuda(const tile::Program& program);

}  // namespace intent::cuda
