#pragma once

// Shared by the verifier's files.

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/verify/verify.h"

namespace intent::verify {

constexpr size_t kMaxRegionDepth = 256;
constexpr int kMaxTypeDepth = 16;
constexpr int kMaxTypeNodes = 1024;    // fields and extents of one type
constexpr int kMaxExtentNodes = 4096;  // atoms of one extent, nested ones included

// True if walks over the type and its extents stay within the limits.
bool IsBounded(const Type& type);

// What is wrong with a type wherever it stands, without its leaves' references; empty: nothing.
struct TypeFault {
  DiagnosticCode code;
  std::string text;
};
std::optional<TypeFault> FaultOf(const Type& type, const ExtentNamer& namer);

// Structure, dominance and types of one function. True if purity and effects may be checked: the
// operations form a tree whose operands exist.
bool VerifyFunction(const Module& module, const Function& function, const VerifyOptions& options,
                    DiagnosticSink* sink);

// Purity of callbacks and reads of Out views. `impure[i]`: helper i has an effect of its own.
void VerifyEffects(const Function& function, const Module& module, const std::vector<bool>& impure,
                   DiagnosticSink* sink);
bool HasEffect(const Function& function, const std::vector<bool>& impure);
// Extents of slices that enter data, control or results. `function` is sound.
void VerifySlices(const Function& function, DiagnosticSink* sink);

// Whether region `index` of an operation of this kind is a callback: it sees its arguments only.
bool IsIsolated(OpKind kind);

}  // namespace intent::verify
