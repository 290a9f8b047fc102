#pragma once

// The verifier: whether a module is KIR (language.md chapter 14), wherever it came from. It is safe
// on anything the decoder accepts and takes time about linear in the module; region depth, product
// sizes and extents are bounded first. All errors of a module are reported, each with the ordinal
// of its operation; a mistake does not bring others after it, because uses see declared types.
//
// The rules, by where they are checked:
//  tables (verify.cc)            one kernel; enums nonempty with unique values; constexpr
//  parameters'
//                                defaults fit and fixed ones have one; constexpr nodes refer
//                                backwards and have their kinds; helpers do not recurse (E0406).
//  structure (verify_function.cc) operand, region and terminator counts; each operation and block
//                                argument stands once; region depth (E0901); parameters and results
//                                of functions; kernels return nothing (E0806).
//  dominance (verify_function.cc) operands, and values inside extents, are defined before on every
//                                path; callbacks and helpers see their own arguments only; symbols
//                                are bound by parameters or by their region operation (E0103,
//                                E0306).
//  types (infer.h)               the declared result type is the inferred one (E0205); everything
//                                that types, attributes and region signatures decide.
//  well-formed types (verify_types.cc) sizes, addressable elements, products of values only.
//  purity (verify_effects.cc)    combine and region callbacks have no effects (E0503).
//  slices (verify_slices.cc)     the extent of a region's slice shapes values and is none (E0604).
//  reads of Out (verify_effects.cc) some store to the view or its alias group can reach the read
//                                (E0502).

#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"
#include "compiler/verify/infer.h"

namespace intent {

struct VerifyOptions {
  bool specialized = false;  // no constexpr, call or helper may be left
  ExtentNamer namer;         // for messages; null: s<i>, c<i>, %<i>
  size_t max_errors = 64;    // further ones are counted, not kept
};

// Empty if the module is valid.
std::vector<Diagnostic> Verify(const Module& module, const VerifyOptions& options = {});

}  // namespace intent
