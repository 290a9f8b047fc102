#include "compiler/cpu/emit.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/kernel_emitter.h"
#include "compiler/cpu/pipeline.h"

namespace intent::cpu {
namespace {

// Nanoseconds since the last call or construction.
class Stopwatch {
 public:
  int64_t Lap() {
    const auto now = std::chrono::steady_clock::now();
    const int64_t lap = std::chrono::duration_cast<std::chrono::nanoseconds>(now - start_).count();
    start_ = now;
    return lap;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Keeps LLVM's complaints out of stderr: the module is machine-made, the first is enough.
struct Complaints : llvm::DiagnosticHandler {
  explicit Complaints(std::string* first) : first(first) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !first->empty()) return true;
    llvm::raw_string_ostream stream(*first);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string* first;
};

bool HoldsContract(const tile::Block& block) {
  for (const tile::Op* op : block.ops) {
    if (op->kind == tile::OpKind::kContract) return true;
    for (const auto& region : op->regions) {
      if (HoldsContract(*region)) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<CpuObject> EmitObject(const tile::Program& program, const Target& target,
                                     const EmitOptions& options) {
  if (target.kind != TargetKind::kCpu) {
    return absl::InvalidArgumentError(absl::StrCat(target.ToString(), " is not a CPU target"));
  }
  if (HoldsContract(program.body)) {
    return absl::InternalError("a program for units of threads reached the CPU back end");
  }
  auto machine = MakeTargetMachine(target, options.opt_level);
  if (!machine.ok()) return machine.status();

  CpuObject result;
  Stopwatch watch;
  llvm::LLVMContext context;
  std::string complaint;
  context.setDiagnosticHandler(std::make_unique<Complaints>(&complaint));
  llvm::Module module("intent", context);
  module.setTargetTriple((*machine)->getTargetTriple().str());
  module.setDataLayout((*machine)->createDataLayout());
  absl::Status status = EmitModule(program, target, result.entry_symbol, &module);
  if (!status.ok()) return status;
#ifndef NDEBUG
  std::string broken;
  llvm::raw_string_ostream broken_stream(broken);
  if (llvm::verifyModule(module, &broken_stream)) {
    return absl::InternalError(absl::StrCat("the emitter built invalid LLVM IR: ", broken));
  }
#endif
  result.ir_nanoseconds = watch.Lap();
  status = Optimize(&module, machine->get(), options.opt_level, options.default_pipeline,
                    options.cancel);
  if (!status.ok()) return status;
  result.passes_nanoseconds = watch.Lap();
  if (options.keep_ir) {
    llvm::raw_string_ostream stream(result.llvm_ir);
    module.print(stream, nullptr);
    watch.Lap();
  }
  auto object = GenerateObject(&module, machine->get());
  if (!object.ok()) return object.status();
  if (!complaint.empty()) return absl::InternalError(complaint);
  result.codegen_nanoseconds = watch.Lap();
  result.object = *std::move(object);
  return result;
}

}  // namespace intent::cpu
