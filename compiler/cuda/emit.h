#pragma once

// A tile program becomes CUDA C++ on the device library (device/*.cuh): one kernel, readable, with
// our own names only; comments `// op N` give the ordinals of KIR's operations. How units of
// threads run a tile program is docs/decisions/0013. Compile with kNvrtcFlags of nvrtc.h, the
// library's headers in memory, and no include path.
//
// Thread-safe. The program must have passed VerifyTile.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/lower/lower.h"
#include "compiler/tile/tile_ir.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent::cuda {

inline constexpr int kBlockThreads = 256;

// How kernels for this emitter are lowered. A thread holds less of a tile where there is much to be
// done with it: that is code for every element.
lower::LowerOptions Lowering(const Module& module);

// Lowerings of the same kernel for calls that meet Lowered::assumed, by the ends of their entries'
// names, the fastest first.
struct SpecialLowering {
  std::string suffix;
  lower::LowerOptions options;
};
// Those worth their compile, where `lowered` serves all calls. A program that then holds no rows
// although it was to (LowerOptions::row_tiles) is not.
std::vector<SpecialLowering> SpecialLowerings(const Module& module,
                                              const lower::LowerOptions& options,
                                              const lower::Lowered& lowered);

// Blocks that a multiprocessor is to hold at least, which bounds a thread's registers, where a
// kernel waits for memory more than it computes: it reduces what no other stage reads. Otherwise 0.
int ResidentBlocks(const Module& module);

struct SpecialProgram {
  std::string suffix;
  lower::Lowered lowered;
};

struct EmitOptions {
  // Positions in the signature of the program's views and scalars, for the launch recipe.
  std::vector<uint32_t> view_parameters, scalar_parameters;
  std::vector<SpecialProgram> special;  // the first whose assumptions a call meets is launched
  std::string architecture = "sm_80";   // decides which matrix instructions there are
  int resident_blocks = 0;              // ResidentBlocks of the module
  bool unroll = true;  // the code will be optimised: loops that only wait for memory unroll
};

struct CudaSource {
  std::string text;
  std::string entry = "intent_kernel";
  // How to launch it, without resources; at least one, the last without a guard.
  std::vector<compile::v1::Variant> variants;
};

// kUnimplemented names what CUDA refuses: an operation whose scratch memory nothing bounds before
// the launch.
absl::StatusOr<CudaSource> EmitCuda(const tile::Program& program, const EmitOptions& options);

}  // namespace intent::cuda
