#pragma once

// What a launcher can know of a value of a tile program: an expression over the extents, strides
// and integer scalars of one call, exact or a bound. It becomes a postfix program of the manifest.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/lower/lower.h"
#include "compiler/tile/tile_ir.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent::cuda {

// Immutable; shared by its users.
struct LaunchNode;
using LaunchExpression = std::shared_ptr<const LaunchNode>;
struct LaunchNode {
  using Opcode = compile::v1::Instruction::Opcode;
  Opcode opcode;
  int64_t value = 0;   // of a constant
  uint32_t index = 0;  // of a parameter
  uint32_t axis = 0;
  std::vector<LaunchExpression> operands;
};

LaunchExpression LaunchConstant(int64_t value);
// Folds constants and neutral operands.
LaunchExpression LaunchOperation(LaunchNode::Opcode opcode, LaunchExpression a, LaunchExpression b);
LaunchExpression LaunchSum(const LaunchExpression& a, const LaunchExpression& b);
LaunchExpression LaunchProduct(const LaunchExpression& a, const LaunchExpression& b);
LaunchExpression LaunchMax(const LaunchExpression& a, const LaunchExpression& b);
std::optional<int64_t> ConstantOf(const LaunchExpression& expression);
// Equal texts are equal expressions.
std::string ToString(const LaunchExpression& expression);

// nullopt: longer than a manifest allows (kMaxProgramInstructions).
std::optional<compile::v1::Program> ToProgram(const LaunchExpression& expression);

// Bounds of index and integer values of one program.
class LaunchBounds {
 public:
  // Positions in the signature, by view and by scalar of the program.
  LaunchBounds(const tile::Program& program, std::vector<uint32_t> view_parameters,
               std::vector<uint32_t> scalar_parameters);

  // Whether views overlap follows from a call's arguments alone: null if `id` asks for more than
  // that.
  LaunchExpression OverlapCondition(tile::Id id) const;
  // Whether a stride or extent is what code compares it with, likewise.
  LaunchExpression ShapeCondition(tile::Id id) const;
  // Either, and both together.
  LaunchExpression Condition(tile::Id id) const;
  // From here on none of these conditions hold, and no views overlap where that matters.
  void AssumeNo(std::set<tile::Id> detours);
  // An index that a call's arguments give as it is, or its remainder; null: something else.
  LaunchExpression Exact(tile::Id id) const;
  // Whether a call meets what a special lowering takes for granted; null: no program says so.
  LaunchExpression Meets(const lower::Assumptions& assumed);

  // From here on bounds are shorter expressions, and wider.
  void Coarsen();

  // Null: not known before the launch.
  LaunchExpression Upper(tile::Id id);
  LaunchExpression Lower(tile::Id id);

 private:
  struct Place {  // of a region's argument
    const tile::Op* op = nullptr;
    size_t region = 0, position = 0;
  };
  struct Range {
    LaunchExpression lower, upper;
  };
  void Index(const tile::Block& block);
  Range RangeOf(tile::Id id);
  Range OfDefinition(const tile::Op& op, tile::Id id);
  Range OfBinary(const tile::Op& op);
  LaunchExpression ConditionOf(tile::Id id, bool overlaps, bool shapes) const;

  const tile::Program& program_;
  std::vector<uint32_t> views_, scalars_;
  std::unordered_map<tile::Id, Place> places_;
  std::unordered_map<tile::Id, Range> known_;
  std::set<tile::Id> detours_;
  bool no_detours_ = false, coarse_ = false;
};

}  // namespace intent::cuda
