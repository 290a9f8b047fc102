#include "compiler/cpu/call_abi.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "compiler/driver/intent_call.h"

namespace intent::cpu {
namespace {

constexpr uint32_t kMxcsrDefault = 0x1f80;  // to nearest, exceptions masked, subnormals live

llvm::Type* Pointer(const Lanes& l) { return l.b.getPtrTy(); }

V Field(const Lanes& l, V base, uint64_t offset) {
  return l.b.CreateConstGEP1_64(l.b.getInt8Ty(), base, offset);
}

}  // namespace

V CallAbi::Invariant(V base, uint64_t offset, llvm::Type* type) const {
  llvm::LoadInst* load = l_.b.CreateLoad(type, Field(l_, base, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(l_.module.getContext(), {}));
  return load;
}

V CallAbi::ViewField(int64_t view, size_t offset, llvm::Type* type) const {
  V views = Invariant(call_, offsetof(intent_call, views), Pointer(l_));
  return Invariant(views, static_cast<uint64_t>(view) * sizeof(intent_view) + offset, type);
}

V CallAbi::ViewData(int64_t view) const {
  return ViewField(view, offsetof(intent_view, data), Pointer(l_));
}
V CallAbi::ViewLow(int64_t view) const {
  return ViewField(view, offsetof(intent_view, low), l_.b.getInt64Ty());
}
V CallAbi::ViewHigh(int64_t view) const {
  return ViewField(view, offsetof(intent_view, high), l_.b.getInt64Ty());
}
V CallAbi::ViewExtent(int64_t view, int axis) const {
  V extents = ViewField(view, offsetof(intent_view, extents), Pointer(l_));
  return Invariant(extents, static_cast<uint64_t>(axis) * sizeof(int64_t), l_.b.getInt64Ty());
}
V CallAbi::ViewStride(int64_t view, int axis) const {
  V strides = ViewField(view, offsetof(intent_view, strides), Pointer(l_));
  return Invariant(strides, static_cast<uint64_t>(axis) * sizeof(int64_t), l_.b.getInt64Ty());
}
V CallAbi::ScalarBits(int64_t scalar) const {
  V scalars = Invariant(call_, offsetof(intent_call, scalars), Pointer(l_));
  return Invariant(scalars, static_cast<uint64_t>(scalar) * sizeof(uint64_t), l_.b.getInt64Ty());
}
V CallAbi::CancelFlag() const {
  return Invariant(call_, offsetof(intent_call, cancel), Pointer(l_));
}

V CallAbi::Run(RuntimeFunction function, std::vector<V> arguments) const {
  llvm::Type* pointer = Pointer(l_);
  llvm::Type* index = l_.b.getInt64Ty();
  llvm::FunctionType* type = nullptr;
  uint64_t offset = 0;
  switch (function) {
    case RuntimeFunction::kParallelFor:
      offset = offsetof(intent_runtime, parallel_for);
      type = llvm::FunctionType::get(l_.b.getInt32Ty(),
                                     {pointer, pointer, pointer, index, index, index}, false);
      break;
    case RuntimeFunction::kArenaAlloc:
      offset = offsetof(intent_runtime, arena_alloc);
      type = llvm::FunctionType::get(pointer, {pointer, index}, false);
      break;
    case RuntimeFunction::kArenaMark:
      offset = offsetof(intent_runtime, arena_mark);
      type = llvm::FunctionType::get(index, {pointer}, false);
      break;
    case RuntimeFunction::kArenaRelease:
      offset = offsetof(intent_runtime, arena_release);
      type = llvm::FunctionType::get(l_.b.getVoidTy(), {pointer, index}, false);
      break;
  }
  V runtime = Invariant(call_, offsetof(intent_call, runtime), pointer);
  llvm::CallInst* result = l_.b.CreateCall(type, Invariant(runtime, offset, pointer), arguments);
  result->setDoesNotThrow();
  if (function == RuntimeFunction::kArenaAlloc) {
    result->addRetAttr(llvm::Attribute::NoAlias);
    result->addRetAttr(llvm::Attribute::getWithAlignment(l_.module.getContext(), llvm::Align(64)));
  }
  return result;
}

llvm::Function* FailFunction(const Lanes& l) {
  static constexpr char kName[] = "intent.fail";
  if (llvm::Function* known = l.module.getFunction(kName)) return known;
  llvm::LLVMContext& context = l.module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Type* i32 = b.getInt32Ty();
  llvm::Type* i64 = b.getInt64Ty();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(i32, {b.getPtrTy(), i32, i32, i32, i32, i64, i64}, false),
      llvm::GlobalValue::InternalLinkage, kName, l.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  function->setDoesNotThrow();
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* first = llvm::BasicBlock::Create(context, "first", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  b.SetInsertPoint(entry);
  const auto at = [&](V base, uint64_t offset) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), base, offset);
  };
  V error = b.CreateLoad(b.getPtrTy(), at(function->getArg(0), offsetof(intent_call, error)));
  V exchange = b.CreateAtomicCmpXchg(
      at(error, offsetof(intent_error, status)), b.getInt32(0), function->getArg(1), llvm::Align(4),
      llvm::AtomicOrdering::AcquireRelease, llvm::AtomicOrdering::Monotonic);
  b.CreateCondBr(b.CreateExtractValue(exchange, {1}), first, done);
  b.SetInsertPoint(first);
  b.CreateStore(function->getArg(2), at(error, offsetof(intent_error, ordinal)));
  b.CreateStore(function->getArg(3), at(error, offsetof(intent_error, parameter)));
  b.CreateStore(function->getArg(4), at(error, offsetof(intent_error, axis)));
  b.CreateStore(function->getArg(5), at(error, offsetof(intent_error, value)));
  b.CreateStore(function->getArg(6), at(error, offsetof(intent_error, limit)));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRet(function->getArg(1));
  return function;
}

V EnterFloatEnvironment(const Lanes& l, bool aarch64) {
  llvm::IRBuilderBase& b = l.b;
  if (aarch64) {
    V saved = b.CreateIntrinsic(llvm::Intrinsic::aarch64_get_fpcr, {}, {});
    b.CreateIntrinsic(llvm::Intrinsic::aarch64_set_fpcr, {}, {b.getInt64(0)});
    return saved;
  }
  V saved = l.Slot(b.getInt32Ty(), 4);
  V ours = l.Slot(b.getInt32Ty(), 4);
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {saved});
  b.CreateStore(b.getInt32(kMxcsrDefault), ours);
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {ours});
  return saved;
}

void RestoreFloatEnvironment(const Lanes& l, bool aarch64, V saved) {
  const llvm::Intrinsic::ID arm = llvm::Intrinsic::aarch64_set_fpcr;
  const llvm::Intrinsic::ID x86 = llvm::Intrinsic::x86_sse_ldmxcsr;
  l.b.CreateIntrinsic(aarch64 ? arm : x86, {}, {saved});
}

}  // namespace intent::cpu
