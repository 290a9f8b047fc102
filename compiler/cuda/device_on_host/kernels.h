#pragma once

// Test support: the device library, compiled for this machine.

#include <cstddef>
#include <cstdint>
#include <span>

namespace intent::cuda {

// Operands and result are arrays of elements as they lie in memory.
using HostKernel = void (*)(const void* x, const void* y, const void* z, void* out, size_t count);

// One for each of the exact functions of every dtype, in their order
// (compiler/cuda/device_sweep.h).
std::span<const HostKernel> HostKernels();

// lgamma as the device computes it between its poles.
double LgammaBetweenPoles(double x);

}  // namespace intent::cuda
