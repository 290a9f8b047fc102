#include "tests/numerics/float_functions.h"

#include <cmath>

#include "compiler/ir/module.h"
#include "compiler/numerics/float_format.h"

namespace intent::numerics {

double Bounds::For(DType dtype) const {
  if (dtype == DType::kF64) return f64;
  if (dtype == DType::kF32) return f32;
  return 0.5 + std::ldexp(f32, FormatOf(dtype).mantissa_bits - 22);
}

const std::vector<FloatFunction>& FloatFunctions() {
  const auto unary = [](UnaryKind kind, Bounds interpreter, Bounds cpu, Bounds cuda) {
    return FloatFunction{"unary." + std::string(NameOf(kind)), kind, {}, interpreter, cpu, cuda};
  };
  const auto binary = [](BinaryKind kind, Bounds interpreter, Bounds cpu, Bounds cuda) {
    return FloatFunction{"binary." + std::string(NameOf(kind)), {}, kind, interpreter, cpu, cuda};
  };
  // f32 of the interpreter is f64 rounded once.
  static const auto* const kFunctions = new std::vector<FloatFunction>{
      unary(UnaryKind::kExp, {0.501, 1}, {1.2, 1.5}, {2, 1}),
      unary(UnaryKind::kExp2, {0.501, 1}, {1.3, 1.5}, {2, 1}),
      unary(UnaryKind::kLog, {0.501, 1}, {1, 1}, {1, 1}),
      unary(UnaryKind::kLog1p, {0.501, 0.51}, {0.51, 1}, {1, 1}),
      unary(UnaryKind::kLgamma, {0.501, 1}, {0.6, 8}, {0.51, 4}),
      unary(UnaryKind::kSin, {0.501, 1}, {0.51, 1}, {2, 2}),
      unary(UnaryKind::kAsin, {0.501, 1}, {0.51, 1}, {2, 2}),
      unary(UnaryKind::kCos, {0.501, 1}, {0.51, 1}, {2, 2}),
      unary(UnaryKind::kFloor, {0, 0}, {0, 0}, {0, 0}),
      unary(UnaryKind::kErf, {0.501, 1.5}, {2, 2}, {2, 2}),
      unary(UnaryKind::kErfc, {0.501, 0.6}, {0.51, 5}, {4, 5}),
      unary(UnaryKind::kI0, {0.501, 1}, {0.6, 6}, {6, 6}),
      unary(UnaryKind::kRsqrt, {0.501, 0.51}, {2, 2}, {2, 1}),
      unary(UnaryKind::kSqrt, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}),
      unary(UnaryKind::kSigmoid, {0.501, 0.51}, {2.5, 3}, {3, 3}),
      unary(UnaryKind::kTanh, {0.501, 3}, {2, 3}, {2, 2}),
      binary(BinaryKind::kAdd, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}),
      binary(BinaryKind::kSub, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}),
      binary(BinaryKind::kMul, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}),
      binary(BinaryKind::kDiv, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}),
      binary(BinaryKind::kPow, {0.501, 1}, {0.51, 1}, {4, 2}),
      binary(BinaryKind::kFloatFloorDiv, {0, 0}, {0, 0}, {0, 0}),
      binary(BinaryKind::kFloatFloorMod, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}),
  };
  return *kFunctions;
}

}  // namespace intent::numerics
