#include "compiler/cuda/device_sweep.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "compiler/diag/check.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/element.h"
#include "compiler/numerics/sample_values.h"
#include "compiler/numerics/scalar.h"

namespace intent::cuda {
namespace {

using Form = DeviceFunction::Form;

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};
constexpr UnaryKind kUnaryKinds[] = {
#define INTENT_UNARY(name, text) UnaryKind::name,
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
};
constexpr BinaryKind kBinaryKinds[] = {
#define INTENT_BINARY(name, text) BinaryKind::name,
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
};
constexpr CompareKind kCompareKinds[] = {
#define INTENT_COMPARE(name, text) CompareKind::name,
#include "compiler/ir/kinds.def"
#undef INTENT_COMPARE
};

bool IsRealFunction(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kNegate:
    case UnaryKind::kNot:
    case UnaryKind::kAbs:
    case UnaryKind::kFloor:
    case UnaryKind::kSqrt:
      return false;
    case UnaryKind::kExp:
    case UnaryKind::kExp2:
    case UnaryKind::kLog:
    case UnaryKind::kLog1p:
    case UnaryKind::kLgamma:
    case UnaryKind::kSin:
    case UnaryKind::kAsin:
    case UnaryKind::kCos:
    case UnaryKind::kErf:
    case UnaryKind::kErfc:
    case UnaryKind::kI0:
    case UnaryKind::kRsqrt:
    case UnaryKind::kSigmoid:
    case UnaryKind::kTanh:
      return true;
  }
  return true;
}

std::string Hex(uint64_t bits) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llxull", static_cast<unsigned long long>(bits));
  return text;
}

// What an exact function gives.
void EvaluateOnHost(const DeviceFunction& f, const void* x, const void* y, const void* z, void* out,
                    size_t count) {
  const numerics::Approximation mode{f.approximate, f.flush_to_zero};
  const auto size = static_cast<size_t>(StorageBytes(f.in));
  const auto fill = [&](const ScalarValue& value) {
    for (size_t i = 0; i < count; ++i) {
      numerics::StoreScalar(
          value, static_cast<char*>(out) + i * static_cast<size_t>(StorageBytes(value.dtype)));
    }
  };
  switch (f.form) {
    case Form::kUnary:
      return numerics::UnaryLoop(f.unary, f.in, mode, x, out, count);
    case Form::kBinary:
    case Form::kRounded:
      return numerics::BinaryLoop(f.binary, f.in, mode, x, 1, y, 1, out, count);
    case Form::kCompare:
      return numerics::CompareLoop(f.compare, f.in, x, 1, y, 1, out, count);
    case Form::kCast:
      return numerics::CastLoop(f.in, f.out, x, out, count);
    case Form::kSaturatingCast:
      return numerics::SaturatingCastLoop(f.in, f.out, x, out, count);
    case Form::kBitcast:
      std::memcpy(out, x, count * size);
      return;
    case Form::kLiteral:
      return fill(numerics::GreatestOf(f.out));
    case Form::kZero:
      return fill(numerics::MakeZero(f.out));
    case Form::kSelect: {
      std::vector<uint8_t> equal(count);
      numerics::CompareLoop(CompareKind::kEq, f.in, x, 1, y, 1, equal.data(), count);
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(static_cast<char*>(out) + i * size,
                    static_cast<const char*>(equal[i] != 0 ? x : z) + i * size, size);
      }
      return;
    }
    case Form::kFma:
      return numerics::Dispatch(f.in, [&]<DType D>() {
        using T = typename numerics::Element<D>::Compute;
        if constexpr (numerics::kIsFloat<T>) {
          for (size_t i = 0; i < count; ++i) {
            const auto at = [&](const void* data) {
              return numerics::LoadElement<D>(static_cast<const char*>(data) + i * size);
            };
            numerics::StoreElement<D>(static_cast<char*>(out) + i * size,
                                      std::fma(at(x), at(y), at(z)));
          }
        } else {
          INTENT_UNREACHABLE() << "fma of " << DTypeName(f.in);
        }
      });
  }
}

bool TakesPairs(Form form) {
  return form == Form::kBinary || form == Form::kRounded || form == Form::kCompare ||
         form == Form::kFma || form == Form::kSelect;
}

// Any byte may stand for a bool.
numerics::Scalars Singles(DType dtype) {
  if (dtype != DType::kBool) return numerics::CastSources(dtype);
  numerics::Scalars bytes;
  for (uint32_t byte = 0; byte < 256; ++byte) bytes.push_back({dtype, byte});
  return bytes;
}

numerics::Pairs PairsOf(DType dtype) {
  numerics::Pairs pairs(dtype);
  const auto add = [&](const ScalarValue& x, const ScalarValue& y, const ScalarValue& z) {
    pairs.xs.push_back(x);
    pairs.ys.push_back(y);
    pairs.zs.push_back(z);
  };
  if (BitWidth(dtype) <= 8) {
    const numerics::Scalars codes = Singles(dtype);
    for (const ScalarValue& x : codes) {
      for (const ScalarValue& y : codes) add(x, y, codes[pairs.xs.size() * 7 % codes.size()]);
    }
    return pairs;
  }
  std::mt19937_64 random(static_cast<uint64_t>(dtype));
  const auto draw = [&] {
    const uint64_t high = random();
    return numerics::RandomValue(dtype, high, random());
  };
  for (int i = 0; i < 1 << 15; ++i) {
    const ScalarValue x = draw(), y = draw(), z = draw();
    add(x, y, z);
    // Near to each other, where sums cancel; for integers, a short divisor.
    ScalarValue near = x;
    near.bits ^= y.bits & 0xff;
    if (IsInteger(dtype)) near.bits = y.bits >> (z.bits % static_cast<unsigned>(BitWidth(dtype)));
    add(x, near, z);
  }
  return pairs;
}

std::string Text(DType dtype, const std::vector<uint8_t>& elements, size_t i) {
  const auto size = static_cast<size_t>(StorageBytes(dtype));
  std::string text = "0x";
  for (size_t byte = size; byte-- > 0;) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", elements[i * size + byte]);
    text += digits;
  }
  return text;
}

}  // namespace

std::string DeviceFunction::Expression() const {
  const std::string to(DTypeName(out)), mode = approximate ? "approx_" : "",
                                        ftz = flush_to_zero ? "_ftz" : "";
  switch (form) {
    case Form::kUnary:
      return mode + "u_" + std::string(NameOf(unary)) + ftz + "(x)";
    case Form::kBinary:
      return mode + "b_" + std::string(NameOf(binary)) + ftz + "(x, y)";
    case Form::kRounded:
      return "rn_b_" + std::string(NameOf(binary)) + "(x, y)";
    case Form::kCompare:
      return "c_" + std::string(NameOf(compare)) + "(x, y)";
    case Form::kFma:
      return "fma_(x, y, z)";
    case Form::kSelect:
      return "select_(c_eq(x, y), x, z)";
    case Form::kCast:
      return "cast<" + to + ">(x)";
    case Form::kSaturatingCast:
      return "saturating_cast<" + to + ">(x)";
    case Form::kBitcast:
      return "bitcast<" + to + ">(x)";
    case Form::kLiteral: {
      const auto bits = numerics::GreatestOf(out).bits;
      const std::string low = Hex(static_cast<uint64_t>(bits));
      if (BitWidth(out) < 128) return "from_bits<" + to + ">(" + low + ")";
      return "from_bits<" + to + ">(" + low + ", " + Hex(static_cast<uint64_t>(bits >> 64)) + ")";
    }
    case Form::kZero:
      return "zero<" + to + ">()";
  }
  return "";
}

bool DeviceFunction::IsExact() const {
  if (approximate) return false;
  if (form == Form::kUnary) return !IsRealFunction(unary);
  return !(form == Form::kBinary && binary == BinaryKind::kPow && IsFloat(in));
}

std::vector<DeviceFunction> DeviceFunctionsOf(DType in) {
  std::vector<DeviceFunction> functions;
  const auto add = [&](DeviceFunction f) {
    f.in = in;
    functions.push_back(f);
  };
  for (UnaryKind kind : kUnaryKinds) {
    if (numerics::IsDefined(kind, in)) add({.out = in, .unary = kind});
  }
  for (BinaryKind kind : kBinaryKinds) {
    if (numerics::IsDefined(kind, in)) add({.form = Form::kBinary, .out = in, .binary = kind});
  }
  for (BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul}) {
    if (numerics::IsDefined(kind, in)) add({.form = Form::kRounded, .out = in, .binary = kind});
  }
  for (CompareKind kind : kCompareKinds) {
    if (!numerics::IsDefined(kind, in)) continue;
    add({.form = Form::kCompare, .out = DType::kBool, .compare = kind});
  }
  for (DType to : kDTypes) {
    add({.form = Form::kCast, .out = to});
    add({.form = Form::kSaturatingCast, .out = to});
    if (BitWidth(to) == BitWidth(in)) add({.form = Form::kBitcast, .out = to});
  }
  for (Form form : {Form::kSelect, Form::kLiteral, Form::kZero}) add({.form = form, .out = in});
  if (in == DType::kF32 || in == DType::kF64) add({.form = Form::kFma, .out = in});
  if (in == DType::kF32) {
    for (bool flush : {false, true}) {
      const auto approximate = [&](DeviceFunction f) {
        f.out = in;
        f.approximate = true;
        f.flush_to_zero = flush;
        add(f);
      };
      approximate({.form = Form::kBinary, .binary = BinaryKind::kDiv});
      approximate({.unary = UnaryKind::kExp2});
      if (!flush) approximate({.unary = UnaryKind::kTanh});
    }
  }
  return functions;
}

std::vector<DeviceFunction> ExactDeviceFunctions() {
  std::vector<DeviceFunction> exact;
  for (DType dtype : kDTypes) {
    for (const DeviceFunction& f : DeviceFunctionsOf(dtype)) {
      if (f.IsExact()) exact.push_back(f);
    }
  }
  return exact;
}

std::string DeviceKernels(const std::vector<DeviceFunction>& functions) {
  std::string text;
  size_t number = 0;
  for (const DeviceFunction& f : functions) {
    text += "INTENT_KERNEL(" + std::to_string(number++) + ", " + std::string(DTypeName(f.in)) +
            ", " + std::string(DTypeName(f.out)) + ", " + f.Expression() + ")\n";
  }
  return text;
}

std::string DeviceSweepSource(const std::vector<DeviceFunction>& functions) {
  return R"(#include "intent/wide.cuh"
#include "intent/narrow.cuh"
#include "intent/math.cuh"
#include "intent/special.cuh"
using namespace intent;
template <class T> struct Memory { typedef T type; };
template <> struct Memory<bool> { typedef u8 type; };
template <class T> __device__ T load(typename Memory<T>::type x) { return x; }
template <> __device__ bool load<bool>(u8 x) { return load_bool(x); }
#define INTENT_KERNEL(number, In, Out, ...)                                                    \
  extern "C" __global__ void k##number(const Memory<In>::type* xs, const Memory<In>::type* ys, \
                                       const Memory<In>::type* zs, Memory<Out>::type* out,     \
                                       u64 count) {                                            \
    const u64 step = u64(gridDim.x) * blockDim.x;                                              \
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {           \
      const In x = load<In>(xs[i]), y = load<In>(ys[i]), z = load<In>(zs[i]);                  \
      const Out result = __VA_ARGS__;                                                          \
      out[i] = result;                                                                         \
    }                                                                                          \
  }
)" + DeviceKernels(functions);
}

const DeviceOperands& OperandsOf(const DeviceFunction& f) {
  static std::mutex mutex;
  static auto* const kOperands = new std::map<std::pair<DType, bool>, DeviceOperands>;
  const std::lock_guard lock(mutex);
  DeviceOperands& operands = (*kOperands)[{f.in, TakesPairs(f.form)}];
  if (operands.count != 0) return operands;
  if (TakesPairs(f.form)) {
    const numerics::Pairs pairs = PairsOf(f.in);
    operands = {pairs.xs.size(), numerics::Stored(pairs.xs), numerics::Stored(pairs.ys),
                numerics::Stored(pairs.zs)};
  } else {
    const numerics::Scalars singles = Singles(f.in);
    const std::vector<uint8_t> stored = numerics::Stored(singles);
    operands = {singles.size(), stored, stored, stored};
  }
  return operands;
}

std::string FirstDifference(const DeviceFunction& f, const DeviceOperands& operands,
                            const std::vector<uint8_t>& got) {
  const auto size = static_cast<size_t>(StorageBytes(f.out));
  INTENT_CHECK(got.size() == operands.count * size) << f.Expression();
  std::vector<uint8_t> expected(got.size());
  EvaluateOnHost(f, operands.x.data(), operands.y.data(), operands.z.data(), expected.data(),
                 operands.count);
  if (got == expected) return "";
  for (size_t i = 0; i < operands.count; ++i) {
    const ScalarValue left = numerics::LoadScalar(f.out, &got[i * size]);
    const ScalarValue right = numerics::LoadScalar(f.out, &expected[i * size]);
    if (left == right) continue;
    if (IsFloat(f.out) && std::isnan(numerics::AsDouble(left)) &&
        std::isnan(numerics::AsDouble(right))) {
      continue;
    }
    return f.Expression() + " of " + std::string(DTypeName(f.in)) +
           ": x=" + Text(f.in, operands.x, i) + " y=" + Text(f.in, operands.y, i) +
           " z=" + Text(f.in, operands.z, i) + " gives " + Text(f.out, got, i) + " for " +
           Text(f.out, expected, i);
  }
  return "";
}

}  // namespace intent::cuda
