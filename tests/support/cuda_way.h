#pragma once

// Test support: kernels as CUDA code, run where a device is. Elsewhere they are compiled only, and
// without NVRTC not even that.

#include <memory>
#include <string>

#include "compiler/cuda_runtime/cuda_kernel.h"
#include "compiler/ir/module.h"
#include "compiler/lower/lower.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {

// Whether NVRTC is there, and a device that runs what it makes.
bool CompilesCuda();
bool RunsCuda();
// The device's target; sm_80 without one.
std::string CudaTarget();

// A specialised module's kernel, lowered as cuda::Lowering says.
struct CudaCode {
  std::string refusal;                      // why it does not compile or load
  std::unique_ptr<gpu::CudaKernel> kernel;  // null without a device
};
CudaCode CompileCuda(const Module& module, const lower::Lowered& lowered);

// On a device: on copies of the allocations there.
Outcome RunCuda(gpu::CudaKernel& kernel, const Function& function, const CallData& data);

}  // namespace intent::testing
