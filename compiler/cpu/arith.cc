// Pointwise operations on integers and bools, and the dispatch of floating ones (seed 000 chapters
// 4 and 5, language.md 16). Invalid input gives what compiler/numerics gives.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

using llvm::Intrinsic::ID;

// Python's floor division and remainder, total: a divisor of 0 gives 0, MIN // -1 wraps.
V FloorDivide(const Lanes& l, DType dtype, V x, V y, bool remainder) {
  llvm::IRBuilderBase& b = l.b;
  const bool is_signed = IsSignedInteger(dtype);
  V zero = l.I(x, 0), one = l.I(x, 1);
  V by_zero = b.CreateICmpEQ(y, zero);
  V unsafe = by_zero;
  if (is_signed) {
    const uint64_t lowest = uint64_t{1} << (BitWidth(dtype) - 1);
    unsafe = b.CreateOr(unsafe, b.CreateAnd(b.CreateICmpEQ(y, l.I(x, ~uint64_t{0})),
                                            b.CreateICmpEQ(x, l.I(x, lowest))));
  }
  V divisor = l.Select(unsafe, one, y);
  if (!is_signed) {
    if (remainder) return b.CreateURem(x, divisor);
    return l.Select(by_zero, zero, b.CreateUDiv(x, divisor));
  }
  V quotient = b.CreateSDiv(x, divisor);
  V rest = b.CreateSub(x, b.CreateMul(quotient, divisor));
  V adjust =
      b.CreateAnd(b.CreateICmpNE(rest, zero), b.CreateICmpSLT(b.CreateXor(rest, divisor), zero));
  if (remainder) return b.CreateAdd(rest, l.Select(adjust, divisor, zero));
  return l.Select(by_zero, zero, b.CreateAdd(quotient, b.CreateSExt(adjust, x->getType())));
}

// base^exponent modulo 2^width by squaring, while any lane's exponent has a bit left.
V IntegerPower(const Lanes& l, V base, V exponent) {
  llvm::IRBuilderBase& b = l.b;
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "pow", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "pow.done", function);
  V one = l.I(base, 1), zero = l.I(base, 0);
  b.CreateCondBr(l.Any(b.CreateICmpNE(exponent, zero)), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* power = b.CreatePHI(base->getType(), 2);
  llvm::PHINode* square = b.CreatePHI(base->getType(), 2);
  llvm::PHINode* left = b.CreatePHI(base->getType(), 2);
  V odd = b.CreateICmpNE(b.CreateAnd(left, one), zero);
  V next = l.Select(odd, b.CreateMul(power, square), power);
  V squared = b.CreateMul(square, square);
  V halved = b.CreateLShr(left, one);
  power->addIncoming(one, before);
  power->addIncoming(next, loop);
  square->addIncoming(base, before);
  square->addIncoming(squared, loop);
  left->addIncoming(exponent, before);
  left->addIncoming(halved, loop);
  b.CreateCondBr(l.Any(b.CreateICmpNE(halved, zero)), loop, done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(base->getType(), 2);
  result->addIncoming(one, before);
  result->addIncoming(next, loop);
  return result;
}

V SignedPower(const Lanes& l, DType dtype, V x, V y, bool truncated) {
  if (!IsSignedInteger(dtype)) return IntegerPower(l, x, y);
  llvm::IRBuilderBase& b = l.b;
  V zero = l.I(x, 0), one = l.I(x, 1), minus = l.I(x, ~uint64_t{0});
  V negative = b.CreateICmpSLT(y, zero);
  V power = IntegerPower(l, x, l.Select(negative, zero, y));
  V below = zero;
  if (truncated) {
    V odd = b.CreateICmpNE(b.CreateAnd(y, one), zero);
    below = l.Select(b.CreateICmpEQ(x, minus), l.Select(odd, minus, one), below);
    below = l.Select(b.CreateICmpEQ(x, one), one, below);
  }
  return l.Select(negative, below, power);
}

// An amount outside [0, width) gives 0, never poison.
V Shift(const Lanes& l, DType dtype, V x, V amount, bool left) {
  llvm::IRBuilderBase& b = l.b;
  const uint64_t width = static_cast<uint64_t>(BitWidth(dtype));
  V valid = b.CreateICmpULT(amount, l.I(amount, width));
  V safe = b.CreateAnd(amount, l.I(amount, width - 1));
  V shifted = left                     ? b.CreateShl(x, safe)
              : IsSignedInteger(dtype) ? b.CreateAShr(x, safe)
                                       : b.CreateLShr(x, safe);
  return l.Select(valid, shifted, l.I(x, 0));
}

V Extreme(const Lanes& l, DType dtype, V x, V y, bool maximum) {
  const ID id = IsSignedInteger(dtype) ? (maximum ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                       : (maximum ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
  return l.b.CreateBinaryIntrinsic(id, x, y);
}

V IntegerBinary(const Lanes& l, BinaryKind kind, DType dtype, V x, V y) {
  llvm::IRBuilderBase& b = l.b;
  const bool divides = kind == BinaryKind::kFloorDiv || kind == BinaryKind::kMod;
  // Division of 128 bits would call into a compiler's runtime library.
  if (divides && BitWidth(dtype) == 128) return nullptr;
  switch (kind) {
    case BinaryKind::kAdd:
      return b.CreateAdd(x, y);
    case BinaryKind::kSub:
      return b.CreateSub(x, y);
    case BinaryKind::kMul:
      return b.CreateMul(x, y);
    case BinaryKind::kFloorDiv:
      return FloorDivide(l, dtype, x, y, false);
    case BinaryKind::kMod:
      return FloorDivide(l, dtype, x, y, true);
    case BinaryKind::kPow:
      return SignedPower(l, dtype, x, y, false);
    case BinaryKind::kIpowTrunc:
      return SignedPower(l, dtype, x, y, true);
    case BinaryKind::kMaximum:
    case BinaryKind::kMaximumNum:
      return Extreme(l, dtype, x, y, true);
    case BinaryKind::kMinimum:
    case BinaryKind::kMinimumNum:
      return Extreme(l, dtype, x, y, false);
    case BinaryKind::kAnd:
      return b.CreateAnd(x, y);
    case BinaryKind::kOr:
      return b.CreateOr(x, y);
    case BinaryKind::kXor:
      return b.CreateXor(x, y);
    case BinaryKind::kShl:
      return Shift(l, dtype, x, y, true);
    case BinaryKind::kShr:
      return Shift(l, dtype, x, y, false);
    case BinaryKind::kDiv:
    case BinaryKind::kFloatFloorDiv:
    case BinaryKind::kFloatFloorMod:
      return nullptr;
  }
  return nullptr;
}

V BoolBinary(const Lanes& l, BinaryKind kind, V x, V y) {
  switch (kind) {
    case BinaryKind::kAnd:
    case BinaryKind::kMinimum:
      return l.b.CreateAnd(x, y);
    case BinaryKind::kOr:
    case BinaryKind::kMaximum:
      return l.b.CreateOr(x, y);
    case BinaryKind::kXor:
      return l.b.CreateXor(x, y);
    case BinaryKind::kPow:
    case BinaryKind::kIpowTrunc:
      return l.b.CreateOr(x, l.b.CreateNot(y));
    case BinaryKind::kShl:
    case BinaryKind::kShr:
      return l.b.CreateAnd(x, l.b.CreateNot(y));
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
      return nullptr;
  }
  return nullptr;
}

}  // namespace

V Lanes::Unary(UnaryKind kind, DType dtype, V x, bool approximate, bool flush) const {
  if (IsFloat(dtype)) return FloatUnary(kind, dtype, x, approximate, flush);
  switch (kind) {
    case UnaryKind::kNegate:
      return b.CreateNeg(x);
    case UnaryKind::kNot:
      return b.CreateNot(x);
    case UnaryKind::kAbs:
      if (!IsSignedInteger(dtype)) return x;
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
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
      return nullptr;
  }
  return nullptr;
}

V Lanes::Binary(BinaryKind kind, DType dtype, V x, V y, bool approximate, bool flush) const {
  if (IsFloat(dtype)) return FloatBinary(kind, dtype, x, y, approximate, flush);
  return dtype == DType::kBool ? BoolBinary(*this, kind, x, y)
                               : IntegerBinary(*this, kind, dtype, x, y);
}

V Lanes::Compare(CompareKind kind, DType dtype, V x, V y) const {
  using P = llvm::CmpInst;
  if (IsFloat(dtype)) {
    x = Open(dtype, x);
    y = Open(dtype, y);
    if (x == nullptr) return nullptr;
  }
  const bool is_float = IsFloat(dtype), is_signed = IsSignedInteger(dtype);
  const auto pick = [&](P::Predicate f, P::Predicate s, P::Predicate u) {
    return b.CreateCmp(is_float ? f : is_signed ? s : u, x, y);
  };
  switch (kind) {
    case CompareKind::kEq:
      return pick(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case CompareKind::kNe:
      return pick(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case CompareKind::kLt:
      return pick(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case CompareKind::kLe:
      return pick(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case CompareKind::kGt:
      return pick(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    case CompareKind::kGe:
      return pick(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  }
  return nullptr;
}

V Lanes::Combine(CombineKind kind, DType dtype, V x, V y) const {
  switch (kind) {
    case CombineKind::kAdd:
      return Binary(BinaryKind::kAdd, dtype, x, y, false, false);
    case CombineKind::kMaximum:
      return Binary(BinaryKind::kMaximum, dtype, x, y, false, false);
    case CombineKind::kMinimum:
      return Binary(BinaryKind::kMinimum, dtype, x, y, false, false);
    case CombineKind::kAnd:
      return Binary(BinaryKind::kAnd, dtype, x, y, false, false);
    case CombineKind::kOr:
      return Binary(BinaryKind::kOr, dtype, x, y, false, false);
    case CombineKind::kRegion:
    case CombineKind::kArgMax:
      return nullptr;
  }
  return nullptr;
}

V Lanes::ReduceLanes(CombineKind kind, DType dtype, V x) const {
  for (int n = Count(x); n > 1;) {
    const int half = (n + 1) / 2;
    std::vector<int> low, high;
    for (int i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i < n ? half + i : -1);
    }
    V left = half == 1 ? b.CreateExtractElement(x, uint64_t{0}) : b.CreateShuffleVector(x, low);
    V right = half == 1 ? b.CreateExtractElement(x, uint64_t{1}) : b.CreateShuffleVector(x, high);
    V both = Combine(kind, dtype, left, right);
    if (both == nullptr) return nullptr;
    if (n % 2 != 0) {  // the middle lane has no partner
      std::vector<int> join;
      for (int i = 0; i < half - 1; ++i) join.push_back(i);
      join.push_back(half + half - 1);
      both = b.CreateShuffleVector(both, left, join);
    }
    x = both;
    n = half;
  }
  return x;
}

}  // namespace intent::cpu
