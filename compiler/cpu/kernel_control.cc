#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/kernel_walker.h"
#include "compiler/driver/intent_call.h"

namespace intent::cpu {

using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

// True if an iteration of this body takes scratch: loops inside account for their own.
bool Allocates(const Block& block) {
  for (const Op* op : block.ops) {
    if (op->kind == OpKind::kAlloc) return true;
    if (op->kind != OpKind::kIf) continue;
    for (const auto& region : op->regions) {
      if (Allocates(*region)) return true;
    }
  }
  return false;
}

void CollectOperands(const Block& block, std::vector<Id>* ids) {
  for (const Op* op : block.ops) {
    ids->insert(ids->end(), op->operands.begin(), op->operands.end());
    for (const auto& region : op->regions) CollectOperands(*region, ids);
  }
}

}  // namespace

// lo, hi, step: tested at the bottom. No sum leaves the range of index even where hi is its last
// value, since loops of other steps than 1 count their trips.
void KernelWalker::EmitFor(const Op& op) {
  const Block& body = *op.regions[0];
  V lo = Value(op.operands[0]), hi = Value(op.operands[1]), step = Value(op.operands[2]);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool unit = constant != nullptr && constant->isOne();
  V last = nullptr;
  if (!unit) last = b_.CreateUDiv(b_.CreateSub(b_.CreateSub(hi, lo), Index(1)), step);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = NewBlock("for");
  llvm::BasicBlock* done = NewBlock("for.done");
  b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode* iv = b_.CreatePHI(b_.getInt64Ty(), 2);
  llvm::PHINode* trip = unit ? nullptr : b_.CreatePHI(b_.getInt64Ty(), 2);
  iv->addIncoming(lo, before);
  if (trip != nullptr) trip->addIncoming(Index(0), before);
  values_[body.arguments[0]] = iv;
  std::vector<llvm::PHINode*> carries;
  for (size_t i = 0; i < op.results.size(); ++i) {
    V init = Value(op.operands[3 + i]);
    carries.push_back(b_.CreatePHI(init->getType(), 2));
    carries.back()->addIncoming(init, before);
    values_[body.arguments[1 + i]] = carries.back();
  }
  V mark = MarkIf(Allocates(body));
  EmitBlock(body);
  if (!status_.ok()) return;
  Release(mark);
  const Op& yield = *body.ops.back();
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  V next = b_.CreateAdd(iv, step, "", /*HasNUW=*/false, /*HasNSW=*/unit);
  iv->addIncoming(next, latch);
  V more;
  if (unit) {
    more = b_.CreateICmpSLT(next, hi);
  } else {
    V following = b_.CreateAdd(trip, Index(1), "", /*HasNUW=*/true);
    trip->addIncoming(following, latch);
    more = b_.CreateICmpULE(following, last);
  }
  for (size_t i = 0; i < carries.size(); ++i) {
    carries[i]->addIncoming(Value(yield.operands[i]), latch);
  }
  b_.CreateCondBr(more, loop, done);
  b_.SetInsertPoint(done);
  for (size_t i = 0; i < carries.size(); ++i) {
    llvm::PHINode* result = b_.CreatePHI(carries[i]->getType(), 2);
    result->addIncoming(carries[i]->getIncomingValueForBlock(before), before);
    result->addIncoming(Value(yield.operands[i]), latch);
    values_[op.results[i]] = result;
  }
}

void KernelWalker::EmitWhile(const Op& op) {
  const Block& condition = *op.regions[0];
  const Block& body = *op.regions[1];
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* head = NewBlock("while");
  llvm::BasicBlock* inside = NewBlock("while.body");
  llvm::BasicBlock* done = NewBlock("while.done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  std::vector<llvm::PHINode*> carries;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    V init = Value(op.operands[i]);
    carries.push_back(b_.CreatePHI(init->getType(), 2));
    carries.back()->addIncoming(init, before);
    values_[condition.arguments[i]] = carries.back();
    values_[body.arguments[i]] = carries.back();
    values_[op.results[i]] = carries.back();
  }
  V mark = MarkIf(Allocates(condition) || Allocates(body));
  EmitBlock(condition);
  if (!status_.ok()) return;
  b_.CreateCondBr(Value(condition.ops.back()->operands[0]), inside, done);
  b_.SetInsertPoint(inside);
  EmitBlock(body);
  if (!status_.ok()) return;
  Release(mark);
  for (size_t i = 0; i < carries.size(); ++i) {
    carries[i]->addIncoming(Value(body.ops.back()->operands[i]), b_.GetInsertBlock());
  }
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
  Release(mark);
}

void KernelWalker::EmitIf(const Op& op) {
  llvm::BasicBlock* arms[2] = {NewBlock("then"), NewBlock("else")};
  llvm::BasicBlock* join = NewBlock("join");
  b_.CreateCondBr(Value(op.operands[0]), arms[0], arms[1]);
  std::vector<V> yielded[2];
  for (int arm = 0; arm < 2; ++arm) {
    const Block& block = *op.regions[static_cast<size_t>(arm)];
    b_.SetInsertPoint(arms[arm]);
    EmitBlock(block);
    if (!status_.ok()) return;
    for (Id id : block.ops.back()->operands) yielded[arm].push_back(Value(id));
    arms[arm] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  for (size_t i = 0; i < op.results.size(); ++i) {
    llvm::PHINode* result = b_.CreatePHI(yielded[0][i]->getType(), 2);
    result->addIncoming(yielded[0][i], arms[0]);
    result->addIncoming(yielded[1][i], arms[1]);
    values_[op.results[i]] = result;
  }
}

// The body becomes a task. What it uses from outside travels in a struct on the caller's stack;
// constants are written again.
void KernelWalker::EmitParallel(const Op& op) {
  const Block& body = *op.regions[0];
  V lo = Value(op.operands[0]), hi = Value(op.operands[1]), grain = Value(op.operands[2]);

  std::vector<Id> used, captured;
  CollectOperands(body, &used);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<llvm::Type*> fields;
  std::vector<std::pair<Id, V>> saved;
  for (Id id : used) {
    if (values_[id] == nullptr) continue;  // defined inside
    saved.emplace_back(id, values_[id]);
    if (llvm::isa<llvm::Constant>(values_[id])) continue;
    captured.push_back(id);
    fields.push_back(values_[id]->getType());
  }
  llvm::StructType* context = llvm::StructType::get(b_.getContext(), fields);
  V slot = l_.Slot(context, 64);
  for (size_t i = 0; i < captured.size(); ++i) {
    b_.CreateStore(values_[captured[i]],
                   b_.CreateStructGEP(context, slot, static_cast<unsigned>(i)));
  }

  const std::string name = absl::StrCat("intent.task.", tasks_++);
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* index = b_.getInt64Ty();
  llvm::Function* function = NewFunction(
      absl::StrCat(name, ".body"),
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, index, index}, false),
      false);
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    const Frame outer = Open(function, function->getArg(1), function->getArg(2), body);
    for (size_t i = 0; i < captured.size(); ++i) {
      values_[captured[i]] = b_.CreateLoad(
          fields[i], b_.CreateStructGEP(context, function->getArg(0), static_cast<unsigned>(i)));
    }
    values_[body.arguments[0]] = function->getArg(3);
    values_[body.arguments[1]] = function->getArg(4);
    EmitBlock(body);
    if (status_.ok()) Close();
    frame_ = outer;
  }
  if (!status_.ok()) return;
  for (const auto& [id, value] : saved) values_[id] = value;
  llvm::Function* task = Wrap(function, name, false);

  // An empty range runs nothing; one grain runs here.
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* some = NewBlock("parallel");
  llvm::BasicBlock* here = NewBlock("parallel.here");
  llvm::BasicBlock* spread = NewBlock("parallel.spread");
  llvm::BasicBlock* join = NewBlock("parallel.join");
  llvm::BasicBlock* leave = NewBlock("parallel.leave");
  llvm::BasicBlock* next = NewBlock("");
  b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), some, join);
  b_.SetInsertPoint(some);
  b_.CreateCondBr(b_.CreateICmpULE(b_.CreateSub(hi, lo), grain), here, spread);
  b_.SetInsertPoint(here);
  V direct = b_.CreateCall(function, {slot, frame_.call, frame_.arena, lo, hi});
  b_.CreateBr(join);
  b_.SetInsertPoint(spread);
  V spread_status =
      CallAbi(l_, frame_.call)
          .Run(RuntimeFunction::kParallelFor, {frame_.call, task, slot, lo, hi, grain});
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* status = b_.CreatePHI(b_.getInt32Ty(), 3);
  status->addIncoming(b_.getInt32(INTENT_OK), before);
  status->addIncoming(direct, here);
  status->addIncoming(spread_status, spread);
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(INTENT_OK)), next, leave);
  b_.SetInsertPoint(leave);
  LeaveWith(status);
  b_.SetInsertPoint(next);
}

}  // namespace intent::cpu
