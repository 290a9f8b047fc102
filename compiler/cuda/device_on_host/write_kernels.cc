// Prints the kernels of every exact device function, as device_on_host/kernels.cc includes them.

#include <cstdio>

#include "compiler/cuda/device_sweep.h"

int main() {
  std::fputs(intent::cuda::DeviceKernels(intent::cuda::ExactDeviceFunctions()).c_str(), stdout);
  return 0;
}
