#pragma once

// What tests can ask of the fake driver beyond CUDA's own API; found by dlsym in libcuda.so.1.

#include <cstddef>
#include <cstdint>

extern "C" {

struct fake_cuda_statistics {
  size_t launches;     // that were put into streams
  size_t allocations;  // of device memory that live
  size_t bytes;        // of them
  size_t modules;      // that are loaded
  size_t waits;        // calls that wait: of a stream or the context
};
void fake_cuda_statistics_now(fake_cuda_statistics* statistics);

// Says that work of every stream is being captured for a graph.
void fake_cuda_set_capturing(int capturing);

// Device memory of each device; more cannot be allocated.
void fake_cuda_set_memory(size_t bytes);
}
