#include "compiler/cpu/kernel_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "compiler/cpu/kernel_walker.h"
#include "compiler/driver/intent_call.h"
#include "compiler/ir/module.h"

namespace intent::cpu {

using tile::Block;
using tile::Op;
using tile::OpKind;

namespace {

// True if the function that holds this body takes scratch anywhere.
bool AllocatesInFunction(const Block& block) {
  for (const Op* op : block.ops) {
    if (op->kind == OpKind::kAlloc) return true;
    if (op->kind == OpKind::kParallel) continue;
    for (const auto& region : op->regions) {
      if (AllocatesInFunction(*region)) return true;
    }
  }
  return false;
}

}  // namespace

KernelWalker::KernelWalker(const tile::Program& program, const Target& target,
                           llvm::IRBuilderBase* builder, llvm::Module* module)
    : program_(program),
      facts_(FactsOf(target)),
      aarch64_(target.base == "aarch64"),
      module_(*module),
      b_(*builder),
      l_(b_, *module, facts_),
      values_(program.value_count(), nullptr) {}

llvm::BasicBlock* KernelWalker::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, frame_.function);
}

V KernelWalker::Index(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }

V KernelWalker::MarkIf(bool allocates) {
  if (!allocates) return nullptr;
  return CallAbi(l_, frame_.call).Run(RuntimeFunction::kArenaMark, {frame_.arena});
}

void KernelWalker::Release(V mark) {
  if (mark == nullptr) return;
  CallAbi(l_, frame_.call).Run(RuntimeFunction::kArenaRelease, {frame_.arena, mark});
}

llvm::Function* KernelWalker::NewFunction(const std::string& name, llvm::FunctionType* type,
                                          bool external) {
  auto* function = llvm::Function::Create(
      type, external ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage,
      name, module_);
  function->setDoesNotThrow();
  if (facts_.avx512) function->addFnAttr("prefer-vector-width", "512");
  return function;
}

Frame KernelWalker::Open(llvm::Function* function, V call, V arena, const Block& body) {
  Frame outer = frame_;
  frame_ = {};
  frame_.function = function;
  frame_.call = call;
  frame_.arena = arena;
  b_.SetInsertPoint(NewBlock("entry"));
  // A null flag reads a constant zero of ours: polls need no test.
  llvm::GlobalVariable* never = module_.getGlobalVariable("intent.never", true);
  if (never == nullptr) {
    never =
        new llvm::GlobalVariable(module_, b_.getInt32Ty(), true, llvm::GlobalValue::InternalLinkage,
                                 b_.getInt32(0), "intent.never");
  }
  V flag = CallAbi(l_, call).CancelFlag();
  frame_.cancel = l_.Select(b_.CreateIsNull(flag), never, flag);
  frame_.mark = MarkIf(AllocatesInFunction(body));
  llvm::BasicBlock* here = b_.GetInsertBlock();
  frame_.exit = NewBlock("exit");
  b_.SetInsertPoint(frame_.exit);
  frame_.status = b_.CreatePHI(b_.getInt32Ty(), 2);
  Release(frame_.mark);
  b_.CreateRet(frame_.status);
  b_.SetInsertPoint(here);
  return outer;
}

void KernelWalker::Close() { LeaveWith(b_.getInt32(INTENT_OK)); }

void KernelWalker::LeaveWith(V status) {
  frame_.status->addIncoming(status, b_.GetInsertBlock());
  b_.CreateBr(frame_.exit);
}

llvm::Function* KernelWalker::Wrap(llvm::Function* body, const std::string& name, bool external) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  // Kept out of line: nothing may move across the change of environment.
  body->addFnAttr(llvm::Attribute::NoInline);
  llvm::Function* wrapper = NewFunction(name, body->getFunctionType(), external);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", wrapper));
  V saved = EnterFloatEnvironment(l_, aarch64_);
  std::vector<V> arguments;
  for (llvm::Argument& argument : wrapper->args()) arguments.push_back(&argument);
  V status = b_.CreateCall(body, arguments);
  RestoreFloatEnvironment(l_, aarch64_, saved);
  b_.CreateRet(status);
  return wrapper;
}

absl::Status KernelWalker::Emit(const std::string& entry_symbol) {
  llvm::Function* body = NewFunction(
      "intent.body", llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false), false);
  Open(body, body->getArg(0), llvm::ConstantPointerNull::get(b_.getPtrTy()), program_.body);
  EmitBlock(program_.body);
  if (!status_.ok()) return status_;
  Close();
  Wrap(body, entry_symbol, true);
  return absl::OkStatus();
}

void KernelWalker::Set(const Op& op, V value) {
  if (value != nullptr) {
    values_[op.results[0]] = value;
    return;
  }
  std::string_view kind = tile::NameOf(op.kind);
  if (op.kind == OpKind::kUnary) kind = NameOf(op.unary);
  if (op.kind == OpKind::kBinary) kind = NameOf(op.binary);
  const tile::Type& from = program_.type(op.operands.empty() ? op.results[0] : op.operands[0]);
  const tile::Type& to = program_.type(op.results[0]);
  status_ = absl::UnimplementedError(std::string(kind) + " from " + from.ToString() + " to " +
                                     to.ToString() + " is not served by the CPU back end");
}

void KernelWalker::Require(V condition, const Op& op, int status, int64_t parameter, int axis,
                           V value, V limit) {
  llvm::BasicBlock* fail = NewBlock("fail");
  llvm::BasicBlock* next = NewBlock("");
  llvm::MDNode* likely =
      llvm::MDNode::get(b_.getContext(), {llvm::MDString::get(b_.getContext(), "branch_weights"),
                                          llvm::ConstantAsMetadata::get(b_.getInt32(1 << 20)),
                                          llvm::ConstantAsMetadata::get(b_.getInt32(1))});
  b_.CreateCondBr(condition, next, fail, likely);
  b_.SetInsertPoint(fail);
  LeaveWith(b_.CreateCall(FailFunction(l_),
                          {frame_.call, b_.getInt32(static_cast<uint32_t>(status)),
                           b_.getInt32(op.ordinal), b_.getInt32(static_cast<uint32_t>(parameter)),
                           b_.getInt32(static_cast<uint32_t>(axis)), value, limit}));
  b_.SetInsertPoint(next);
}

void KernelWalker::EmitBlock(const Block& block) {
  for (const Op* op : block.ops) {
    if (op->kind == OpKind::kYield || !status_.ok()) return;
    EmitOp(*op);
  }
}

absl::Status EmitModule(const tile::Program& program, const Target& target,
                        const std::string& entry_symbol, llvm::Module* module) {
  llvm::IRBuilder<> builder(module->getContext());
  return KernelWalker(program, target, &builder, module).Emit(entry_symbol);
}

}  // namespace intent::cpu
