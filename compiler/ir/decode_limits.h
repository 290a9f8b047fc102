#pragma once

#include <cstddef>

namespace intent {

// Bounds on what a module may hold; crossing one is E0901. The text parser obeys them too.
struct DecodeLimits {
  size_t bytes = 16u << 20;
  size_t functions = 1024;
  size_t parameters = 1024;  // per function; also constexpr parameters and enums of the module
  size_t enum_values = 4096;
  size_t operations = 100'000;
  size_t blocks = 100'000;
  size_t values = 400'000;
  size_t operands = 16'384;   // per operation; also regions, block arguments and attribute lists
  size_t region_depth = 256;  // blocks within blocks
  size_t types = 100'000;
  size_t type_depth = 32;   // products within products
  size_t type_size = 8192;  // nodes of one type and its extents, shared ones counted at each use
  size_t type_entries = 1'000'000;  // fields and extents of all types together
  size_t rank = 64;
  size_t name_bytes = 256;  // of one record field
  size_t symbols = 16'384;  // per function
  size_t extents = 50'000;
  size_t extent_work = 500'000;  // nodes of all extents, shared ones counted at each use
  size_t constexpr_nodes = 100'000;
  size_t wire_objects = 1'000'000;  // messages and strings, counted before any is allocated
};

}  // namespace intent
