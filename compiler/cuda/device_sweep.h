#pragma once

// Test support: every function of the device library that a tile program can ask for, as data, and
// as kernels over arrays of elements. What the kernels must give comes from compiler/numerics.

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/ir/op_attributes.h"

namespace intent::cuda {

struct DeviceFunction {
  enum class Form : uint8_t {
    kUnary,
    kBinary,
    kCompare,
    kRounded,  // `binary` with an explicit rounding boundary
    kFma,
    kSelect,  // x == y ? x : z
    kCast,
    kSaturatingCast,
    kBitcast,
    kLiteral,  // the greatest value, written down
    kZero,
  };
  Form form = Form::kUnary;
  DType in = DType::kF32;
  DType out = DType::kF32;
  UnaryKind unary = UnaryKind::kNegate;
  BinaryKind binary = BinaryKind::kAdd;
  CompareKind compare = CompareKind::kEq;
  bool approximate = false;
  bool flush_to_zero = false;

  // "b_add(x, y)": C++ on the variables x, y and z of the dtype `in`.
  std::string Expression() const;
  // Equal to compiler/numerics to the bit, NaN to NaN. Others keep a bound.
  bool IsExact() const;
};

// Every function with operands of the dtype that tile::VerifyTile admits.
std::vector<DeviceFunction> DeviceFunctionsOf(DType in);

// The exact ones of every dtype.
std::vector<DeviceFunction> ExactDeviceFunctions();

// INTENT_KERNEL(<number>, in, out, expression) for each function, a line each.
std::string DeviceKernels(const std::vector<DeviceFunction>& functions);

// CUDA C++ with a kernel k<number> for each function:
//   (const In* x, const In* y, const In* z, Out* out, u64 count), elements as they lie in memory.
std::string DeviceSweepSource(const std::vector<DeviceFunction>& functions);

// Operands of equal number, as they lie in memory: every code or pair of codes of small dtypes,
// edges and random bits of others. Static; thread-safe.
struct DeviceOperands {
  size_t count = 0;
  std::vector<uint8_t> x, y, z;
};
const DeviceOperands& OperandsOf(const DeviceFunction& function);

// What the first wrong result is: operands, result and what it should be. Empty: all are right.
std::string FirstDifference(const DeviceFunction& function, const DeviceOperands& operands,
                            const std::vector<uint8_t>& got);

}  // namespace intent::cuda
