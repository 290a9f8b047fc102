#pragma once

// The state of one walk over a tile program while it becomes LLVM IR; see kernel_emitter.h. Its
// methods live in kernel_emitter.cc (functions and their exits), kernel_ops.cc (operations without
// regions), kernel_atomics.cc and kernel_control.cc (loops, branches, parallel bodies).

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/cpu/call_abi.h"
#include "compiler/cpu/lanes.h"
#include "compiler/target/target.h"
#include "compiler/tile/tile_ir.h"

namespace llvm {
class BasicBlock;
class Function;
class FunctionType;
class PHINode;
}  // namespace llvm

namespace intent::cpu {

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

class KernelWalker {
 public:
  // The builder and the module outlive the walk.
  KernelWalker(const tile::Program& program, const Target& target, llvm::IRBuilderBase* builder,
               llvm::Module* module);

  absl::Status Emit(const std::string& entry_symbol);

 private:
  using Op = tile::Op;
  using Block = tile::Block;

  llvm::Function* NewFunction(const std::string& name, llvm::FunctionType* type, bool external);
  // Opens a function at its entry block and returns the frame it replaces; Close ends the current
  // block with success.
  Frame Open(llvm::Function* function, V call, V arena, const Block& body);
  void Close();
  // A foreign caller's way in: sets the floating-point environment around `body`.
  llvm::Function* Wrap(llvm::Function* body, const std::string& name, bool external);

  llvm::BasicBlock* NewBlock(const char* name);
  V Index(int64_t value);
  V Value(tile::Id id) const { return values_[id]; }
  // The operation's one result; null: its dtype is not served.
  void Set(const Op& op, V value);
  void LeaveWith(V status);
  // Continues if the condition holds; otherwise records the failure and leaves.
  void Require(V condition, const Op& op, int status, int64_t parameter, int axis, V value,
               V limit);
  // An arena mark if something follows that allocates, else null; Release gives back what was taken
  // since.
  V MarkIf(bool allocates);
  void Release(V mark);

  void EmitBlock(const Block& block);
  void EmitOp(const Op& op);
  void EmitMemory(const Op& op);
  void EmitAtomic(const Op& op);  // kernel_atomics.cc
  void EmitAlloc(const Op& op);
  V EmitOverlap(const Op& op);
  V EmitSameView(const Op& op);
  void EmitFor(const Op& op);
  void EmitWhile(const Op& op);
  void EmitIf(const Op& op);
  void EmitParallel(const Op& op);

  const tile::Program& program_;
  const CpuFacts facts_;
  const bool aarch64_;
  llvm::Module& module_;
  llvm::IRBuilderBase& b_;
  Lanes l_;
  std::vector<V> values_;  // by id, in the current function
  Frame frame_;
  int tasks_ = 0;
  absl::Status status_;
};

}  // namespace intent::cpu
