// Atomics become LLVM's, with the orders of seed 000 chapter 11: relaxed is monotonic, and a failed
// compare-exchange reads as its order reads.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "compiler/cpu/kernel_walker.h"
#include "compiler/diag/check.h"

namespace intent::cpu {

using tile::Op;
using tile::OpKind;

namespace {

llvm::AtomicOrdering OrderingOf(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::kRelaxed:
      return llvm::AtomicOrdering::Monotonic;
    case MemoryOrder::kAcquire:
      return llvm::AtomicOrdering::Acquire;
    case MemoryOrder::kRelease:
      return llvm::AtomicOrdering::Release;
    case MemoryOrder::kAcqRel:
      return llvm::AtomicOrdering::AcquireRelease;
  }
  INTENT_UNREACHABLE() << "memory order";
  return llvm::AtomicOrdering::AcquireRelease;
}

llvm::AtomicOrdering FailureOf(MemoryOrder order) {
  const bool acquires = order == MemoryOrder::kAcquire || order == MemoryOrder::kAcqRel;
  return acquires ? llvm::AtomicOrdering::Acquire : llvm::AtomicOrdering::Monotonic;
}

llvm::AtomicRMWInst::BinOp OperationOf(RmwKind kind, bool is_signed) {
  switch (kind) {
    case RmwKind::kExchange:
      return llvm::AtomicRMWInst::Xchg;
    case RmwKind::kAdd:
      return llvm::AtomicRMWInst::Add;
    case RmwKind::kMax:
      return is_signed ? llvm::AtomicRMWInst::Max : llvm::AtomicRMWInst::UMax;
    case RmwKind::kMin:
      return is_signed ? llvm::AtomicRMWInst::Min : llvm::AtomicRMWInst::UMin;
    case RmwKind::kAnd:
      return llvm::AtomicRMWInst::And;
    case RmwKind::kOr:
      return llvm::AtomicRMWInst::Or;
    case RmwKind::kXor:
      return llvm::AtomicRMWInst::Xor;
  }
  INTENT_UNREACHABLE() << "kind of a read-modify-write";
  return llvm::AtomicRMWInst::Xchg;
}

}  // namespace

void KernelWalker::EmitAtomic(const Op& op) {
  const DType dtype = program_.type(op.operands[0]).dtype;
  llvm::Type* element = l_.Memory(dtype);
  const llvm::Align align(static_cast<uint64_t>(StorageBytes(dtype)));
  V address = b_.CreateGEP(element, Value(op.operands[0]), Value(op.operands[1]));
  const llvm::AtomicOrdering order = OrderingOf(op.order);
  if (op.kind == OpKind::kAtomicLoad) {
    llvm::LoadInst* load = b_.CreateAlignedLoad(element, address, align);
    load->setAtomic(order);
    return Set(op, load);
  }
  V operand = Value(op.operands[2]);
  if (op.kind == OpKind::kAtomicStore) {
    b_.CreateAlignedStore(operand, address, align)->setAtomic(order);
    return;
  }
  if (op.kind == OpKind::kAtomicRmw) {
    return Set(op, b_.CreateAtomicRMW(OperationOf(op.rmw, IsSignedInteger(dtype)), address, operand,
                                      align, order));
  }
  V exchanged = b_.CreateAtomicCmpXchg(address, operand, Value(op.operands[3]), align, order,
                                       FailureOf(op.order));
  values_[op.results[0]] = b_.CreateExtractValue(exchanged, 0);
  values_[op.results[1]] = b_.CreateExtractValue(exchanged, 1);
}

}  // namespace intent::cpu
