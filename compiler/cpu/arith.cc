// Pointwise operations on integers and bools, and the dispatch of floating ones (seed 000 chapters
// 4 and 5, language.md 16). Invalid input gives what compiler/numerics gives.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

using llvm::Intrinsic::ID;

V AllOnes(V like) { return llvm::Constant::getAllOnesValue(like->getType()); }

// i128 quotient(i128, i128), the divisor not zero: long division, since LLVM's would call into a
// compiler's runtime library.
llvm::Function* WideDivision(llvm::Module& module) {
  constexpr const char* kSymbol = "intent.divide128";
  if (llvm::Function* known = module.getFunction(kSymbol)) return known;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* type = llvm::Type::getInt128Ty(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                                          llvm::GlobalValue::InternalLinkage, kSymbol, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotThrow();
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "bit", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  llvm::IRBuilder<> b(entry);
  V dividend = function->getArg(0), divisor = function->getArg(1);
  V zero = llvm::ConstantInt::get(type, 0), one = llvm::ConstantInt::get(type, 1);
  // The divisor's highest bit under the dividend's.
  V top = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, dividend, b.getFalse());
  V first = b.CreateSub(b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, divisor, b.getTrue()), top);
  b.CreateCondBr(b.CreateICmpULE(divisor, dividend), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* shift = b.CreatePHI(type, 2);
  llvm::PHINode* rest = b.CreatePHI(type, 2);
  llvm::PHINode* quotient = b.CreatePHI(type, 2);
  V part = b.CreateShl(divisor, shift);
  V fits = b.CreateICmpULE(part, rest);
  V next_rest = b.CreateSelect(fits, b.CreateSub(rest, part), rest);
  V next = b.CreateOr(b.CreateShl(quotient, one), b.CreateZExt(fits, type));
  shift->addIncoming(first, entry);
  shift->addIncoming(b.CreateSub(shift, one), loop);
  rest->addIncoming(dividend, entry);
  rest->addIncoming(next_rest, loop);
  quotient->addIncoming(zero, entry);
  quotient->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpEQ(shift, zero), done, loop);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(type, 2);
  result->addIncoming(zero, entry);
  result->addIncoming(next, loop);
  b.CreateRet(result);
  return function;
}

V DivideUnsigned(const Lanes& l, V x, V y) {
  llvm::IRBuilderBase& b = l.b;
  if (x->getType()->getScalarSizeInBits() != 128) return b.CreateUDiv(x, y);
  llvm::Function* division = WideDivision(l.module);
  const int count = Lanes::Count(x);
  if (count == 1) return b.CreateCall(division, {x, y});
  V result = llvm::PoisonValue::get(x->getType());
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    V quotient =
        b.CreateCall(division, {b.CreateExtractElement(x, i), b.CreateExtractElement(y, i)});
    result = b.CreateInsertElement(result, quotient, i);
  }
  return result;
}

// Towards zero; the divisor is not zero, and the quotient fits or wraps.
V DivideSigned(const Lanes& l, V x, V y) {
  llvm::IRBuilderBase& b = l.b;
  if (x->getType()->getScalarSizeInBits() != 128) return b.CreateSDiv(x, y);
  const auto magnitude = [&](V v) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b.getFalse());
  };
  V quotient = DivideUnsigned(l, magnitude(x), magnitude(y));
  V negative = b.CreateICmpSLT(b.CreateXor(x, y), l.I(x, 0));
  return l.Select(negative, b.CreateNeg(quotient), quotient);
}

// Python's floor division and remainder, total: a divisor of 0 gives 0, MIN // -1 wraps.
V FloorDivide(const Lanes& l, DType dtype, V x, V y, bool remainder) {
  llvm::IRBuilderBase& b = l.b;
  const bool is_signed = IsSignedInteger(dtype);
  V zero = l.I(x, 0), one = l.I(x, 1);
  V by_zero = b.CreateICmpEQ(y, zero);
  V unsafe = by_zero;
  if (is_signed) {
    V lowest = llvm::ConstantInt::get(
        x->getType(), llvm::APInt::getSignedMinValue(static_cast<unsigned>(BitWidth(dtype))));
    unsafe =
        b.CreateOr(unsafe, b.CreateAnd(b.CreateICmpEQ(y, AllOnes(y)), b.CreateICmpEQ(x, lowest)));
  }
  V divisor = l.Select(unsafe, one, y);
  if (!is_signed) {
    V quotient = DivideUnsigned(l, x, divisor);
    if (remainder) return b.CreateSub(x, b.CreateMul(quotient, divisor));
    return l.Select(by_zero, zero, quotient);
  }
  V quotient = DivideSigned(l, x, divisor);
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
  V zero = l.I(x, 0), one = l.I(x, 1), minus = AllOnes(x);
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
