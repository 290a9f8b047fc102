#include "compiler/ir/module.h"
#include "compiler/numerics/blocks.h"
#include "compiler/numerics/float_rules.h"
#include "compiler/numerics/integer_rules.h"
#include "compiler/numerics/loops.h"

namespace intent::numerics {
namespace {

// Two operands as a rule's loop sees them.
template <typename T>
struct Pair {
  const T* lhs;
  int lhs_stride;
  const T* rhs;
  int rhs_stride;
};

template <typename T, typename R, typename Rule>
void Map(const Pair<T>& in, R* out, size_t count, Rule rule) {
  if (in.lhs_stride == 1 && in.rhs_stride == 1) {
    for (size_t i = 0; i < count; ++i) out[i] = rule(in.lhs[i], in.rhs[i]);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    out[i] = rule(in.lhs[i * in.lhs_stride], in.rhs[i * in.rhs_stride]);
  }
}

void Divide(Approximation mode, const Pair<float>& in, float* out, size_t count) {
  if (!mode.approximate) {
    return Map(in, out, count, [](float a, float b) { return a / b; });
  }
  if (!mode.flush_to_zero) return Map(in, out, count, ApproximateDivide);
  Map(in, out, count, [](float a, float b) {
    return FlushToZero(ApproximateDivide(FlushToZero(a), FlushToZero(b)));
  });
}
void Divide(Approximation, const Pair<double>& in, double* out, size_t count) {
  Map(in, out, count, [](double a, double b) { return a / b; });
}

template <DType D, typename T>
void ApplyFloat(BinaryKind kind, Approximation mode, const Pair<T>& in, T* out, size_t count) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Map(in, out, count, [](T a, T b) { return a + b; });
    case BinaryKind::kSub:
      return Map(in, out, count, [](T a, T b) { return a - b; });
    case BinaryKind::kMul:
      return Map(in, out, count, [](T a, T b) { return a * b; });
    case BinaryKind::kDiv:
      return Divide(mode, in, out, count);
    case BinaryKind::kPow:
      return Map(in, out, count, [](T a, T b) { return Pow(a, b); });
    case BinaryKind::kMaximum:
      return Map(in, out, count, Maximum<T>);
    case BinaryKind::kMinimum:
      return Map(in, out, count, Minimum<T>);
    case BinaryKind::kMaximumNum:
      return Map(in, out, count, MaximumNum<T>);
    case BinaryKind::kMinimumNum:
      return Map(in, out, count, MinimumNum<T>);
    case BinaryKind::kFloatFloorDiv:
      return Map(in, out, count, FloatFloorDiv<D>);
    case BinaryKind::kFloatFloorMod:
      return Map(in, out, count, FloatFloorMod<T>);
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

template <typename T>
void ApplyInteger(BinaryKind kind, int width, const Pair<T>& in, T* out, size_t count) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Map(in, out, count, WrapAdd<T>);
    case BinaryKind::kSub:
      return Map(in, out, count, WrapSub<T>);
    case BinaryKind::kMul:
      return Map(in, out, count, WrapMul<T>);
    case BinaryKind::kFloorDiv:
      return Map(in, out, count, FloorDiv<T>);
    case BinaryKind::kMod:
      return Map(in, out, count, FloorMod<T>);
    case BinaryKind::kPow:
      return Map(in, out, count, WrapPow<T>);
    case BinaryKind::kMaximum:
    case BinaryKind::kMaximumNum:
      return Map(in, out, count, Maximum<T>);
    case BinaryKind::kMinimum:
    case BinaryKind::kMinimumNum:
      return Map(in, out, count, Minimum<T>);
    case BinaryKind::kAnd:
      return Map(in, out, count, [](T a, T b) { return static_cast<T>(a & b); });
    case BinaryKind::kOr:
      return Map(in, out, count, [](T a, T b) { return static_cast<T>(a | b); });
    case BinaryKind::kXor:
      return Map(in, out, count, [](T a, T b) { return static_cast<T>(a ^ b); });
    case BinaryKind::kShl:
      return Map(in, out, count, [=](T a, T b) { return ShiftLeft(a, b, width); });
    case BinaryKind::kShr:
      return Map(in, out, count, [=](T a, T b) { return ShiftRight(a, b, width); });
    case BinaryKind::kIpowTrunc:
      return Map(in, out, count, TruncatedPow<T>);
    case BinaryKind::kDiv:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

// Logical operations, and the arithmetic layer's pow of Booleans (a ** b is a or not b).
void ApplyBool(BinaryKind kind, const Pair<bool>& in, bool* out, size_t count) {
  switch (kind) {
    case BinaryKind::kAnd:
    case BinaryKind::kMinimum:
      return Map(in, out, count, [](bool a, bool b) { return a && b; });
    case BinaryKind::kOr:
    case BinaryKind::kMaximum:
      return Map(in, out, count, [](bool a, bool b) { return a || b; });
    case BinaryKind::kXor:
      return Map(in, out, count, [](bool a, bool b) { return a != b; });
    case BinaryKind::kPow:
    case BinaryKind::kIpowTrunc:
      return Map(in, out, count, [](bool a, bool b) { return a || !b; });
    case BinaryKind::kShl:
    case BinaryKind::kShr:
      return Map(in, out, count, [](bool a, bool b) { return a && !b; });
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
    case BinaryKind::kMul:
    case BinaryKind::kDiv:
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      break;
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

template <DType D, typename T>
void Apply(BinaryKind kind, Approximation mode, const Pair<T>& in, T* out, size_t count) {
  if constexpr (kIsFloat<T>) {
    ApplyFloat<D>(kind, mode, in, out, count);
  } else if constexpr (std::is_same_v<T, bool>) {
    ApplyBool(kind, in, out, count);
  } else {
    ApplyInteger(kind, BitWidth(D), in, out, count);
  }
}

template <typename T>
void Compare(CompareKind kind, const Pair<T>& in, uint8_t* out, size_t count) {
  switch (kind) {
    case CompareKind::kEq:
      return Map(in, out, count, [](T a, T b) -> uint8_t { return a == b; });
    case CompareKind::kNe:
      return Map(in, out, count, [](T a, T b) -> uint8_t { return a != b; });
    case CompareKind::kLt:
      return Map(in, out, count, [](T a, T b) -> uint8_t { return a < b; });
    case CompareKind::kLe:
      return Map(in, out, count, [](T a, T b) -> uint8_t { return a <= b; });
    case CompareKind::kGt:
      return Map(in, out, count, [](T a, T b) -> uint8_t { return a > b; });
    case CompareKind::kGe:
      return Map(in, out, count, [](T a, T b) -> uint8_t { return a >= b; });
  }
  INTENT_UNREACHABLE() << NameOf(kind);
}

}  // namespace

bool IsDefined(BinaryKind kind, DType dtype) {
  const bool is_bool = dtype == DType::kBool;
  switch (kind) {
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
    case BinaryKind::kMul:
    case BinaryKind::kMaximumNum:
    case BinaryKind::kMinimumNum:
      return !is_bool;
    case BinaryKind::kPow:
    case BinaryKind::kMaximum:
    case BinaryKind::kMinimum:
      return true;
    case BinaryKind::kDiv:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      return IsFloat(dtype);
    case BinaryKind::kFloorDiv:
    case BinaryKind::kMod:
      return IsInteger(dtype);
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kShl:
    case BinaryKind::kShr:
    case BinaryKind::kIpowTrunc:
      return !IsFloat(dtype);
  }
  return false;
}

bool IsDefined(CompareKind, DType) { return true; }

void BinaryLoop(BinaryKind kind, DType dtype, Approximation mode, const void* lhs, int lhs_stride,
                const void* rhs, int rhs_stride, void* out, size_t count) {
  if (count == 0) return;
  Dispatch(dtype, [&]<DType D>() {
    BlockInput<D> left(lhs, lhs_stride), right(rhs, rhs_stride);
    BlockOutput<D> output(out);
    ForEachBlock(count, [&](size_t first, size_t size) {
      const Pair<typename Element<D>::Compute> in{left.At(first, size), lhs_stride,
                                                  right.At(first, size), rhs_stride};
      Apply<D>(kind, mode, in, output.Room(first), size);
      output.Commit(first, size);
    });
  });
}

void CompareLoop(CompareKind kind, DType dtype, const void* lhs, int lhs_stride, const void* rhs,
                 int rhs_stride, void* out, size_t count) {
  if (count == 0) return;
  Dispatch(dtype, [&]<DType D>() {
    BlockInput<D> left(lhs, lhs_stride), right(rhs, rhs_stride);
    ForEachBlock(count, [&](size_t first, size_t size) {
      const Pair<typename Element<D>::Compute> in{left.At(first, size), lhs_stride,
                                                  right.At(first, size), rhs_stride};
      Compare(kind, in, static_cast<uint8_t*>(out) + first, size);
    });
  });
}

}  // namespace intent::numerics
