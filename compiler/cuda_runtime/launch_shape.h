#pragma once

// From a manifest and bound arguments to how a CUDA kernel is launched: which variant, how many
// blocks of how many threads, how much memory. Arithmetic only; no device is asked.

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "compiler/runtime/bind_arguments.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::gpu {

struct LaunchShape {
  int variant = 0;  // position in the manifest
  // grid[0] is how many blocks have work, at least 1; a kernel is right for every positive one.
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t shared_bytes = 0;        // dynamic, of a block
  int64_t scratch_bytes = 0;        // of the launch; a multiple of kScratchAlignment
  int64_t block_scratch_bytes = 0;  // of each block; likewise

  uint32_t BlockThreads() const { return block[0] * block[1] * block[2]; }
  // Scratch of the launch, then that of each block.
  int64_t AllScratchBytes() const { return scratch_bytes + block_scratch_bytes * grid[0]; }
};

inline constexpr int64_t kScratchAlignment = 256;
// What follows the arguments among the words of a launch (compile.proto, Variant).
inline constexpr size_t kTrailingWords = 6;

// The first variant whose guard holds. A RunError when a program of it is undefined for these
// arguments or asks for what no device has.
std::variant<LaunchShape, execute::v1::RunError> ShapeLaunch(const compile::v1::Manifest& manifest,
                                                             const BoundCall& call);

// The words of a launch but the trailing ones, which are 0 here.
std::vector<uint64_t> LaunchWords(const BoundCall& call);

}  // namespace intent::gpu
