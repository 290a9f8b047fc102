#pragma once

// Evaluates the bounded postfix programs of a manifest (compile.proto, Program) over the extents,
// strides and scalars of one call. Total: a program that overflows, divides by zero, refers to
// nothing or leaves another number of values than one is nullopt.

#include <cstdint>
#include <functional>
#include <optional>

#include "intent/compile/v1/compile.pb.h"

namespace intent {

inline constexpr int kMaxProgramInstructions = 256;

// The value of a SYMBOL, EXTENT, STRIDE, SCALAR, OVERLAP, SAME_VIEW or ADDRESS instruction; nullopt
// when there is none.
using ProgramLeaf =
    std::function<std::optional<int64_t>(const compile::v1::Instruction& instruction)>;

// An operator of two operands; nullopt: it overflows, divides by zero or is none.
std::optional<int64_t> Apply(compile::v1::Instruction::Opcode opcode, int64_t a, int64_t b);

std::optional<int64_t> Evaluate(const compile::v1::Program& program, const ProgramLeaf& leaf);

}  // namespace intent
