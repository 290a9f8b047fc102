#pragma once

// CUDA artifacts in this process: their cubin in the device's primary context, launched on the
// caller's memory and stream. Nothing is copied and nothing waits.

#include <nanobind/nanobind.h>

namespace intent::python {

// `CudaKernel`, `CudaCall` and what intent/cuda.py asks of devices; that is their only caller.
void BindCudaLaunch(nanobind::module_& module);

}  // namespace intent::python
