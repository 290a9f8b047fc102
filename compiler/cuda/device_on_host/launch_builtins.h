#pragma once

// Test support: the builtins of CUDA C++ that kernels of a grid use, for this machine's compiler;
// with those of builtins.h.

#include "compiler/cuda/device_on_host/builtins.h"
#include "compiler/cuda/device_on_host/grid.h"

namespace emulation {

// An index or an extent of one axis.
template <int (*get)()>
struct Along {
  struct {
    operator unsigned() const { return static_cast<unsigned>(get()); }
  } x;
};
inline int Blocks() { return Grid().blocks; }
inline int Threads() { return Grid().threads; }

}  // namespace emulation

inline constexpr emulation::Along<emulation::Thread> threadIdx{};
inline constexpr emulation::Along<emulation::Block> blockIdx{};
inline constexpr emulation::Along<emulation::Threads> blockDim{};
inline constexpr emulation::Along<emulation::Blocks> gridDim{};

inline void __syncthreads() { emulation::WaitForBlock(); }
inline void __syncwarp() { emulation::WaitForWarp(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { emulation::LetOthersRun(); }
inline unsigned __shfl_sync(unsigned, unsigned x, int lane) {
  return emulation::Exchange(x)[lane & 31];
}
inline unsigned atomicAdd(unsigned* p, unsigned x) {
  return __atomic_fetch_add(p, x, __ATOMIC_RELAXED);
}

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

// A block is a host thread. Its dynamic shared memory is defined where a kernel is launched.
#define __shared__ thread_local
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
