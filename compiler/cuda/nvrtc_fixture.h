#pragma once

// For tests: the NVRTC of this machine, or none.

#include <cstdlib>
#include <iostream>

#include "compiler/cuda/nvrtc.h"

namespace intent::cuda {

// Opened once: the library that INTENT_NVRTC names, else the machine's. Null, with a loud line,
// where there is none.
inline Nvrtc* NvrtcForTests() {
  static Nvrtc* const kNvrtc = []() -> Nvrtc* {
    const char* path = std::getenv("INTENT_NVRTC");
    auto nvrtc = Nvrtc::Open(path == nullptr ? "" : path);
    if (nvrtc.ok()) return nvrtc->release();
    std::cerr << "\nSKIPPED: nothing is compiled for CUDA: " << nvrtc.status().message() << "\n\n";
    return nullptr;
  }();
  return kNvrtc;
}

}  // namespace intent::cuda
