#pragma once

// Makes the fake driver this process's CUDA driver; call it before anything asks for one.

#include "tests/support/fake_cuda/fake_cuda.h"

namespace intent {

void LoadFakeCuda();

// As in fake_cuda.h.
fake_cuda_statistics FakeCudaStatistics();
void SetFakeCudaCapturing(bool capturing);
void SetFakeCudaMemory(size_t bytes);

}  // namespace intent
