#pragma once

// The compile report of an artifact (docs/report.md): what the lowering says of its decisions, what
// the options licensed, and totals of the tile program.

#include "compiler/diag/report.h"
#include "compiler/driver/compile.h"
#include "compiler/lower/lower.h"

namespace intent {

// `lowered` is what `lowering` gave for the specialised `module`.
Report CompileReport(const Module& module, const CompileInput& input,
                     const lower::LowerOptions& lowering, const lower::Lowered& lowered);
// Of a target that interprets.
Report InterpreterReport();

}  // namespace intent
