#pragma once

// The manifest of an artifact (proto/intent/compile/v1): what a loader must know, by ordinal,
// without the author's names.

#include <string>
#include <vector>

#include "compiler/diag/report.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent {

// What a manifest says beside the signature.
struct ManifestFacts {
  std::string entry_symbol;
  std::string fingerprint;                // of the compiler that made the artifact
  Numerics numerics = Numerics::kSource;  // of an interpreted one, whose checked mode looks at them
  std::vector<compile::v1::Variant> variants;  // CUDA
  uint32_t minimum_cuda = 0;                   // CUDA: of the driver
};

// A serialised intent.compile.v1.Manifest of a specialised module's kernel.
std::string MakeManifest(const Module& module, const Target& target, const Report& report,
                         const ManifestFacts& facts);

}  // namespace intent
