#include <cmath>

#include "compiler/ir/module.h"
#include "compiler/numerics/blocks.h"
#include "compiler/numerics/float_rules.h"
#include "compiler/numerics/integer_rules.h"
#include "compiler/numerics/loops.h"

namespace intent::numerics {
namespace {

template <typename T, typename Rule>
void Map(const T* in, T* out, size_t count, Rule rule) {
  for (size_t i = 0; i < count; ++i) out[i] = rule(in[i]);
}

void Apply(UnaryKind kind, Approximation, const bool* in, bool* out, size_t count) {
  INTENT_CHECK(kind == UnaryKind::kNot) << NameOf(kind);
  Map(in, out, count, [](bool x) { return !x; });
}

template <typename T>
void ApplyFloat(UnaryKind kind, Approximation mode, const T* in, T* out, size_t count) {
  switch (kind) {
    case UnaryKind::kNegate:
      return Map(in, out, count, [](T x) { return -x; });
    case UnaryKind::kAbs:
      return Map(in, out, count, [](T x) { return std::fabs(x); });
    case UnaryKind::kExp:
      return Map(in, out, count, [](T x) { return Exp(x); });
    case UnaryKind::kExp2:
      if constexpr (std::is_same_v<T, float>) {
        if (mode.flush_to_zero) {
          return Map(in, out, count, [](T x) { return FlushToZero(Exp2(FlushToZero(x))); });
        }
      }
      return Map(in, out, count, [](T x) { return Exp2(x); });
    case UnaryKind::kLog:
      return Map(in, out, count, [](T x) { return Log(x); });
    case UnaryKind::kLog1p:
      return Map(in, out, count, [](T x) { return Log1p(x); });
    case UnaryKind::kLgamma:
      return Map(in, out, count, [](T x) { return Lgamma(x); });
    case UnaryKind::kSin:
      return Map(in, out, count, [](T x) { return Sin(x); });
    case UnaryKind::kAsin:
      return Map(in, out, count, [](T x) { return Asin(x); });
    case UnaryKind::kCos:
      return Map(in, out, count, [](T x) { return Cos(x); });
    case UnaryKind::kFloor:
      return Map(in, out, count, [](T x) { return std::floor(x); });
    case UnaryKind::kErf:
      return Map(in, out, count, [](T x) { return Erf(x); });
    case UnaryKind::kErfc:
      return Map(in, out, count, [](T x) { return Erfc(x); });
    case UnaryKind::kI0:
      return Map(in, out, count, [](T x) { return I0(x); });
    case UnaryKind::kRsqrt:
      return Map(in, out, count, [](T x) { return Rsqrt(x); });
    case UnaryKind::kSqrt:
      return Map(in, out, count, [](T x) { return std::sqrt(x); });
    case UnaryKind::kSigmoid:
      return Map(in, out, count, [](T x) { return Sigmoid(x); });
    case UnaryKind::kTanh:
      return Map(in, out, count, [](T x) { return Tanh(x); });
    case UnaryKind::kNot:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

template <typename T>
void ApplyInteger(UnaryKind kind, const T* in, T* out, size_t count) {
  switch (kind) {
    case UnaryKind::kNegate:
      return Map(in, out, count, [](T x) { return WrapNegate(x); });
    case UnaryKind::kNot:
      return Map(in, out, count, [](T x) { return static_cast<T>(~x); });
    case UnaryKind::kAbs:
      return Map(in, out, count, [](T x) { return WrapAbs(x); });
    case UnaryKind::kExp:
    case UnaryKind::kExp2:
    case UnaryKind::kLog:
    case UnaryKind::kLog1p:
    case UnaryKind::kLgamma:
    case UnaryKind::kSin:
    case UnaryKind::kAsin:
    case UnaryKind::kCos:
    case UnaryKind::kFloor:
    case UnaryKind::kErf:
    case UnaryKind::kErfc:
    case UnaryKind::kI0:
    case UnaryKind::kRsqrt:
    case UnaryKind::kSqrt:
    case UnaryKind::kSigmoid:
    case UnaryKind::kTanh:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

template <typename T>
void Apply(UnaryKind kind, Approximation mode, const T* in, T* out, size_t count) {
  if constexpr (kIsFloat<T>) {
    ApplyFloat(kind, mode, in, out, count);
  } else {
    ApplyInteger(kind, in, out, count);
  }
}

}  // namespace

bool IsDefined(UnaryKind kind, DType dtype) {
  switch (kind) {
    case UnaryKind::kNegate:
    case UnaryKind::kAbs:
      return dtype != DType::kBool;
    case UnaryKind::kNot:
      return !IsFloat(dtype);
    case UnaryKind::kExp:
    case UnaryKind::kExp2:
    case UnaryKind::kLog:
    case UnaryKind::kLog1p:
    case UnaryKind::kLgamma:
    case UnaryKind::kSin:
    case UnaryKind::kAsin:
    case UnaryKind::kCos:
    case UnaryKind::kFloor:
    case UnaryKind::kErf:
    case UnaryKind::kErfc:
    case UnaryKind::kI0:
    case UnaryKind::kRsqrt:
    case UnaryKind::kSqrt:
    case UnaryKind::kSigmoid:
    case UnaryKind::kTanh:
      return IsFloat(dtype);
  }
  return false;
}

void UnaryLoop(UnaryKind kind, DType dtype, Approximation mode, const void* in, void* out,
               size_t count) {
  Dispatch(dtype, [&]<DType D>() {
    BlockInput<D> input(in, 1);
    BlockOutput<D> output(out);
    ForEachBlock(count, [&](size_t first, size_t size) {
      Apply(kind, mode, input.At(first, size), output.Room(first), size);
      output.Commit(first, size);
    });
  });
}

}  // namespace intent::numerics
