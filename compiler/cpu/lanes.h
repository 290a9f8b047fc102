#pragma once

// Straight-line LLVM IR over the lanes of one dtype: the arithmetic half of the CPU emitter. A
// value of n lanes is <n x T>, or T if n is 1. In registers a bool is i1, an integer iN, f32 and
// f64 are themselves, and every narrower float is the integer of its bits: their arithmetic goes
// through f32 and back, one rounding each, and no pass of LLVM may look through that.
//
// A Lanes is a cheap view of a builder; methods append at the builder's insertion point and may
// move it to a new block.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/ir/op_attributes.h"
#include "compiler/target/target.h"

namespace llvm {
class IRBuilderBase;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace intent::cpu {

using V = llvm::Value*;

class Lanes {
 public:
  Lanes(llvm::IRBuilderBase& builder, llvm::Module& module, const CpuFacts& facts)
      : b(builder), module(module), facts(facts) {}

  llvm::IRBuilderBase& b;
  llvm::Module& module;
  const CpuFacts& facts;

  // Types.
  llvm::Type* Register(DType dtype, int lanes) const;
  llvm::Type* Memory(DType dtype) const;  // of one element: bool is i8
  static int Count(V value);
  // The type of `like` with another element.
  llvm::Type* With(V like, llvm::Type* element) const;
  llvm::Type* FloatOf(V like) const;
  llvm::Type* DoubleOf(V like) const;
  llvm::Type* IntOf(V like, int bits) const;

  // Constants shaped like a value.
  V F(V like, double value) const;
  V I(V like, uint64_t value) const;
  V Constant(const ScalarValue& value, int lanes) const;

  // Floats (f32 or f64 lanes).
  V Add(V x, V y) const;
  V Sub(V x, V y) const;
  V Mul(V x, V y) const;
  V Div(V x, V y) const;
  V Abs(V x) const;
  V Sqrt(V x) const;
  V CopySign(V magnitude, V sign) const;
  V Fma(V x, V y, V z) const;  // rounded once on every target
  V Mad(V x, V y, V z) const;  // fused where that is free: for polynomials
  // c0 + x (c1 + x (c2 + ...)).
  V Polynomial(V x, std::initializer_list<double> coefficients) const;
  V Bits(V x) const;      // as integers of the same width
  V FromBits(V x) const;  // integers of 32 or 64 bits as floats
  V Select(V condition, V x, V y) const;
  V IsNan(V x) const;
  V Less(V x, V y) const;  // ordered
  V Any(V mask) const;     // i1
  V Widen(V x) const;      // f32 -> f64
  V Narrow(V x) const;     // f64 -> f32, to nearest even
  V Splat(V scalar, int lanes) const;

  // Calls `name` of libm for each lane, in double; f32 arguments are widened and the result is
  // rounded once.
  V PerLane(const std::string& name, std::vector<V> arguments) const;

  // Applies a vector instruction of `size` lanes to values of any number of lanes, piece by piece;
  // missing lanes are zeros that nobody reads.
  V InPieces(const std::vector<V>& values, int size,
             const std::function<V(const std::vector<V>&)>& instruction) const;

  // Formats below f32 (convert.cc).
  V ToF32(DType from, V bits) const;
  V FromF32(DType to, V value, bool saturate = false) const;
  V FromF64(DType to, V value, bool saturate = false) const;
  // f64 to f32 so that a second rounding to a format of at most 22 bits is the only one.
  V RoundToOdd(V value) const;
  // f16 and narrower as f32; f32 and f64 as they are.
  V Open(DType dtype, V value) const;
  V Close(DType dtype, V value) const;

  // Operations by their KIR meaning. Null if this back end does not serve the dtype.
  V Unary(UnaryKind kind, DType dtype, V x, bool approximate, bool flush) const;
  V Binary(BinaryKind kind, DType dtype, V x, V y, bool approximate, bool flush) const;
  V Compare(CompareKind kind, DType dtype, V x, V y) const;
  V Combine(CombineKind kind, DType dtype, V x, V y) const;
  V Cast(DType from, DType to, V x) const;
  V SaturatingCast(DType from, DType to, V x) const;
  V Bitcast(DType from, DType to, V x) const;
  // Combined as a tree: lane l with lane l + ceil(n / 2) while n > 1.
  V ReduceLanes(CombineKind kind, DType dtype, V x) const;

  // A stack slot in the current function's entry block. Open and Close bound the code that uses it,
  // so that slots of different uses share their place in the frame.
  V Slot(llvm::Type* type, int alignment) const;
  V OpenSlot(llvm::Type* type, int alignment) const;
  void CloseSlot(V slot) const;

 private:
  V FloatUnary(UnaryKind kind, DType dtype, V x, bool approximate, bool flush) const;
  V FloatBinary(BinaryKind kind, DType dtype, V x, V y, bool approximate, bool flush) const;
};

// Real functions on f32 or f64 lanes (math_*.cc).
V EmitExp(const Lanes& l, V x);
V EmitExp2(const Lanes& l, V x);
V EmitLog(const Lanes& l, V x);
V EmitLog1p(const Lanes& l, V x);
V EmitSigmoid(const Lanes& l, V x);
V EmitTanh(const Lanes& l, V x);
V EmitErf(const Lanes& l, V x);
V EmitLgamma(const Lanes& l, V x);
V EmitI0(const Lanes& l, V x);
V EmitSin(const Lanes& l, V x);
V EmitCos(const Lanes& l, V x);
V EmitRsqrt(const Lanes& l, V x);
V EmitPow(const Lanes& l, V x, V y);

}  // namespace intent::cpu
