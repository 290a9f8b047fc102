#include "compiler/cpu/kernel_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/call_abi.h"
#include "compiler/cpu/lanes.h"
#include "compiler/cpu/memory.h"
#include "compiler/diag/check.h"
#include "compiler/driver/intent_call.h"
#include "compiler/ir/module.h"

namespace intent::cpu {
namespace {

using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;
using tile::Program;

// One LLVM function in the making.
struct Frame {
  llvm::Function* function = nullptr;
  V call = nullptr;
  V arena = nullptr;
  V cancel = nullptr;  // never null at run time
  llvm::BasicBlock* exit = nullptr;
  llvm::PHINode* status = nullptr;
  V mark = nullptr;  // arena mark taken at entry, if the function allocates
};

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

void CollectOperands(const Block& block, std::vector<Id>* ids) {
  for (const Op* op : block.ops) {
    ids->insert(ids->end(), op->operands.begin(), op->operands.end());
    for (const auto& region : op->regions) CollectOperands(*region, ids);
  }
}

class KernelEmitter {
 public:
  KernelEmitter(const Program& program, const Target& target, llvm::Module* module)
      : program_(program),
        facts_(FactsOf(target)),
        aarch64_(target.base == "aarch64"),
        module_(*module),
        b_(module->getContext()),
        l_(b_, *module, facts_),
        values_(program.value_count(), nullptr) {}

  absl::Status Emit(const std::string& entry_symbol);

 private:
  llvm::Function* NewFunction(const std::string& name, llvm::FunctionType* type, bool external);
  // Opens a function at its entry block; Close ends the current block with success.
  Frame Open(llvm::Function* function, V call, V arena, const Block& body);
  void Close();
  // A foreign caller's way in: sets the floating-point environment around `body`.
  llvm::Function* Wrap(llvm::Function* body, const std::string& name, bool external);

  llvm::BasicBlock* NewBlock(const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, frame_.function);
  }
  V Index(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  V Value(Id id) { return values_[id]; }
  void Set(const Op& op, V value);
  void LeaveWith(V status);
  // Continues if the condition holds; otherwise records the failure and leaves.
  void Require(V condition, const Op& op, int status, int64_t parameter, int axis, V value,
               V limit);

  void EmitBlock(const Block& block);
  void EmitOp(const Op& op);
  void EmitMemory(const Op& op);
  void EmitFor(const Op& op);
  void EmitWhile(const Op& op);
  void EmitIf(const Op& op);
  void EmitParallel(const Op& op);
  V EmitOverlap(const Op& op);
  V EmitSameView(const Op& op);
  void EmitAlloc(const Op& op);

  V MarkIf(bool allocates) {
    return allocates ? CallAbi(l_, frame_.call).Run(RuntimeFunction::kArenaMark, {frame_.arena})
                     : nullptr;
  }
  void Release(V mark) {
    if (mark == nullptr) return;
    CallAbi(l_, frame_.call).Run(RuntimeFunction::kArenaRelease, {frame_.arena, mark});
  }

  const Program& program_;
  const CpuFacts facts_;
  const bool aarch64_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  Lanes l_;
  std::vector<V> values_;  // by id, in the current function
  Frame frame_;
  int tasks_ = 0;
  absl::Status status_;
};

llvm::Function* KernelEmitter::NewFunction(const std::string& name, llvm::FunctionType* type,
                                           bool external) {
  auto* function = llvm::Function::Create(
      type, external ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage,
      name, module_);
  function->setDoesNotThrow();
  if (facts_.avx512) function->addFnAttr("prefer-vector-width", "512");
  return function;
}

Frame KernelEmitter::Open(llvm::Function* function, V call, V arena, const Block& body) {
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

void KernelEmitter::Close() { LeaveWith(b_.getInt32(INTENT_OK)); }

void KernelEmitter::LeaveWith(V status) {
  frame_.status->addIncoming(status, b_.GetInsertBlock());
  b_.CreateBr(frame_.exit);
}

llvm::Function* KernelEmitter::Wrap(llvm::Function* body, const std::string& name, bool external) {
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

absl::Status KernelEmitter::Emit(const std::string& entry_symbol) {
  llvm::Function* body = NewFunction(
      "intent.body", llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false), false);
  Open(body, body->getArg(0), llvm::ConstantPointerNull::get(b_.getPtrTy()), program_.body);
  EmitBlock(program_.body);
  if (!status_.ok()) return status_;
  Close();
  Wrap(body, entry_symbol, true);
  return absl::OkStatus();
}

void KernelEmitter::Set(const Op& op, V value) {
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

void KernelEmitter::Require(V condition, const Op& op, int status, int64_t parameter, int axis,
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

void KernelEmitter::EmitBlock(const Block& block) {
  for (const Op* op : block.ops) {
    if (op->kind == OpKind::kYield || !status_.ok()) return;
    EmitOp(*op);
  }
}

void KernelEmitter::EmitOp(const Op& op) {
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
    case OpKind::kLoad:
    case OpKind::kStore:
    case OpKind::kGather:
    case OpKind::kScatter:
      return EmitMemory(op);
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
    case OpKind::kYield:
      return;
    case OpKind::kGuard:
      return Require(operand(0), op, op.status, op.index, op.axis, operand(1), operand(2));
    case OpKind::kPoll: {
      V flag = b_.CreateLoad(b_.getInt32Ty(), frame_.cancel, /*isVolatile=*/true);
      return Require(b_.CreateICmpEQ(flag, b_.getInt32(0)), op, INTENT_CANCELLED, -1, 0, Index(0),
                     Index(0));
    }
  }
}

void KernelEmitter::EmitMemory(const Op& op) {
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

void KernelEmitter::EmitAlloc(const Op& op) {
  const uint64_t size = static_cast<uint64_t>(StorageBytes(program_.type(op.results[0]).dtype));
  V count = Value(op.operands[0]);
  V fits = b_.CreateICmpULE(count, Index(INT64_MAX / 64 / static_cast<int64_t>(size)));
  V bytes = b_.CreateMul(count, b_.getInt64(size));
  Require(fits, op, INTENT_NO_MEMORY, -1, 0, count, Index(0));
  V memory = CallAbi(l_, frame_.call).Run(RuntimeFunction::kArenaAlloc, {frame_.arena, bytes});
  Require(b_.CreateIsNotNull(memory), op, INTENT_NO_MEMORY, -1, 0, bytes, Index(0));
  Set(op, memory);
}

V KernelEmitter::EmitOverlap(const Op& op) {
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

V KernelEmitter::EmitSameView(const Op& op) {
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

// lo, hi, step: tested at the bottom. No sum leaves the range of index even where hi is its last
// value, since loops of other steps than 1 count their trips.
void KernelEmitter::EmitFor(const Op& op) {
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

void KernelEmitter::EmitWhile(const Op& op) {
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

void KernelEmitter::EmitIf(const Op& op) {
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
void KernelEmitter::EmitParallel(const Op& op) {
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

}  // namespace

absl::Status EmitModule(const Program& program, const Target& target,
                        const std::string& entry_symbol, llvm::Module* module) {
  return KernelEmitter(program, target, module).Emit(entry_symbol);
}

}  // namespace intent::cpu
