#pragma once

// The tile program (codegen.md 5): the one physical IR that every back end consumes. Structured SSA
// over scalars, tiles (a static number of lanes of one dtype) and memory references. Unlike KIR it
// knows loops, lanes, strides and scratch memory; unlike LLVM it knows dtypes with the seed's
// arithmetic, so that one scalar meaning serves emitters and the small interpreter. Kinds of
// elementwise operations are KIR's own.
//
// A Program owns everything in it. Pointers to operations stay valid until the program dies. Not
// thread-safe for writing.

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/op_attributes.h"

namespace intent::tile {

enum class OpKind : uint8_t {
#define INTENT_TILE_OP(name, text, regions) name,
#include "compiler/tile/tile_ops.def"
#undef INTENT_TILE_OP
};

std::string_view NameOf(OpKind kind);
int RegionsOf(OpKind kind);

using Id = uint32_t;
inline constexpr Id kNoId = 0xffffffffu;

struct Type {
  enum class Kind : uint8_t { kValue, kMem } kind = Kind::kValue;
  DType dtype = DType::kIndex;
  int32_t lanes = 1;  // kValue only; 1 is a scalar

  static Type Scalar(DType dtype) { return {Kind::kValue, dtype, 1}; }
  static Type Tile(DType dtype, int32_t lanes) { return {Kind::kValue, dtype, lanes}; }
  static Type Mem(DType dtype) { return {Kind::kMem, dtype, 1}; }
  bool IsMem() const { return kind == Kind::kMem; }
  bool operator==(const Type&) const = default;
  std::string ToString() const;  // "f32", "f32x16", "mem<f32>"
};

struct Op;

struct Block {
  std::vector<Id> arguments;
  std::vector<Op*> ops;  // the last of a region is a yield
};

struct Op {
  OpKind kind = OpKind::kConst;
  uint32_t ordinal = kNoOrdinal;  // of the KIR operation it serves
  std::vector<Id> operands;
  std::vector<Id> results;
  std::vector<std::unique_ptr<Block>> regions;

  // Attributes; which ones count is said in tile_ops.def.
  ScalarValue constant;
  UnaryKind unary = UnaryKind::kNegate;
  BinaryKind binary = BinaryKind::kAdd;
  CompareKind compare = CompareKind::kEq;
  CombineKind combine = CombineKind::kAdd;
  RmwKind rmw = RmwKind::kExchange;
  MemoryOrder order = MemoryOrder::kRelaxed;
  bool approximate = false;
  bool flush_to_zero = false;
  bool rounds = false;      // kBinary: an explicit rounding boundary (seed 000 chapter 5.5)
  bool has_stride = false;  // kLoad, kStore
  bool has_mask = false;    // kLoad, kStore, kGather, kScatter
  bool has_fill = false;    // kLoad, kGather
  int64_t index = 0;
  int32_t axis = 0;
  int32_t status = 0;  // kGuard: an intent_status
  std::vector<int32_t> lanes;
};

struct ViewParameter {
  DType dtype;
  int rank;
  bool readable, writable;
};

class Program {
 public:
  std::vector<ViewParameter> views;  // in order among view parameters
  std::vector<DType> scalars;        // in order among scalar parameters
  Block body;                        // without terminator

  Program() = default;
  Program(const Program&) = delete;

  // Makes an operation whose results have the given types; the caller places it.
  Op* NewOp(OpKind kind, std::vector<Id> operands, const std::vector<Type>& results);
  Id NewArgument(Block* block, Type type);
  // Appends results to an operation whose types were not known when it was made.
  void AddResults(Op* op, const std::vector<Type>& results);
  const Type& type(Id id) const { return types_[id]; }
  // The operation that defines a value; null for block arguments.
  const Op* definition(Id id) const { return definitions_[id]; }
  size_t value_count() const { return types_.size(); }

 private:
  std::deque<Op> ops_;
  std::vector<Type> types_;
  std::vector<const Op*> definitions_;
};

}  // namespace intent::tile
