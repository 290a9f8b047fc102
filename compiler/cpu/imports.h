#pragma once

// What generated code may import, by name: the loader resolves these and nothing else.

#include <string_view>
#include <vector>

namespace intent::cpu {

struct Import {
  std::string_view name;
  void* address;  // in this process
};

// libc's memory functions and libm. Sorted by name.
const std::vector<Import>& AllowedImports();

}  // namespace intent::cpu
