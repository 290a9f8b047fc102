#include "compiler/cpu/pipeline.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/llvm_status.h"

namespace intent::cpu {
namespace {

bool Cancelled(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

// Ours: what tile programs need. They arrive with vectors chosen, loops rotated and addresses
// explicit, so that the vectorisers, unrollers and inliners of the default pipeline find nothing.
llvm::FunctionPassManager ShortPipeline(int opt_level) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/opt_level >= 2));
  if (opt_level == 0) return passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  loops.addPass(llvm::IndVarSimplifyPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  if (opt_level >= 2) {
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
  }
  return passes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target,
                                                                       int opt_level) {
  InitializeLlvm();
  const LlvmTargetNames names = LlvmNames(target);
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(names.triple, error);
  if (found == nullptr) return absl::InternalError(absl::StrCat("LLVM lacks a target: ", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const llvm::CodeGenOptLevel level = opt_level == 0   ? llvm::CodeGenOptLevel::None
                                      : opt_level == 1 ? llvm::CodeGenOptLevel::Less
                                                       : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(names.triple, names.cpu, names.features, options,
                                 llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  if (machine == nullptr) return absl::InternalError("LLVM made no target machine");
  // One instruction selector everywhere: AArch64 would take another one for unoptimised code.
  machine->setGlobalISel(false);
  return machine;
}

absl::Status Optimize(llvm::Module* module, llvm::TargetMachine* machine, int opt_level,
                      bool default_pipeline, const std::atomic<bool>* cancel) {
  if (Cancelled(cancel)) return absl::CancelledError("cancelled before the optimiser");
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [cancel](llvm::StringRef, llvm::Any) { return !Cancelled(cancel); });
  llvm::PassBuilder builder(machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  // No function of ours is a library function by its name.
  llvm::TargetLibraryInfoImpl library{llvm::Triple(module->getTargetTriple())};
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (default_pipeline) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  } else {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(ShortPipeline(opt_level)));
  }
  passes.run(*module, modules);
  if (Cancelled(cancel)) return absl::CancelledError("cancelled in the optimiser");
  return absl::OkStatus();
}

absl::StatusOr<std::string> GenerateObject(llvm::Module* module, llvm::TargetMachine* machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                   /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM cannot emit objects for this target");
  }
  passes.run(*module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace intent::cpu
