#pragma once

// The manifest of an artifact (proto/intent/compile/v1): what a loader must know, by ordinal,
// without the author's names.

#include <string>

#include "compiler/diag/report.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace intent {

// A serialised intent.compile.v1.Manifest of a specialised module's kernel. `numerics`: of an
// interpreted one, whose checked mode looks at what they ask for.
std::string MakeManifest(const Module& module, const Target& target,
                         const std::string& entry_symbol, const Report& report,
                         Numerics numerics = Numerics::kSource);

}  // namespace intent
