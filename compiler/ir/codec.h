#pragma once

// The wire form of a module (proto/intent/kir/v1/kir.proto) to and from KIR in memory. Wire types
// stop here.
//
// Decoding is total: any bytes give a module or diagnostics, in time and memory bounded by
// DecodeLimits, whoever wrote them. A decoded module is structurally sound: every index is in
// range, every block belongs to one operation (or is a body), every operation to one block, every
// value is defined once, every operation carries the attributes of its kind, extents are valid and
// in normal form, types are bounded. Everything else (operand and region counts, dominance,
// terminators, types) is the verifier's.
//
// Thread-safe: no state.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"

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
  size_t rank = 64;
  size_t name_bytes = 256;  // of one record field
  size_t symbols = 16'384;  // per function
  size_t extents = 50'000;
  size_t extent_work = 2'000'000;  // nodes of all extents, shared ones counted at each use
  size_t constexpr_nodes = 100'000;
  size_t wire_objects = 1'000'000;  // messages and strings, counted before any is allocated
};

// Either a module, or null and at least one diagnostic (E0101-E0104, E0306, E0901).
struct DecodedModule {
  std::unique_ptr<Module> module;
  std::vector<Diagnostic> diagnostics;
  bool ok() const { return module != nullptr; }
};

// Ordinals are positions in the wire form's operation tables, counted through all functions.
// Values are numbered by a pre-order walk over each function, whatever their numbers were.
DecodedModule DecodeModule(std::string_view bytes, const DecodeLimits& limits = {});

// The deterministic bytes of a module (proto/README.md): equal programs give equal bytes, whatever
// the order in which their parts were made. The module must be one that DecodeModule could have
// given; it need not verify. Operations stand in pre-order, so after NumberOperations a source map
// fits these bytes.
std::string EncodeModule(const Module& module);

// The same with helper functions in order of their first call, the kernel first, and without
// functions that are never called: the bytes that canonical digests hash.
std::string EncodeCanonical(const Module& module);

}  // namespace intent
