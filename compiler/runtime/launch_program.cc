#include "compiler/runtime/launch_program.h"

#include <algorithm>
#include <array>
#include <limits>

namespace intent {
namespace {

using compile::v1::Instruction;

// Floored quotient; nullopt for a zero divisor and for the one quotient that overflows.
std::optional<int64_t> FloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<int64_t> Mod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

std::optional<int64_t> Apply(Instruction::Opcode opcode, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (opcode) {
    case Instruction::OPCODE_ADD:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Instruction::OPCODE_SUB:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Instruction::OPCODE_MUL:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Instruction::OPCODE_FLOORDIV:
      return FloorDiv(a, b);
    case Instruction::OPCODE_CEILDIV: {
      const std::optional<int64_t> quotient = FloorDiv(a, b);
      if (!quotient.has_value()) return std::nullopt;
      return *quotient + (a % b != 0);
    }
    case Instruction::OPCODE_MOD:
      return Mod(a, b);
    case Instruction::OPCODE_MIN:
      return std::min(a, b);
    case Instruction::OPCODE_MAX:
      return std::max(a, b);
    case Instruction::OPCODE_EQ:
      return a == b;
    case Instruction::OPCODE_NE:
      return a != b;
    case Instruction::OPCODE_LT:
      return a < b;
    case Instruction::OPCODE_LE:
      return a <= b;
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Evaluate(const compile::v1::Program& program, const ProgramLeaf& leaf) {
  if (program.instructions_size() > kMaxProgramInstructions) return std::nullopt;
  std::array<int64_t, kMaxProgramInstructions> stack;
  int depth = 0;
  for (const Instruction& instruction : program.instructions()) {
    std::optional<int64_t> result;
    switch (instruction.opcode()) {
      case Instruction::OPCODE_CONSTANT:
        result = instruction.value();
        break;
      case Instruction::OPCODE_SYMBOL:
      case Instruction::OPCODE_EXTENT:
      case Instruction::OPCODE_STRIDE:
      case Instruction::OPCODE_SCALAR:
      case Instruction::OPCODE_OVERLAP:
      case Instruction::OPCODE_SAME_VIEW:
      case Instruction::OPCODE_ADDRESS:
        result = leaf(instruction);
        break;
      case Instruction::OPCODE_SELECT:
        if (depth < 3) return std::nullopt;
        depth -= 3;
        result = stack[depth] != 0 ? stack[depth + 1] : stack[depth + 2];
        break;
      default:
        if (depth < 2) return std::nullopt;
        depth -= 2;
        result = Apply(instruction.opcode(), stack[depth], stack[depth + 1]);
        break;
    }
    if (!result.has_value()) return std::nullopt;
    stack[depth++] = *result;
  }
  return depth == 1 ? std::optional(stack[0]) : std::nullopt;
}

}  // namespace intent
