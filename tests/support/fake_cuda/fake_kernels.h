#pragma once

// The kernels of the fake driver: host functions by the name of an entry.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fake_cuda {

// One launch as a kernel sees it.
struct Launch {
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  bool cooperative = false;
  std::vector<uint64_t> words;  // the kernel's parameter
};

// What a kernel does next: it ends, with a result of the driver, or is called again later.
inline constexpr int kRunning = -1;

struct Kernel {
  size_t words = 0;  // of its parameter
  std::function<int(const Launch&)> run;
};

// Nothing: the module has no such function.
std::optional<Kernel> FindKernel(const std::string& name);

}  // namespace fake_cuda
