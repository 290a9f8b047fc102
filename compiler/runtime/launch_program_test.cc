#include "compiler/runtime/launch_program.h"

#include <limits>
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace intent {
namespace {

using compile::v1::Instruction;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

compile::v1::Program Constants(std::initializer_list<int64_t> values,
                               std::initializer_list<Instruction::Opcode> operators) {
  compile::v1::Program program;
  for (const int64_t value : values) {
    Instruction& instruction = *program.add_instructions();
    instruction.set_opcode(Instruction::OPCODE_CONSTANT);
    instruction.set_value(value);
  }
  for (const Instruction::Opcode opcode : operators) program.add_instructions()->set_opcode(opcode);
  return program;
}

std::optional<int64_t> ValueOf(const compile::v1::Program& program) {
  return Evaluate(program, [](const Instruction&) { return std::nullopt; });
}

std::optional<int64_t> Binary(int64_t a, Instruction::Opcode opcode, int64_t b) {
  return ValueOf(Constants({a, b}, {opcode}));
}

TEST(LaunchProgram, DivisionRoundsDownAndUp) {
  EXPECT_EQ(Binary(7, Instruction::OPCODE_FLOORDIV, 2), 3);
  EXPECT_EQ(Binary(-7, Instruction::OPCODE_FLOORDIV, 2), -4);
  EXPECT_EQ(Binary(7, Instruction::OPCODE_FLOORDIV, -2), -4);
  EXPECT_EQ(Binary(7, Instruction::OPCODE_CEILDIV, 2), 4);
  EXPECT_EQ(Binary(-7, Instruction::OPCODE_CEILDIV, 2), -3);
  EXPECT_EQ(Binary(-7, Instruction::OPCODE_MOD, 2), 1);
  EXPECT_EQ(Binary(7, Instruction::OPCODE_MOD, -2), -1);
  EXPECT_EQ(Binary(kMin, Instruction::OPCODE_MOD, -1), 0);
}

TEST(LaunchProgram, OverflowAndDivisionByZeroAreUndefined) {
  EXPECT_EQ(Binary(kMax, Instruction::OPCODE_ADD, 1), std::nullopt);
  EXPECT_EQ(Binary(kMin, Instruction::OPCODE_SUB, 1), std::nullopt);
  EXPECT_EQ(Binary(kMax, Instruction::OPCODE_MUL, 2), std::nullopt);
  EXPECT_EQ(Binary(kMin, Instruction::OPCODE_FLOORDIV, -1), std::nullopt);
  EXPECT_EQ(Binary(kMin, Instruction::OPCODE_CEILDIV, -1), std::nullopt);
  for (const auto opcode :
       {Instruction::OPCODE_FLOORDIV, Instruction::OPCODE_CEILDIV, Instruction::OPCODE_MOD}) {
    EXPECT_EQ(Binary(1, opcode, 0), std::nullopt);
  }
}

TEST(LaunchProgram, OperatorsTakeTheirOperandsInOrder) {
  EXPECT_EQ(Binary(5, Instruction::OPCODE_SUB, 3), 2);
  EXPECT_EQ(Binary(5, Instruction::OPCODE_LT, 3), 0);
  EXPECT_EQ(Binary(3, Instruction::OPCODE_LE, 3), 1);
  EXPECT_EQ(Binary(3, Instruction::OPCODE_MIN, 5), 3);
  EXPECT_EQ(Binary(3, Instruction::OPCODE_MAX, 5), 5);
  EXPECT_EQ(ValueOf(Constants({1, 10, 20}, {Instruction::OPCODE_SELECT})), 10);
  EXPECT_EQ(ValueOf(Constants({0, 10, 20}, {Instruction::OPCODE_SELECT})), 20);
}

TEST(LaunchProgram, ExactlyOneNumberMustBeLeft) {
  EXPECT_EQ(ValueOf({}), std::nullopt);
  EXPECT_EQ(ValueOf(Constants({1, 2}, {})), std::nullopt);
  EXPECT_EQ(ValueOf(Constants({1}, {Instruction::OPCODE_ADD})), std::nullopt);
  EXPECT_EQ(ValueOf(Constants({1, 2}, {Instruction::OPCODE_SELECT})), std::nullopt);
  EXPECT_EQ(ValueOf(Constants({1, 2}, {Instruction::OPCODE_UNSPECIFIED})), std::nullopt);
}

TEST(LaunchProgram, IsBounded) {
  compile::v1::Program program = Constants({1}, {});
  for (int i = 1; i < kMaxProgramInstructions - 1; i += 2) {
    *program.add_instructions() = program.instructions(0);
    program.add_instructions()->set_opcode(Instruction::OPCODE_ADD);
  }
  EXPECT_EQ(ValueOf(program), kMaxProgramInstructions / 2);
  *program.add_instructions() = program.instructions(0);
  program.add_instructions()->set_opcode(Instruction::OPCODE_ADD);
  EXPECT_EQ(ValueOf(program), std::nullopt);
}

TEST(LaunchProgram, LeavesComeFromTheCall) {
  compile::v1::Program program;
  program.add_instructions()->set_opcode(Instruction::OPCODE_EXTENT);
  program.mutable_instructions(0)->set_index(2);
  program.mutable_instructions(0)->set_axis(1);
  EXPECT_EQ(Evaluate(program,
                     [](const Instruction& instruction) -> std::optional<int64_t> {
                       return instruction.index() * 10 + instruction.axis();
                     }),
            21);
  EXPECT_EQ(ValueOf(program), std::nullopt);
}

}  // namespace
}  // namespace intent
