#pragma once

// The device library: headers of CUDA C++, of ours alone, that generated kernels include. Their
// sources lie in device/ and travel inside this binary.
//
//   intent/types.cuh    the C++ type of every dtype of up to 64 bits but the narrow ones
//   intent/ptx.cuh      instructions that C++ has no words for
//   intent/core.cuh     arithmetic and conversions of those types, guards: made of
//                       intent/{element,arithmetic,convert}.cuh
//   intent/wide.cuh     i128 and u128
//   intent/narrow.cuh   i4 and floats of 8, 6 and 4 bits
//   intent/math.cuh     exp, log, sin, pow, ... of floats; the approximate forms
//   intent/special.cuh  lgamma and i0
//   intent/atomics.cuh  atomics
//   intent/unit.cuh     units of threads, their tiles and memory
//   intent/contract.cuh            the matrix product of a block, with what it includes
//   intent/contract_widened.cuh    its operands of 8-bit floats
//
// Each includes what it needs. What a kernel does not call costs it the reading and leaves nothing
// in its module: headers hold forced-inline and static functions, templates and constants of
// enumerations, since a static member or a specialised variable template would become a global
// variable of every module.

#include <span>
#include <string_view>

#include "compiler/cuda/nvrtc.h"

namespace intent::cuda {

using DeviceHeader = NvrtcHeader;

// All headers, by name; static.
std::span<const DeviceHeader> DeviceLibrary();

// SHA-256 of their names and texts, in hexadecimal digits.
std::string_view DeviceLibraryDigest();

}  // namespace intent::cuda
