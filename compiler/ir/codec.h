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

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/decode_limits.h"
#include "compiler/ir/module.h"

namespace intent {

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
