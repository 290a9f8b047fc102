#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

#include "compiler/cpu/kernel_walker.h"
#include "compiler/cpu/memory.h"
#include "compiler/diag/check.h"
#include "compiler/driver/intent_call.h"

namespace intent::cpu {

using tile::Op;
using tile::OpKind;

void KernelWalker::EmitOp(const Op& op) {
  const CallAbi abi(l_, frame_.call);
  const auto operand = [&](size_t i) { return Value(op.operands[i]); };
  const auto dtype_of = [&](size_t i) { return program_.type(op.operands[i]).dtype; };
  const tile::Type type = op.results.empty() ? tile::Type{} : program_.type(op.results[0]);
  switch (op.kind) {
    case OpKind::kConst:
      return Set(op, l_.Constant(op.constant, type.lanes));
    case OpKind::kViewBase:
      return Set(op, abi.ViewData(op.index));
    case OpKind::kViewExtent:
      return Set(op, abi.ViewExtent(op.index, op.axis));
    case OpKind::kViewStride:
      return Set(op, abi.ViewStride(op.index, op.axis));
    case OpKind::kScalarArg: {
      V bits = abi.ScalarBits(op.index);
      if (type.dtype == DType::kBool) return Set(op, b_.CreateICmpNE(bits, Index(0)));
      V narrow = b_.CreateTrunc(bits, b_.getIntNTy(static_cast<unsigned>(BitWidth(type.dtype))));
      return Set(op, b_.CreateBitCast(narrow, l_.Register(type.dtype, 1)));
    }
    case OpKind::kOverlap:
      return Set(op, EmitOverlap(op));
    case OpKind::kSameView:
      return Set(op, EmitSameView(op));
    case OpKind::kAlloc:
      return EmitAlloc(op);
    case OpKind::kStackAlloc: {
      llvm::Type* array =
          llvm::ArrayType::get(l_.Memory(type.dtype), static_cast<uint64_t>(op.index));
      return Set(op, l_.Slot(array, 64));
    }
    case OpKind::kMemOffset:
      return Set(op, b_.CreateGEP(l_.Memory(type.dtype), operand(0), operand(1)));
    case OpKind::kMemCast:
    case OpKind::kBounded:
      return Set(op, operand(0));
    case OpKind::kLoad:
    case OpKind::kStore:
    case OpKind::kGather:
    case OpKind::kScatter:
      return EmitMemory(op);
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
    case OpKind::kAtomicCas:
      return EmitAtomic(op);
    case OpKind::kSplat:
      return Set(op, l_.Splat(operand(0), type.lanes));
    case OpKind::kIota: {
      if (type.lanes == 1) return Set(op, Index(0));
      std::vector<llvm::Constant*> numbers;
      for (int i = 0; i < type.lanes; ++i) numbers.push_back(b_.getInt64(static_cast<uint64_t>(i)));
      return Set(op, llvm::ConstantVector::get(numbers));
    }
    case OpKind::kUnary:
      return Set(op, l_.Unary(op.unary, type.dtype, operand(0), op.approximate, op.flush_to_zero));
    case OpKind::kBinary:
      return Set(op, l_.Binary(op.binary, type.dtype, operand(0), operand(1), op.approximate,
                               op.flush_to_zero));
    case OpKind::kCompare:
      return Set(op, l_.Compare(op.compare, dtype_of(0), operand(0), operand(1)));
    case OpKind::kFma:
      return Set(op, l_.Fma(operand(0), operand(1), operand(2)));
    case OpKind::kSelect:
      return Set(op, l_.Select(operand(0), operand(1), operand(2)));
    case OpKind::kCast:
      return Set(op, l_.Cast(dtype_of(0), type.dtype, operand(0)));
    case OpKind::kSaturatingCast:
      return Set(op, l_.SaturatingCast(dtype_of(0), type.dtype, operand(0)));
    case OpKind::kBitcast:
      return Set(op, l_.Bitcast(dtype_of(0), type.dtype, operand(0)));
    case OpKind::kShuffle: {
      V source = operand(0);
      if (Lanes::Count(source) == 1) return Set(op, l_.Splat(source, type.lanes));
      if (type.lanes == 1) {
        return Set(op, b_.CreateExtractElement(source, static_cast<uint64_t>(op.lanes[0])));
      }
      return Set(op, b_.CreateShuffleVector(source, op.lanes));
    }
    case OpKind::kExtractLane:
      if (Lanes::Count(operand(0)) == 1) return Set(op, operand(0));
      return Set(op, b_.CreateExtractElement(operand(0), static_cast<uint64_t>(op.index)));
    case OpKind::kReduceLanes:
      return Set(op, l_.ReduceLanes(op.combine, type.dtype, operand(0)));
    case OpKind::kFor:
      return EmitFor(op);
    case OpKind::kWhile:
      return EmitWhile(op);
    case OpKind::kIf:
      return EmitIf(op);
    case OpKind::kParallel:
      return EmitParallel(op);
    case OpKind::kContract:
      INTENT_UNREACHABLE() << "a matrix product of units, which EmitObject refuses";
      return;
    case OpKind::kYield:
    case OpKind::kFence:  // one thread holds all lanes of a tile
      return;
    case OpKind::kGuard:
      return Require(operand(0), op, op.status, op.index, op.axis, operand(1), operand(2));
    case OpKind::kPoll: {
      V flag = b_.CreateLoad(b_.getInt32Ty(), frame_.cancel, /*isVolatile=*/true);
      return Require(b_.CreateICmpEQ(flag, b_.getInt32(0)), op, INTENT_CANCELLED, -1, -1, Index(0),
                     Index(0));
    }
  }
}

void KernelWalker::EmitMemory(const Op& op) {
  const DType dtype = program_.type(op.operands[0]).dtype;
  size_t next = 0;
  const auto take = [&](bool present) { return present ? Value(op.operands[next++]) : nullptr; };
  V base = take(true);
  V offset = take(true);
  if (op.kind == OpKind::kGather) {
    V mask = take(op.has_mask);
    return Set(op, Gather(l_, dtype, base, offset, mask, take(op.has_fill)));
  }
  if (op.kind == OpKind::kScatter) {
    V value = take(true);
    return Scatter(l_, dtype, base, offset, value, take(op.has_mask));
  }
  V value = take(op.kind == OpKind::kStore);
  const int lanes =
      op.kind == OpKind::kStore ? Lanes::Count(value) : program_.type(op.results[0]).lanes;
  StridedAccess access{dtype, lanes, base, offset, op.index, nullptr, nullptr};
  access.dynamic_stride = take(op.has_stride);
  access.mask = take(op.has_mask);
  if (op.kind == OpKind::kStore) return StoreStrided(l_, access, value);
  Set(op, LoadStrided(l_, access, take(op.has_fill)));
}

void KernelWalker::EmitAlloc(const Op& op) {
  const uint64_t size = static_cast<uint64_t>(StorageBytes(program_.type(op.results[0]).dtype));
  V count = Value(op.operands[0]);
  V fits = b_.CreateICmpULE(count, Index(INT64_MAX / 64 / static_cast<int64_t>(size)));
  V bytes = b_.CreateMul(count, b_.getInt64(size));
  Require(fits, op, INTENT_NO_MEMORY, -1, -1, count, Index(0));
  V memory = CallAbi(l_, frame_.call).Run(RuntimeFunction::kArenaAlloc, {frame_.arena, bytes});
  Require(b_.CreateIsNotNull(memory), op, INTENT_NO_MEMORY, -1, -1, bytes, Index(0));
  Set(op, memory);
}

V KernelWalker::EmitOverlap(const Op& op) {
  const CallAbi abi(l_, frame_.call);
  const auto range = [&](int64_t view) {
    V data = b_.CreatePtrToInt(abi.ViewData(view), b_.getInt64Ty());
    return std::pair(b_.CreateAdd(data, abi.ViewLow(view)), b_.CreateAdd(data, abi.ViewHigh(view)));
  };
  const auto [low, high] = range(op.index);
  const auto [other_low, other_high] = range(op.axis);
  V meet = b_.CreateAnd(b_.CreateICmpULT(low, other_high), b_.CreateICmpULT(other_low, high));
  // An empty range meets nothing.
  V full = b_.CreateAnd(b_.CreateICmpULT(low, high), b_.CreateICmpULT(other_low, other_high));
  return b_.CreateAnd(meet, full);
}

V KernelWalker::EmitSameView(const Op& op) {
  const CallAbi abi(l_, frame_.call);
  const tile::ViewParameter& one = program_.views[static_cast<size_t>(op.index)];
  const tile::ViewParameter& other = program_.views[static_cast<size_t>(op.axis)];
  if (one.rank != other.rank || StorageBytes(one.dtype) != StorageBytes(other.dtype)) {
    return b_.getFalse();
  }
  V same = b_.CreateICmpEQ(abi.ViewData(op.index), abi.ViewData(op.axis));
  for (int axis = 0; axis < one.rank; ++axis) {
    V extent = abi.ViewExtent(op.index, axis);
    V other_extent = abi.ViewExtent(op.axis, axis);
    V strides = b_.CreateICmpEQ(abi.ViewStride(op.index, axis), abi.ViewStride(op.axis, axis));
    V one_member = b_.CreateICmpSLE(extent, Index(1));
    same = b_.CreateAnd(same, b_.CreateICmpEQ(extent, other_extent));
    same = b_.CreateAnd(same, b_.CreateOr(strides, one_member));
  }
  return same;
}

}  // namespace intent::cpu
